/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout.c - lays out a view as lines of a screen; see layout.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/output/table_data.h"
#include "cli/top/draw/bar.h"
#include "cli/top/draw/help.h"
#include "cli/top/draw/layout.h"
#include "common/model/amount.h"
#include "common/time_units.h"

#define CLOCK_MAX 24
#define FOOTER_CLUSTER                                                                         \
	"Enter open  Tab list  / filter  s sort  r reverse  u user  a account  h help"
#define FOOTER_ONE                                                                             \
	"Esc back  Enter open  / filter  s sort  r reverse  Space refresh  h help  q quit"
#define NO_LIMIT 1000000
#define NAME_WIDTH 7  /* of a meter */
#define PAIR_WIDTH 76 /* from here on two meters stand side by side */
#define METER_BAR_MAX 40
#define ROWS_LEAST 6	 /* of the list, with its titles, whatever else there is to show */
#define FACT_LINES_MAX 4 /* of one text */

/* What is being laid out. */
struct layout {
	const struct top_view *v;
	struct top_ui *ui;
	const struct top_status *st;
	int width, height;
	bool is_screen; /* not a pipe */
	struct top_screen *to;
};

void top_screen_done(struct top_screen *s)
{
	for (int i = 0; i < s->n; i++)
		top_line_done(&s->lines[i]);
	free(s->lines);
	*s = (struct top_screen){ .lines = NULL };
}

/* The next line; NULL: the screen is full, or there is no memory. */
static struct top_line *next_line(struct layout *l)
{
	struct top_line *more;

	if (l->to->n >= l->height)
		return NULL;
	more = reallocarray(l->to->lines, (size_t)l->to->n + 1, sizeof(*more));
	if (!more) {
		l->to->out_of_memory = true;
		return NULL;
	}
	l->to->lines = more;
	more[l->to->n] = (struct top_line){ .text = NULL };
	return &more[l->to->n++];
}

static void add_text(struct layout *l, enum top_tone tone, const char *text)
{
	struct top_line *line = next_line(l);

	if (!line)
		return;
	top_line_add(line, tone, text);
	top_line_cut(line, l->width);
}

/* ---- head ---- */

static const char *format_clock(int64_t ns, char buf[static CLOCK_MAX])
{
	time_t s = (time_t)(ns / S_NS);
	struct tm tm;

	if (!localtime_r(&s, &tm) || !strftime(buf, CLOCK_MAX, "%H:%M:%S %Z", &tm))
		snprintf(buf, CLOCK_MAX, "?");
	return buf;
}

static void add_title(struct layout *l)
{
	struct top_line *line = next_line(l);
	char right[96], clock[CLOCK_MAX];
	int left;

	if (!line)
		return;
	if (!l->is_screen) {
		top_line_add(line, TOP_BOLD, l->v->title);
		snprintf(right, sizeof(right), ", as of %s", format_clock(l->st->at_ns, clock));
		top_line_add(line, TOP_DIM, right);
		top_line_cut(line, l->width);
		return;
	}
	snprintf(right, sizeof(right), " %s, every %" PRId64 " s%s",
		 format_clock(l->st->at_ns, clock),
		 l->st->slowed_s > l->ui->delay_s ? l->st->slowed_s : l->ui->delay_s,
		 l->st->slowed_s > l->ui->delay_s ? " (slow answers)" : "");
	left = l->width - top_text_width(right);
	if (left < 20) {
		top_line_put(line, (struct top_place){ TOP_BOLD, l->width, false },
			     l->v->title);
		return;
	}
	top_line_put(line, (struct top_place){ TOP_BOLD, left, false }, l->v->title);
	top_line_add(line, TOP_DIM, right);
}

static void add_state(struct layout *l)
{
	char text[512], since[CLOCK_MAX], data[CLOCK_MAX];

	if (l->st->lost_ns) {
		snprintf(text, sizeof(text), "No answer since %s, data of %s, trying again: %s",
			 format_clock(l->st->lost_ns, since), format_clock(l->st->at_ns, data),
			 l->st->error ? l->st->error : "");
		add_text(l, TOP_BAD, text);
	} else if (l->st->error) {
		add_text(l, TOP_BAD, l->st->error);
	} else if (l->st->is_waiting) {
		add_text(l, TOP_DIM, "waiting for the controller ...");
	}
}

/* ---- meters ---- */

