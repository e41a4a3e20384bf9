/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ui.c - applies keys to what the user has chosen; see ui.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/output/table_data.h"
#include "cli/top/ui.h"
#include "common/model/amount.h"

void top_ui_init(struct top_ui *ui, const struct top_ask *ask, int64_t delay_s)
{
	*ui = (struct top_ui){ .ask = *ask, .delay_s = delay_s };
}

/* ---- the list ---- */

static struct top_sort *sort_of_list(struct top_ui *ui)
{
	int list = ui->ask.subject == TOP_CLUSTER ? (int)ui->ask.tab
		   : ui->ask.subject == TOP_NODE  ? _TOP_TAB_MAX
						  : _TOP_TAB_MAX + 1;

	return &ui->sorts[list];
}

struct top_sort top_ui_sort(const struct top_ui *ui, const struct top_view *v)
{
	struct top_sort chosen = *sort_of_list((struct top_ui *)(uintptr_t)ui);

	return chosen.column ? chosen : v->usual;
}

void top_ui_sort_by(struct top_ui *ui, const struct top_view *v, const char *column)
{
	int i = v->list ? table_find_column(v->list, column, strlen(column)) : -1;

	*sort_of_list(ui) =
		(struct top_sort){ column,
				   i >= 0 && table_column_is_right(&v->list->columns[i]) };
}

void top_ui_reverse(struct top_ui *ui, const struct top_view *v)
{
	struct top_sort now = top_ui_sort(ui, v);

	now.is_descending = !now.is_descending;
	*sort_of_list(ui) = now;
}

static const char *first_text(const struct top_view *v, size_t row,
			      char buf[static TABLE_CELL_MAX])
{
	return top_column_text(v->list, row, &v->columns[0], buf);
}

static size_t count_rows(const struct top_view *v)
{
	return v->list ? table_size(v->list) : 0;
}

static void select_row(struct top_ui *ui, const struct top_view *v, size_t row)
{
	size_t n = count_rows(v);
	char buf[TABLE_CELL_MAX];

	ui->cursor = row < n ? row : n ? n - 1 : 0;
	ui->selected[0] = '\0';
	if (n)
		snprintf(ui->selected, sizeof(ui->selected), "%s",
			 first_text(v, ui->cursor, buf));
}

int top_ui_arrange(struct top_ui *ui, struct top_view *v)
{
	struct top_sort sort = top_ui_sort(ui, v);
	char buf[TABLE_CELL_MAX];
	int r = v->list ? top_columns_arrange(v->list, v->columns, ui->filter, &sort) : 0;

	if (r < 0)
		return r;
	/* A row that was chosen stays chosen wherever the order puts it; the top of a list that nothing was chosen in stays
	 * the top. */
	for (size_t i = 0; i < count_rows(v) && *ui->selected && ui->cursor > 0; i++)
		if (!strncmp(first_text(v, i, buf), ui->selected, sizeof(ui->selected) - 1)) {
			select_row(ui, v, i);
			return 0;
		}
	select_row(ui, v, ui->cursor);
	return 0;
}

static void move_cursor(struct top_ui *ui, const struct top_view *v, int64_t by)
{
	int64_t to = (int64_t)ui->cursor + by;

	select_row(ui, v, to < 0 ? 0 : (size_t)to);
}

/* ---- from one subject to another ---- */

static void leave_list(struct top_ui *ui)
{
	ui->cursor = ui->offset = 0;
	ui->selected[0] = ui->filter[0] = '\0';
}

static enum top_act open_subject(struct top_ui *ui, const struct top_ask *to)
{
	if (ui->n_back == TOP_BACK_MAX)
		memmove(ui->back, ui->back + 1, sizeof(*ui->back) * (size_t)--ui->n_back);
	ui->back[ui->n_back++] = ui->ask;
	ui->ask = *to;
	leave_list(ui);
	return TOP_ACT_OPEN;
}

static enum top_act open_selected(struct top_ui *ui)
{
	struct top_ask to = ui->ask;

	if (!*ui->selected || ui->ask.subject == TOP_JOB)
		return TOP_ACT_SHOW;
	if (ui->ask.subject == TOP_CLUSTER && ui->ask.tab == TOP_NODES) {
		to.subject = TOP_NODE;
		snprintf(to.node, sizeof(to.node), "%.*s", REQUEST_NAME_MAX - 1, ui->selected);
	} else if (ui->ask.subject == TOP_CLUSTER && ui->ask.tab == TOP_ACCOUNTS) {
		to.tab = TOP_RUNNING;
		snprintf(to.account, sizeof(to.account), "%.*s", REQUEST_NAME_MAX - 1,
			 ui->selected);
	} else if (ui->ask.subject == TOP_CLUSTER && ui->ask.tab == TOP_USERS) {
		to.tab = TOP_RUNNING;
		snprintf(to.user, sizeof(to.user), "%.*s", REQUEST_NAME_MAX - 1, ui->selected);
	} else {
		to.subject = TOP_JOB;
		snprintf(to.job, sizeof(to.job), "%s", ui->selected);
	}
	return open_subject(ui, &to);
}

