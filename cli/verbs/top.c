/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top.c - `reeve top`: shows the cluster, a node or a job live in the terminal, or once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/top/live.h"
#include "cli/top/once.h"
#include "cli/top/views/subjects.h"
#include "cli/top/terminal.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/nearest.h"

static const struct verb_option options[] = {
	{ "once", 0, NULL, "print one page and exit: for pipes and files", NULL },
	{ "list", 'l', "LIST", "running, queued, nodes, accounts or users; default: running",
	  "running queued nodes accounts users" },
	{ "job", 'j', "JOB", "show this job: 12, 12[7] or CLUSTER:ID", NULL },
	{ "node", 0, "NAME", "show this node and its jobs", NULL },
	{ "user", 'u', "NAME", "only jobs of this user (operators)", NULL },
	{ "account", 'A', "NAME", "only jobs of this account", NULL },
	{ "filter", 0, "TEXT", "only rows that show this text", NULL },
	{ "sort", 's', "COLUMN",
	  "sort by this column, by its title or as --csv names it; with - before it, the other way",
	  NULL },
	{ "delay", 'd', "S", "seconds between refreshes, 1 to 3600; default: 5", NULL },
	{ 0 },
};

static int read_name(const struct verb_call *call, const char *option,
		     char ret[static REQUEST_NAME_MAX], struct err *err)
{
	const char *value = verb_value(call, option);

	if (value && !request_is_name(value))
		return err_set(err, -EINVAL, "--%s '%.40s' is not a name", option, value);
	snprintf(ret, REQUEST_NAME_MAX, "%s", value ? value : "");
	return 0;
}

static int read_list(const char *word, enum top_tab *ret, struct err *err)
{
	struct nearest near;

	if (!word)
		return 0;
	nearest_init(&near, word);
	for (int i = 0; i < _TOP_TAB_MAX; i++) {
		nearest_offer(&near, top_tab_names[i]);
		if (!strcmp(word, top_tab_names[i])) {
			*ret = (enum top_tab)i;
			return 0;
		}
	}
	return err_set(err, -EINVAL,
		       "--list %.32s: write running, queued, nodes, accounts or users%s%s%s",
		       word, nearest_word(&near) ? "; did you mean " : "",
		       nearest_word(&near) ? nearest_word(&near) : "",
		       nearest_word(&near) ? "?" : "");
}

static int read_ask(const struct verb_call *call, struct top_ask *ask, struct err *err)
{
	const char *job = verb_value(call, "job");
	int r = read_list(verb_value(call, "list"), &ask->tab, err);

	if (r == 0)
		r = read_name(call, "node", ask->node, err);
	if (r == 0)
		r = read_name(call, "user", ask->user, err);
	if (r == 0)
		r = read_name(call, "account", ask->account, err);
	if (r < 0)
		return r;
	if (job && (*ask->node || verb_value(call, "list")))
		return err_set(err, -EINVAL,
			       "--job shows one job: leave --node and --list out");
	if (*ask->node && verb_value(call, "list"))
		return err_set(err, -EINVAL,
			       "--node shows one node and its jobs: leave --list out");
	if (job && strlen(job) >= sizeof(ask->job))
		return err_set(err, -EINVAL, "--job %.40s...: is not a job number", job);
	snprintf(ask->job, sizeof(ask->job), "%s", job ? job : "");
	ask->subject = job ? TOP_JOB : *ask->node ? TOP_NODE : TOP_CLUSTER;
	return 0;
}

static int read_delay(const struct verb_call *call, int64_t *ret, struct err *err)
{
	const char *text = verb_value(call, "delay");

	*ret = TOP_DELAY_S;
	if (text && (amount_parse_count(text, ret, NULL) < 0 || *ret < TOP_DELAY_MIN_S ||
		     *ret > TOP_DELAY_MAX_S))
		return err_set(err, -EINVAL, "--delay %.32s: write %d to %d seconds", text,
			       TOP_DELAY_MIN_S, TOP_DELAY_MAX_S);
	return 0;
}

