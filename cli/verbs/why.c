/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why.c - `reeve why`: explains why a job waits, was suspended or ended. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/client/job_fetch.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"

static void print_line(FILE *to, const char *title, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "%-10s", title);
	cli_put(to, text);
	fputc('\n', to);
}

/* When the job came into its state, and the word before that time. When a preempted job was suspended is not known: its start is
 * named instead. */
static const char *find_since(const struct job_view *v, int64_t *ret_ns)
{
	static const struct {
		enum job_state state;
		const char *key, *word;
	} times[] = { { JOB_QUEUED, "submitted_ns", "since" },
		      { JOB_ENDED, "ended_ns", "at" },
		      { JOB_SUSPENDED, "suspended_since_ns", "since" },
		      { JOB_SUSPENDED, "started_ns", "started" } };

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (v->state == times[i].state && cli_int(v->j, times[i].key, 0) > 0) {
			*ret_ns = cli_int(v->j, times[i].key, 0);
			return times[i].word;
		}
	*ret_ns = v->state == JOB_QUEUED ? 0 : cli_int(v->j, "started_ns", 0);
	return "since";
}

static void print_head(const struct job_view *v, FILE *to)
{
	char result[JOB_VIEW_RESULT_MAX], since[TABLE_CELL_MAX];
	int64_t at;
	const char *word = find_since(v, &at);

	fputs("job ", to);
	cli_put(to, v->id);
	fprintf(to, " %s", job_state_name(v->state));
	if (v->end.kind != END_NONE)
		fprintf(to, ": %s", job_view_result(v, result));
	if (at > 0)
		fprintf(to, ", %s %s", word, table_format_cell(CELL_TIME_NS, at, since));
	fputc('\n', to);
}

static void print_forecast(const json_t *forecast, FILE *to)
{
	char in[AMOUNT_TEXT_MAX], at[TABLE_CELL_MAX];

	if (!forecast)
		return;
	fprintf(to, "%-10sin %s, %s: ", "starts",
		amount_format_seconds(cli_int(forecast, "starts_in_s", 0), in),
		table_format_cell(CELL_TIME_NS, cli_int(forecast, "starts_at_ns", 0), at));
	cli_put(to, cli_text(forecast, "sure"));
	fputc('\n', to);
}

/* The factor is (walltime + suspended) / walltime: 1 for a job that was never suspended. */
static void print_suspended(const struct job_view *v, FILE *to)
{
	char suspended[TABLE_CELL_MAX];
	int64_t limit_s = v->requested.walltime_s;

	if (v->suspended_ns <= 0)
		return;
	fprintf(to, "%-10s%s in all", "suspended",
		table_format_cell(CELL_DURATION_NS, v->suspended_ns, suspended));
	if (limit_s > 0)
		fprintf(to, "; its walltime is stretched by %.2f",
			((double)limit_s + (double)v->suspended_ns / 1e9) / (double)limit_s);
	fputc('\n', to);
}

static void print_end(const struct job_view *v, FILE *to)
{
	char text[REASON_TEXT_MAX];

	if (v->end.kind == END_NONE)
		return;
	cli_put(to, reason_format(&v->end, text, sizeof(text)));
	fputc('\n', to);
}

/* Of a queued job, where the site starts jobs by priority. */
static int print_priority(struct cli *c, const struct job_view *v, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	const json_t *row;
	int r;

	if (v->state != JOB_QUEUED)
		return 0;
	if (asprintf(&path, "/v1/prio?job=%" PRId64, v->job) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_get(c, path, &answer, err);
	row = r < 0 ? NULL : json_array_get(json_object_get(answer, "rows"), 0);
	if (row &&
	    !strcmp(cli_text(answer, "order") ? cli_text(answer, "order") : "", "priority"))
		print_line(c->format.to, "priority", cli_text(row, "words"));
	return r;
}

static int show_why(struct cli *c, const json_t *answer, const struct job_view *v,
		    struct err *err)
{
	FILE *to = c->format.to;
	int r;

	print_head(v, to);
	print_line(to, "why", cli_text(v->j, "why"));
	print_forecast(json_object_get(answer, "forecast"), to);
	if (json_is_true(json_object_get(answer, "forecast_pending")))
		print_line(to, "starts",
			   "not known yet: it is being computed; ask again in some seconds");
	r = print_priority(c, v, err);
	print_suspended(v, to);
	print_line(to, "note", cli_text(v->j, "note"));
	print_end(v, to);
	return r;
}

static void print_slurm(const json_t *j, FILE *to)
{
	char since[TABLE_CELL_MAX], head[64];

	snprintf(head, sizeof(head), "job %lld", (long long)cli_int(j, "job", 0));
	fprintf(to, "%s queued in Slurm, since %s\n", head,
		table_format_cell(CELL_TIME_NS, cli_int(j, "submitted_ns", 0), since));
	print_line(to, "slurmctld", cli_text(j, "reason"));
	fprintf(to, "%-10s%lld. ", "priority", (long long)cli_int(j, "priority", 0));
	cli_put(to, cli_text(j, "share"));
	fputc('\n', to);
	if (cli_text(j, "quota_note"))
		print_line(to, "quota", cli_text(j, "quota_note"));
	else
		print_line(to, "quota", "nothing of Reeve's quotas and limits holds it back");
}

/* A job of Slurm by its id: it may wait there, and then has no number of Reeve's. *ret_answer NULL: it does not. */
static int fetch_slurm(struct cli *c, const char *typed, json_t **ret_answer, struct err *err)
{
	char cluster[REQUEST_NAME_MAX];
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	int64_t id = 0;
	int r = job_fetch_split(typed, cluster, &id, err);

	if (r <= 0)
		return r;
	if (asprintf(&path, "/v1/jobs/%" PRId64 "/why?cluster=%s", id, cluster) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_get(c, path, &answer, err);
	if (r >= 0 && json_object_get(answer, "slurm"))
		*ret_answer = TAKE_PTR(answer);
	return r;
}

/* CLUSTER:ID of a pending job is answered from slurmctld's list; of any other job as for a number. */
static int run_why(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	struct job_view v;
	struct cli *c = ctx;
	int r = cli_begin(c, call, err);

	if (r == 0)
		r = fetch_slurm(c, call->args[0], &answer, err);
	if (r == 0 && answer && c->format.output == TABLE_TABLE) {
		print_slurm(json_object_get(answer, "slurm"), c->format.to);
		return 0;
	}
	if (r == 0 && !answer)
		r = job_fetch(c, (struct job_fetch_query){ call->args[0], "/why" }, &answer, &v,
			      err);
	if (r < 0)
		return r;
	if (c->format.output != TABLE_TABLE)
		return cli_print_document(c, answer, err);
	return show_why(c, answer, &v, err);
}

const struct verb cli_verb_why = {
	.name = "why",
	.args = "JOB",
	.help = "Explain why a job waits, was suspended or ended",
	.details =
		"Of a queued job: what it waits for, its priority factor by factor, and the time\n"
		"at which it starts if jobs run to their walltimes. Of an ended job: its end\n"
		"message. CLUSTER:ID is a job of Slurm: of one that waits, the reason that\n"
		"slurmctld has, and what Reeve adds, its share and its quota. With --csv and\n"
		"--output raw: one line for each value; its key is a path.",
	.examples = "reeve why 12\nreeve why 12 --json | jq .forecast.starts_in_s",
	.min_args = 1,
	.max_args = 1,
	.run = run_why,
};