/* The node of the selected job. */
static enum top_act open_node(struct top_ui *ui, const struct top_view *v)
{
	int i = v->list ? table_find_column(v->list, "node", strlen("node")) : -1;
	const struct table_cell *cell = i >= 0 && ui->cursor < count_rows(v)
						? table_cell(v->list, ui->cursor, i)
						: NULL;
	struct top_ask to = ui->ask;

	if (!cell || !cell->text || ui->ask.subject == TOP_NODE)
		return TOP_ACT_SHOW;
	to.subject = TOP_NODE;
	snprintf(to.node, sizeof(to.node), "%.*s", (int)strcspn(cell->text, " "), cell->text);
	return open_subject(ui, &to);
}

/* Escape: the prompt, the help and the filter first, then where the user came from. */
static enum top_act go_back(struct top_ui *ui)
{
	if (ui->filter[0]) {
		ui->filter[0] = '\0';
		return TOP_ACT_SHOW;
	}
	if (ui->n_back > 0) {
		ui->ask = ui->back[--ui->n_back];
	} else if (ui->ask.subject != TOP_CLUSTER) {
		ui->ask.subject = TOP_CLUSTER;
	} else if (*ui->ask.user || *ui->ask.account) {
		ui->ask.user[0] = ui->ask.account[0] = '\0';
	} else {
		snprintf(ui->message, sizeof(ui->message), "q leaves");
		return TOP_ACT_SHOW;
	}
	leave_list(ui);
	return TOP_ACT_OPEN;
}

static enum top_act choose_tab(struct top_ui *ui, int tab)
{
	if (ui->ask.subject == TOP_CLUSTER && (int)ui->ask.tab == tab)
		return TOP_ACT_SHOW;
	ui->ask.subject = TOP_CLUSTER;
	ui->ask.tab = (enum top_tab)tab;
	ui->n_back = 0;
	leave_list(ui);
	return TOP_ACT_OPEN;
}

/* ---- prompts ---- */

static void open_prompt(struct top_ui *ui, enum top_prompt prompt, const char *text)
{
	ui->prompt = prompt;
	snprintf(ui->typed, sizeof(ui->typed), "%s", text);
}

static enum top_act choose_name(struct top_ui *ui, char name[static REQUEST_NAME_MAX])
{
	if (*ui->typed && !request_is_name(ui->typed)) {
		snprintf(ui->message, sizeof(ui->message),
			 "'%.40s' is not a name of a user or an account", ui->typed);
		return TOP_ACT_SHOW;
	}
	snprintf(name, REQUEST_NAME_MAX, "%.*s", REQUEST_NAME_MAX - 1, ui->typed);
	leave_list(ui);
	return TOP_ACT_OPEN;
}

static enum top_act choose_delay(struct top_ui *ui)
{
	int64_t s;

	if (amount_parse_count(ui->typed, &s, NULL) < 0 || s < TOP_DELAY_MIN_S ||
	    s > TOP_DELAY_MAX_S) {
		snprintf(ui->message, sizeof(ui->message), "a delay is %d to %d seconds",
			 TOP_DELAY_MIN_S, TOP_DELAY_MAX_S);
		return TOP_ACT_SHOW;
	}
	ui->delay_s = s;
	return TOP_ACT_FETCH;
}

static enum top_act finish_prompt(struct top_ui *ui)
{
	enum top_prompt prompt = ui->prompt;

	ui->prompt = TOP_NO_PROMPT;
	switch (prompt) {
	case TOP_ASK_USER:
		return choose_name(ui, ui->ask.user);
	case TOP_ASK_ACCOUNT:
		return choose_name(ui, ui->ask.account);
	case TOP_ASK_DELAY:
		return choose_delay(ui);
	default:
		return TOP_ACT_SHOW;
	}
}