static const char *format_amount(const struct top_meter *m, int64_t n,
				 char buf[static TABLE_CELL_MAX])
{
	if (m->kind == CELL_FIGURE)
		snprintf(buf, TABLE_CELL_MAX, "%" PRId64 ".%02d", n / 100, (int)(n % 100));
	else if (m->kind == CELL_BYTES && (m->like || m->of > 0))
		amount_format_bytes_like(n, m->like ? m->like : m->of, buf);
	else
		return table_format_cell(m->kind, n, buf);
	return buf;
}

/* "1.93 GiB" before "4.00 GiB" becomes "1.93": one unit is enough. */
static void drop_unit(char *amount, const char *of)
{
	char *unit = strchr(amount, ' ');
	const char *other = strchr(of, ' ');

	if (unit && other && !strcmp(unit, other))
		*unit = '\0';
}

/* "1.93 of 4.00 GiB", "1.93 of 4.00 GiB, peak 2.50 GiB" */
static void word_amounts(const struct top_meter *m, bool is_short, char *buf, size_t size)
{
	char used[TABLE_CELL_MAX] = "-", peak[TABLE_CELL_MAX] = "", of[TABLE_CELL_MAX] = "-";
	bool has_peak = m->peak >= 0 && (!is_short || m->used < 0);

	if (m->used >= 0)
		format_amount(m, m->used, used);
	if (m->of > 0) {
		if (m->kind == CELL_FIGURE && m->of % 100 == 0)
			snprintf(of, sizeof(of), "%" PRId64, m->of / 100);
		else
			format_amount(m, m->of, of);
	}
	drop_unit(used, of);
	if (has_peak)
		format_amount(m, m->peak, peak);
	if (m->of <= 0)
		snprintf(buf, size, "%s%s%s, not requested", used, has_peak ? ", peak " : "",
			 peak);
	else if (m->used < 0 && has_peak)
		snprintf(buf, size, "peak %s of %s", peak, of);
	else
		snprintf(buf, size, "%s of %s%s%s", used, of, has_peak ? ", peak " : "", peak);
}

/* Exactly `width` columns: the name, the bar, its percentage, the amounts and the note. The text has the room first. */
static void put_meter(struct top_line *line, const struct top_meter *m, int width,
		      bool is_short)
{
	const struct top_bar bar = { m->used, m->peak, m->of };
	char cell[TOP_BAR_MAX], amounts[256], text[384];
	int at = line->width, left, cell_width;

	word_amounts(m, is_short, amounts, sizeof(amounts));
	snprintf(text, sizeof(text), "%s%s%s", amounts, *m->note && !is_short ? " " : "",
		 is_short ? "" : m->note);
	top_line_put(
		line,
		(struct top_place){ TOP_BOLD, NAME_WIDTH < width ? NAME_WIDTH : width, false },
		m->name);
	left = width - (line->width - at);
	cell_width = left - top_text_width(text) - 1;
	if (cell_width > METER_BAR_MAX)
		cell_width = METER_BAR_MAX;
	if (cell_width < 14)
		cell_width = left >= 40 ? 14 : left >= 24 ? 9 : 4;
	if (cell_width > left)
		cell_width = left;
	top_line_put(line, (struct top_place){ TOP_GOOD, cell_width, false },
		     top_bar_cell(&bar, cell_width, cell));
	left = width - (line->width - at);
	if (left > 1) {
		top_line_add(line, TOP_PLAIN, " ");
		top_line_put(line, (struct top_place){ TOP_PLAIN, left - 1, false }, text);
	}
}

/* A cluster's and a node's stand in pairs; those of a job, with notes, one below the other. */
static void add_meters(struct layout *l)
{
	int width = l->width < 120 ? l->width : 120;
	bool is_paired = l->v->n_meters > 1 && l->width >= PAIR_WIDTH &&
			 !*l->v->meters[0].note && l->v->meters[0].kind == CELL_COUNT;
	int half = is_paired ? (width - 2) / 2 : width;

	for (int i = 0; i < l->v->n_meters; i++) {
		struct top_line *line = next_line(l);

		if (!line)
			return;
		put_meter(line, &l->v->meters[i], half, is_paired);
		if (!is_paired || ++i == l->v->n_meters)
			continue;
		top_line_add(line, TOP_PLAIN, "  ");
		put_meter(line, &l->v->meters[i], half, true);
	}
}

/* ---- lines of text ---- */