static int unknown_column(const char *word, const struct top_column *columns, struct err *err)
{
	char known[300] = "";
	size_t n = 0;

	for (const struct top_column *c = columns; c->name && n < sizeof(known) - 40; c++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "",
				      c->name);
	return err_set(err, -EINVAL, "--sort %.32s: this list has no such column; it has %s",
		       word, known);
}

/* "cpu_percent", "CPU"; "-CPU": the other way. Needs the view, which says how its values are ordered. */
static int read_sort(const struct verb_call *call, struct top_ui *ui, const struct top_view *v,
		     struct err *err)
{
	const char *word = verb_value(call, "sort");
	bool is_reversed = word && *word == '-';
	const struct top_column *column =
		word ? top_columns_find(v->columns, word + is_reversed) : NULL;

	if (!word)
		return 0;
	if (!column)
		return unknown_column(word, v->columns, err);
	top_ui_sort_by(ui, v, column->name);
	if (is_reversed)
		top_ui_reverse(ui, v);
	return 0;
}

/* Forms for programs are printed, never shown. */
static bool is_printed(const struct cli *c, const struct verb_call *call)
{
	return verb_count(call, "once") || c->format.output != TABLE_TABLE || c->format.columns;
}

/* Sorting is known when the view is: an unknown column is an error before the screen opens. */
static int show_view(struct cli *c, const struct verb_call *call, struct top_ui *ui,
		     struct top_docs *docs, struct err *err)
{
	bool is_once = is_printed(c, call);
	struct top_view v = { .n_facts = 0 };
	int r = top_subject_view(&ui->ask, docs, &v, err);

	if (r == 0)
		r = read_sort(call, ui, &v, err);
	if (r == 0 && is_once && top_ui_arrange(ui, &v) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0 && is_once)
		r = top_once_print(&v, ui, docs, &c->format, err);
	top_view_done(&v);
	return r < 0 || is_once ? r : top_live_run(c, ui, docs, err);
}

static int run_top(const struct verb_call *call, void *ctx, struct err *err)
{
	struct top_ask ask = { .subject = TOP_CLUSTER };
	struct top_docs docs = { .at_ns = 0 };
	const char *filter = verb_value(call, "filter");
	struct top_ui ui;
	struct cli *c = ctx;
	int64_t delay_s;
	int r = read_ask(call, &ask, err);

	if (r == 0)
		r = read_delay(call, &delay_s, err);
	if (r == 0)
		r = cli_begin_loop(c, call, err);
	if (r == 0 && !is_printed(c, call))
		r = top_terminal_check(err);
	if (r < 0)
		return r;
	top_ui_init(&ui, &ask, delay_s);
	snprintf(ui.filter, sizeof(ui.filter), "%s", filter ? filter : "");
	r = top_live_fetch(c, &ask, &docs, err);
	if (r == 0)
		r = show_view(c, call, &ui, &docs, err);
	top_docs_done(&docs);
	return r;
}

const struct verb cli_verb_top = {
	.name = "top",
	.args = "",
	.help = "Watch the cluster, a node or a job: requested against used, live",
	.details =
		"A screen with bars of what is in use, and a list: jobs that run, the queue,\n"
		"nodes, accounts, users. Enter opens a row, Esc leads back, / filters, s and < >\n"
		"choose the column that sorts, r reverses it; h lists all keys, q leaves. In a\n"
		"bar | is what is used now, : goes up to the peak, and . is the rest of what was\n"
		"requested.\n"
		"\n"
		"It shows what the other commands show, with the same rights: your jobs;\n"
		"operators see the jobs of all users. Every refresh is two requests at most, for\n"
		"at most 200 jobs (1000 for sums by account and user); where answers take long,\n"
		"it refreshes less often. Without an answer it keeps the data, says of when they\n"
		"are, and tries again. --once, and any form for programs, prints one page\n"
		"instead; a pipe gets lines as long as they need to be, or COLUMNS wide.",
	.examples =
		"reeve top\nreeve top --node n1\nreeve top --job 12\n"
		"reeve top --list users --sort IDLE\nreeve top --once --json | jq '.rows[].job'",
	.options = options,
	.run = run_top,
};