/* Removes the last character, which may have several bytes. */
static void erase_character(char *text)
{
	size_t n = strlen(text);

	while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

static enum top_act press_in_prompt(struct top_ui *ui, int key)
{
	size_t n = strlen(ui->typed);

	if (key == TOP_KEY_ENTER)
		return finish_prompt(ui);
	if (key == TOP_KEY_ESCAPE) {
		if (ui->prompt == TOP_ASK_FILTER)
			ui->filter[0] = '\0';
		ui->prompt = TOP_NO_PROMPT;
		return TOP_ACT_SHOW;
	}
	if (key == TOP_KEY_BACKSPACE)
		erase_character(ui->typed);
	else if (key == 'U' - '@')
		ui->typed[0] = '\0';
	else if (key >= ' ' && key < 0x100 && key != 0x7f && n + 1 < sizeof(ui->typed)) {
		ui->typed[n] = (char)key;
		ui->typed[n + 1] = '\0';
	}
	if (ui->prompt == TOP_ASK_FILTER)
		memcpy(ui->filter, ui->typed, sizeof(ui->filter));
	return TOP_ACT_SHOW;
}

/* ---- keys ---- */

static void sort_next(struct top_ui *ui, const struct top_view *v, int step)
{
	const char *now = top_ui_sort(ui, v).column;

	top_ui_sort_by(ui, v, top_columns_next(v->columns, &ui->shown, now, step));
}

/* Keys that move in the list. false: it is another key. */
static bool press_move(struct top_ui *ui, const struct top_view *v, int page, int key)
{
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		move_cursor(ui, v, -1);
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		move_cursor(ui, v, 1);
		return true;
	case TOP_KEY_PAGE_UP:
		move_cursor(ui, v, -(page > 1 ? page - 1 : 1));
		return true;
	case TOP_KEY_PAGE_DOWN:
		move_cursor(ui, v, page > 1 ? page - 1 : 1);
		return true;
	case TOP_KEY_HOME:
	case 'g':
		select_row(ui, v, 0);
		return true;
	case TOP_KEY_END:
	case 'G':
		select_row(ui, v, SIZE_MAX);
		return true;
	default:
		return false;
	}
}

/* Keys that change how the list is shown, or open a prompt. false: it is another key. */
static bool press_choose(struct top_ui *ui, const struct top_view *v, int key)
{
	char delay[32];

	switch (key) {
	case 's':
	case '>':
		sort_next(ui, v, 1);
		return true;
	case 'S':
	case '<':
		sort_next(ui, v, -1);
		return true;
	case 'r':
		top_ui_reverse(ui, v);
		return true;
	case '/':
		open_prompt(ui, TOP_ASK_FILTER, ui->filter);
		return true;
	case 'u':
		open_prompt(ui, TOP_ASK_USER, ui->ask.user);
		return true;
	case 'a':
		open_prompt(ui, TOP_ASK_ACCOUNT, ui->ask.account);
		return true;
	case 'd':
		snprintf(delay, sizeof(delay), "%lld", (long long)ui->delay_s);
		open_prompt(ui, TOP_ASK_DELAY, delay);
		return true;
	default:
		return false;
	}
}

static enum top_act press_go(struct top_ui *ui, const struct top_view *v, int key)
{
	switch (key) {
	case 'q':
	case TOP_KEY_QUIT:
		return TOP_ACT_QUIT;
	case ' ':
		return TOP_ACT_FETCH;
	case TOP_KEY_ENTER:
	case TOP_KEY_RIGHT:
		return open_selected(ui);
	case 'n':
		return open_node(ui, v);
	case TOP_KEY_ESCAPE:
	case TOP_KEY_LEFT:
	case TOP_KEY_BACKSPACE:
		return go_back(ui);
	case TOP_KEY_TAB:
		return choose_tab(ui, ((int)ui->ask.tab + 1) % _TOP_TAB_MAX);
	case TOP_KEY_BACK_TAB:
		return choose_tab(ui, ((int)ui->ask.tab + _TOP_TAB_MAX - 1) % _TOP_TAB_MAX);
	default:
		if (key >= '1' && key < '1' + _TOP_TAB_MAX)
			return choose_tab(ui, key - '1');
		if (key > ' ' && key < 0x7f)
			snprintf(ui->message, sizeof(ui->message),
				 "'%c' is no key here; h lists them", key);
		return TOP_ACT_SHOW;
	}
}

enum top_act top_ui_press(struct top_ui *ui, const struct top_view *v, int page, int key)
{
	ui->message[0] = '\0';
	if (key == TOP_KEY_REDRAW)
		return TOP_ACT_SHOW;
	if (ui->prompt)
		return press_in_prompt(ui, key);
	if (ui->has_help) {
		ui->has_help = false;
		return TOP_ACT_SHOW;
	}
	if (key == 'h' || key == '?' || key == TOP_KEY_HELP) {
		ui->has_help = true;
		return TOP_ACT_SHOW;
	}
	if (press_move(ui, v, page, key) || press_choose(ui, v, key))
		return TOP_ACT_SHOW;
	return press_go(ui, v, key);
}