/* How many bytes of the text one line shows: up to the last blank that fits, where there is one. */
static size_t wrap_text(const char *safe, int width)
{
	int taken;
	size_t n = top_text_fit(safe, width, &taken), at = n;

	if (!safe[n])
		return n;
	while (at > 0 && safe[at] != ' ')
		at--;
	return at > n / 2 ? at : n;
}

/* In as many lines as it needs, FACT_LINES_MAX at most; further lines are indented. */
static void add_wrapped(struct layout *l, enum top_tone tone, const char *text)
{
	_cleanup_free_ char *safe = top_text_safe(text);
	int indent = l->width > 40 ? NAME_WIDTH : 0;
	char *at = safe;

	for (int i = 0; at && *at && i < FACT_LINES_MAX; i++) {
		struct top_line *line = next_line(l);
		bool is_last = i == FACT_LINES_MAX - 1;
		size_t n = is_last ? strlen(at) : wrap_text(at, l->width - (i ? indent : 0));
		char kept = at[n];

		if (!line || !n)
			return;
		if (i)
			top_line_fill(line, TOP_PLAIN, indent);
		at[n] = '\0';
		top_line_add(line, tone, at);
		top_line_cut(line, l->width);
		at[n] = kept;
		at += n;
		while (*at == ' ')
			at++;
	}
}

/* All but the lines that the list needs. */
static void add_facts(struct layout *l)
{
	int height = l->height;

	if (l->is_screen && l->v->list)
		l->height -= ROWS_LEAST;
	for (int i = 0; i < l->v->n_facts; i++)
		add_wrapped(l, l->v->facts[i].tone, l->v->facts[i].text);
	l->height = height;
}

/* ---- the list ---- */

/* No title can have the mark of the column that the rows are sorted by, where there is no room for it. */
static void add_sort(struct layout *l, struct top_line *line)
{
	const struct top_sort sort = top_ui_sort(l->ui, l->v);
	char text[160];

	if (!l->v->list || !top_columns_lacks(l->v->columns, &l->ui->shown, sort.column))
		return;
	snprintf(text, sizeof(text), "  by %s",
		 top_columns_find(l->v->columns, sort.column)->title);
	top_line_add(line, TOP_PLAIN, text);
}

static void add_tabs(struct layout *l)
{
	struct top_line *line = next_line(l);
	char text[160];

	if (!line)
		return;
	for (int i = 0; i < _TOP_TAB_MAX && l->v->list_name; i++) {
		bool is_shown = l->ui->ask.subject == TOP_CLUSTER && (int)l->ui->ask.tab == i;

		snprintf(text, sizeof(text), is_shown ? "[%d %s]" : " %d %s ", i + 1,
			 top_tab_names[i]);
		top_line_add(line, is_shown ? TOP_BOLD : TOP_DIM, text);
	}
	add_sort(l, line);
	if (*l->ui->filter) {
		snprintf(text, sizeof(text), "  filter: %s", l->ui->filter);
		top_line_add(line, TOP_WARN, text);
	}
	if (*l->v->rest) {
		top_line_add(line, TOP_PLAIN, "  ");
		top_line_add(line, TOP_WARN, l->v->rest);
	}
	top_line_cut(line, l->width);
}

/* The first row on the screen, so that the selected one is on it. */
static size_t find_offset(struct layout *l, size_t n)
{
	size_t page = (size_t)l->to->page, cursor = l->ui->cursor, offset = l->ui->offset;

	if (!l->is_screen || !page)
		return 0;
	if (cursor < offset)
		offset = cursor;
	if (cursor >= offset + page)
		offset = cursor - page + 1;
	if (offset + page > n)
		offset = n > page ? n - page : 0;
	return l->ui->offset = offset;
}

static void select_line(struct layout *l, struct top_line *line)
{
	top_line_fill(line, TOP_SELECTED, l->width);
	for (size_t i = 0; i < line->n_runs; i++)
		line->runs[i].tone = TOP_SELECTED;
}

static void add_rows(struct layout *l, const struct top_widths *widths, size_t n)
{
	size_t first = find_offset(l, n);
	int row;

	for (row = 0; row < l->to->page && first + (size_t)row < n; row++) {
		struct top_line *line = next_line(l);

		if (!line)
			return;
		top_columns_row(l->v->list, first + (size_t)row, l->v->columns, widths, line);
		top_line_cut(line, l->width);
		if (l->is_screen && first + (size_t)row == l->ui->cursor)
			select_line(l, line);
	}
}

/* Leaves the last two lines to the note of the selected row and the keys. */
static void add_list(struct layout *l)
{
	struct top_sort sort = top_ui_sort(l->ui, l->v);
	size_t n = table_size(l->v->list);
	struct top_line *head;

	head = next_line(l);
	if (!head)
		return;
	top_columns_head(l->v->columns, &l->ui->shown, &sort, head);
	top_line_cut(head, l->width);
	if (l->is_screen)
		top_line_fill(head, TOP_HEAD, l->width);
	l->to->page = l->is_screen ? l->height - l->to->n - 2 : (int)n;
	if (l->to->page < 0)
		l->to->page = 0;
	if (n == 0 && l->to->page != 0)
		add_text(l, TOP_DIM,
			 *l->ui->filter ? "no row shows the text of the filter" : l->v->empty);
	else if (n == 0 && !l->is_screen)
		add_text(l, TOP_PLAIN, l->v->empty);
	else
		add_rows(l, &l->ui->shown, n);
}

/* ---- the last lines ---- */

/* What the list has no room for: the note of the selected row, such as why a job waits. */
static void add_note(struct layout *l)
{
	const struct table *t = l->v->list;
	int i = t ? table_find_column(t, "note", strlen("note")) : -1;
	const struct table_cell *cell = i >= 0 && l->ui->cursor < table_size(t)
						? table_cell(t, l->ui->cursor, i)
						: NULL;
	struct top_line *line;

	if (!cell || !cell->text || !*cell->text)
		return;
	line = next_line(l);
	if (!line)
		return;
	top_line_add(line, TOP_BOLD, l->ui->selected);
	top_line_add(line, TOP_BOLD, ": ");
	top_line_add(line, TOP_PLAIN, cell->text);
	top_line_cut(line, l->width);
}

static void add_footer(struct layout *l)
{
	static const char *const prompts[] = {
		[TOP_NO_PROMPT] = "",
		[TOP_ASK_FILTER] = "Filter (Enter keeps, Esc clears): ",
		[TOP_ASK_USER] = "User (empty: all that you may see): ",
		[TOP_ASK_ACCOUNT] = "Account (empty: all that you may see): ",
		[TOP_ASK_DELAY] = "Seconds between refreshes: ",
	};
	struct top_line *line;

	while (l->to->n < l->height - 2)
		if (!next_line(l))
			return;
	if (!l->ui->has_help)
		add_note(l);
	while (l->to->n < l->height - 1)
		if (!next_line(l))
			return;
	line = next_line(l);
	if (!line)
		return;
	if (l->ui->prompt) {
		top_line_add(line, TOP_BOLD, prompts[l->ui->prompt]);
		top_line_add(line, TOP_PLAIN, l->ui->typed);
		top_line_add(line, TOP_SELECTED, " ");
	} else if (*l->ui->message) {
		top_line_add(line, TOP_WARN, l->ui->message);
	} else {
		top_line_add(line, TOP_DIM,
			     l->ui->ask.subject == TOP_CLUSTER ? FOOTER_CLUSTER : FOOTER_ONE);
	}
	top_line_cut(line, l->width);
}

void top_layout(const struct top_view *v, struct top_ui *ui, const struct top_status *st,
		struct top_size size, struct top_screen *ret)
{
	struct layout l = { .v = v,
			    .ui = ui,
			    .st = st,
			    .width = size.width > 0 ? size.width : NO_LIMIT,
			    .height = size.height > 0 ? size.height : NO_LIMIT,
			    .is_screen = size.height > 0,
			    .to = ret };

	*ret = (struct top_screen){ .lines = NULL };
	if (ui->has_help) {
		for (const char *const *line = top_help_lines; *line; line++)
			add_text(&l, TOP_PLAIN, *line);
		add_footer(&l);
		return;
	}
	add_title(&l);
	add_state(&l);
	add_meters(&l);
	add_facts(&l);
	if (v->list)
		top_columns_fit(v->list, v->columns, l.width == NO_LIMIT ? 0 : l.width,
				&ui->shown);
	if (l.is_screen)
		add_tabs(&l);
	if (v->list)
		add_list(&l);
	if (l.is_screen)
		add_footer(&l);
	for (int i = 0; i < ret->n; i++)
		ret->out_of_memory |= ret->lines[i].out_of_memory;
}
