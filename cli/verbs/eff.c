/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff.c - `reeve eff`: compares what jobs used with what they requested, and advises what to
 * request. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/client/options.h"
#include "cli/offline/eff.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"
#include "controller/ledger/calendar.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000 /* rows in one answer of the controller */
#define LEDGER_LIMIT_MAX 100000

static const struct verb_option options[] = {
	{ "by", 0, "job|user|account|cluster",
	  "one row for each of these; default: by the other options, or job",
	  "job user account cluster" },
	{ "user", 'u', "NAME", "jobs of this user (operators: of any)", NULL },
	{ "account", 'A', "NAME", "jobs of this account", NULL },
	{ "cluster", 0, "NAME", "jobs of this cluster", NULL },
	{ "start", 0, "DATE", "jobs that ended on this day or later", NULL },
	{ "end", 0, "DATE", "jobs that ended before this day", NULL },
	{ "sort", 0, "WORD",
	  "largest first: waste (idle core time), gpu (idle GPU time), charge, cpu, mem, "
	  "walltime",
	  "waste gpu charge cpu mem walltime key" },
	{ "limit", 0, "N", "at most N rows; default 100", NULL },
	{ "ledger", 0, "FILE", "read this ledger instead of asking the controller", NULL },
	{ "profile", 0, "NAME|FILE", "with --ledger: price imported jobs by this profile",
	  NULL },
	{ 0 },
};

/* The first four are the keys; usual_columns() picks one. */
static const struct table_column columns[] = {
	{ "job", "JOB", CELL_COUNT },
	{ "user", "USER", CELL_TEXT },
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "cluster", "CLUSTER", CELL_TEXT },
	{ "jobs", "JOBS", CELL_COUNT },
	{ "attempts", "-ATTEMPTS", CELL_COUNT },
	{ "ncpus", "CPUS", CELL_COUNT },
	{ "ngpus", "-GPUS", CELL_COUNT },
	{ "running_ms", "RUNNING", CELL_DURATION_MS },
	{ "core_ms", "CORE-H", CELL_CHARGE_MS },
	{ "cpu_ms", "-CPU TIME", CELL_DURATION_MS },
	{ "cpu_percent", "CPU %", CELL_FIGURE },
	{ "idle_core_ms", "IDLE CORE-H", CELL_CHARGE_MS },
	{ "mem_bytes", "-MEM", CELL_REQUEST },
	{ "mem_peak_bytes", "-MEM PEAK", CELL_BYTES },
	{ "mem_percent", "MEM %", CELL_FIGURE },
	{ "mem_cache_peak_bytes", "-MEM+CACHE", CELL_BYTES },
	{ "vmem_bytes", "-VMEM", CELL_REQUEST },
	{ "vmem_peak_bytes", "-VMEM PEAK", CELL_BYTES },
	{ "vmem_percent", "VMEM %", CELL_FIGURE },
	{ "jobfs_bytes", "-JOBFS", CELL_REQUEST },
	{ "jobfs_peak_bytes", "-JOBFS PEAK", CELL_BYTES },
	{ "jobfs_percent", "JOBFS %", CELL_FIGURE },
	{ "walltime_s", "-WALLTIME", CELL_SECONDS },
	{ "walltime_percent", "TIME %", CELL_FIGURE },
	{ "gpu_ms", "-GPU-H", CELL_CHARGE_MS },
	{ "gpu_model", "-GPU MODEL", CELL_TEXT },
	{ "gpu_percent", "GPU %", CELL_FIGURE },
	{ "idle_gpu_ms", "IDLE GPU-H", CELL_CHARGE_MS },
	{ "gpu_mem_peak_bytes", "GPU MEM", CELL_BYTES },
	{ "charge_requested_ms", "CHARGED", CELL_CHARGE_MS },
	{ "charge_advised_ms", "-ADVISED", CELL_CHARGE_MS },
	{ "advice", "-ADVICE", CELL_TEXT },
	{ "note", "-NOTE", CELL_TEXT },
	{ "not_measured", "-NOT MEASURED", CELL_TEXT },
	{ 0 },
};

/* ---- options ---- */

struct asked {
	const char *by, *sort; /* words of usage/eff.h */
	int64_t limit;
	int64_t *jobs; /* malloc()ed */
	size_t n_jobs;
};

static void asked_done(struct asked *a)
{
	free(a->jobs);
}

static int check_word(const char *option, const char *word, const char *const *words,
		      struct err *err)
{
	char known[96] = "";
	size_t n = 0;

	for (const char *const *w = words; *w; w++) {
		if (!strcmp(*w, word))
			return 0;
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", *w);
	}
	return err_set(err, -EINVAL, "--%s %.32s: write one of %s", option, word, known);
}

static int read_jobs(const struct verb_call *call, struct asked *a, struct err *err)
{
	int r = 0;

	a->jobs = calloc((size_t)call->n_args + 1, sizeof(*a->jobs));
	if (!a->jobs)
		return err_set(err, -ENOMEM, "out of memory");
	for (; a->n_jobs < (size_t)call->n_args && r == 0; a->n_jobs++)
		r = cli_parse_job(call->args[a->n_jobs], &a->jobs[a->n_jobs], err);
	return r;
}

/* The rows without --by: the narrowest selection that was made. */
static const char *usual_by(const struct verb_call *call)
{
	if (call->n_args)
		return "job";
	return verb_value(call, "user")	     ? "user"
	       : verb_value(call, "account") ? "account"
	       : verb_value(call, "cluster") ? "cluster"
					     : "job";
}

static int read_asked(const struct verb_call *call, struct asked *a, struct err *err)
{
	static const char *const of_ledger[] = { "profile", NULL };
	int r;

	a->by = verb_value(call, "by");
	a->sort = verb_value(call, "sort");
	a->limit = LIMIT_DEFAULT;
	if (!a->by)
		a->by = usual_by(call);
	if (!a->sort)
		a->sort = "key";
	r = check_word("by", a->by, store_eff_by_words, err);
	if (r == 0)
		r = check_word("sort", a->sort, store_eff_sort_words, err);
	if (r == 0)
		r = options_check_period(call, err);
	if (r == 0)
		r = options_need_ledger(call, of_ledger, err);
	if (r == 0)
		r = options_read_limit(
			call, verb_value(call, "ledger") ? LEDGER_LIMIT_MAX : LIMIT_MAX,
			&a->limit, err);
	return r < 0 ? r : read_jobs(call, a, err);
}

/* ---- reading a ledger file, or asking the controller ---- */

static int word_index(const char *const *words, const char *word)
{
	int i = 0;

	while (strcmp(words[i], word) != 0)
		i++;
	return i;
}

static int read_ledger(struct cli *c, const struct verb_call *call, const struct asked *a,
		       json_t **ret, struct err *err)
{
	struct eff_ledger l = {
		.path = verb_value(call, "ledger"),
		.profile = verb_value(call, "profile"),
		.start = verb_value(call, "start"),
		.end = verb_value(call, "end"),
		.ask = { .filter = { .jobs = a->n_jobs ? a->jobs : NULL,
				     .n_jobs = a->n_jobs,
				     .cluster = verb_value(call, "cluster"),
				     .account = verb_value(call, "account"),
				     .user = verb_value(call, "user") },
			 .by = (enum store_eff_by)word_index(store_eff_by_words, a->by),
			 .sort = (enum store_eff_sort)word_index(store_eff_sort_words, a->sort),
			 .limit = (size_t)a->limit },
	};
	int r = cli_begin_offline(c, call, err);

	return r < 0 ? r : eff_ledger_read(&l, ret, err);
}

/* "12,14" */
static int query_jobs(const struct verb_call *call, char **path, struct err *err)
{
	_cleanup_free_ char *list = NULL;
	char *longer;

	for (int i = 0; i < call->n_args; i++) {
		if (asprintf(&longer, "%s%s%s", list ? list : "", list ? "," : "",
			     call->args[i]) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		free(list);
		list = longer;
	}
	return cli_query(path, "jobs", list, err);
}

static int make_path(const struct verb_call *call, const struct asked *a, char **path,
		     struct err *err)
{
	static const char *const keys[] = { "user", "account", "cluster", "start", "end" };
	char limit[24];
	int r;

	*path = strdup("/v1/eff");
	if (!*path)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(limit, sizeof(limit), "%" PRId64, a->limit);
	r = cli_query(path, "by", a->by, err);
	if (r == 0)
		r = cli_query(path, "sort", a->sort, err);
	if (r == 0)
		r = cli_query(path, "limit", limit, err);
	for (size_t i = 0; i < ARRAY_LEN(keys) && r == 0; i++)
		r = cli_query(path, keys[i], verb_value(call, keys[i]), err);
	return r < 0 ? r : query_jobs(call, path, err);
}

static int read_controller(struct cli *c, const struct verb_call *call, const struct asked *a,
			   json_t **ret, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	int r = cli_begin(c, call, err);

	if (r == 0)
		r = make_path(call, a, &path, err);
	return r < 0 ? r : cli_get(c, path, ret, err);
}

/* -ENOENT: a job number on the command line has no row. The controller does not say whether the job
 * is unknown, another user's, or has not run. */
static int check_found(const struct asked *a, const json_t *rows, struct err *err)
{
	bool is_there;
	json_t *row;
	size_t k;

	for (size_t i = 0; i < a->n_jobs; i++) {
		is_there = strcmp(a->by, "job") != 0;
		json_array_foreach(rows, k, row) is_there |=
			cli_int(row, "job", 0) == a->jobs[i];
		if (!is_there && json_array_size(rows) < (size_t)a->limit)
			return err_set(
				err, -ENOENT,
				"job %" PRId64
				": it has not run, or is not yours; 'reeve jobs -a' lists your "
				"jobs",
				a->jobs[i]);
	}
	return 0;
}

/* ---- printing ---- */

/* Columns for people: the key of the rows, and each column that some row has. */
static void usual_columns(const json_t *rows, const char *by, char *list, size_t size)
{
	bool is_job = !strcmp(by, "job"), has;
	size_t n = (size_t)snprintf(list, size, "%s", is_job ? "job,user,account" : by), i;
	json_t *row;

	for (const struct table_column *col = columns + 4; col->name; col++) {
		if (col->title[0] == '-' || (is_job && !strcmp(col->name, "jobs")) || n >= size)
			continue;
		has = false;
		json_array_foreach(rows, i, row) has |= json_object_get(row, col->name) != NULL;
		if (has)
			n += (size_t)snprintf(list + n, size - n, ",%s", col->name);
	}
}

static void print_row_note(FILE *to, const json_t *row, const char *by, const char *key,
			   const char *title)
{
	const char *text = cli_text(row, key), *name = cli_text(row, by);

	if (!text)
		return;
	if (json_object_get(row, "job"))
		fprintf(to, "job %" PRId64 ": %s", cli_int(row, "job", 0), title);
	else {
		cli_put(to, name ? name : "?");
		fprintf(to, ": %s", title);
	}
	cli_put(to, text);
	fputc('\n', to);
}

/* words: "mem, vmem" */
static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word), m;

	for (; *words; words += m + (words[m] == ',' ? 2 : 0)) {
		m = strcspn(words, ",");
		if (m == n && !strncmp(words, word, n))
			return true;
	}
	return false;
}

/* Splits "mem (in 3 of 5), vmem": figures measured for some jobs stay with the row; those measured
 * for none ("-" in the table) are collected in `all`, each once. */
static void sort_unmeasured(json_t *row, char *all, size_t size)
{
	const char *text = cli_text(row, "not_measured");
	char part[256] = "", one[64];
	size_t n;

	for (; text && *text; text += n + (text[n] == ',' ? 2 : 0)) {
		n = strcspn(text, ",");
		snprintf(one, sizeof(one), "%.*s", (int)n, text);
		if (strchr(one, '('))
			snprintf(part + strlen(part), sizeof(part) - strlen(part), "%s%s",
				 *part ? ", " : "", one);
		else if (!has_word(all, one) && strlen(all) + n + 3 < size)
			sprintf(all + strlen(all), "%s%s", *all ? ", " : "", one);
	}
	json_object_set_new(row, "not_measured", json_string(part));
}

/* Below the table: what was not measured, and the notes and advice of each row. */
static void print_notes(const struct cli *c, const struct asked *a, const json_t *rows)
{
	FILE *to = c->format.to;
	char all[128] = "";
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) sort_unmeasured(row, all, sizeof(all));
	if (*all) {
		fputs("not measured (-): ", to);
		cli_put(to, all);
		fputc('\n', to);
	}
	json_array_foreach(rows, i, row)
	{
		print_row_note(to, row, a->by, "note", "");
		print_row_note(to, row, a->by, "not_measured", "not measured: ");
		print_row_note(to, row, a->by, "advice", "");
	}
}

/* Lists jobs that the profile cannot price; their rows have the charges of the ledger. */
static void print_no_price(const struct verb_call *call, const json_t *answer)
{
	const json_t *jobs = json_object_get(answer, "no_price");
	int64_t n = cli_int(answer, "no_price_jobs", 0);
	const char *why;
	json_t *job;
	size_t i;

	if (!n)
		return;
	fprintf(stderr,
		"reeve eff: %" PRId64 " %s no price in %s; shown as the ledger charged %s:\n",
		n, n > 1 ? "jobs have" : "job has", verb_value(call, "profile"),
		n > 1 ? "them" : "it");
	json_array_foreach(jobs, i, job)
	{
		why = cli_text(job, "why");
		fprintf(stderr, "  job %" PRId64 ": ", cli_int(job, "job", 0));
		cli_put(stderr, why ? why : "?");
		fputc('\n', stderr);
	}
	if (n > (int64_t)json_array_size(jobs))
		fprintf(stderr, "  and %" PRId64 " more\n", n - (int64_t)json_array_size(jobs));
}

static int print_answer(struct cli *c, const struct asked *a, const json_t *answer,
			struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	const json_t *rows = json_object_get(answer, "rows");
	bool is_usual = !c->format.columns && c->format.output == TABLE_TABLE;
	char usual[512];
	json_t *row;
	size_t i;
	int r = table_new("rows", columns, &t, err);

	if (r < 0)
		return r;
	if (cli_text(answer, "time_zone"))
		table_note(t, "time_zone", cli_text(answer, "time_zone"));
	table_note_int(t, "left_out", cli_int(answer, "left_out", 0));
	if (json_object_get(answer, "no_price_jobs"))
		table_note_int(t, "no_price_jobs", cli_int(answer, "no_price_jobs", 0));
	json_array_foreach(rows, i, row) cli_add_row(t, columns, row);
	usual_columns(rows, a->by, usual, sizeof(usual));
	if (is_usual)
		c->format.columns = usual;
	r = table_print(t, &c->format, err);
	if (is_usual)
		c->format.columns = NULL; /* of this call alone */
	if (r == 0 && is_usual)
		print_notes(c, a, rows);
	if (r == 0 && cli_int(answer, "left_out", 0) > 0)
		fprintf(stderr,
			"reeve eff: %zu shown, %" PRId64 " more; --limit N shows more\n",
			json_array_size(rows), cli_int(answer, "left_out", 0));
	if (r == 0 && !json_array_size(rows) && c->shows_hints)
		fprintf(stderr, "no matching job has ended\n");
	return r;
}

static int run_eff(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(asked_done) struct asked a = { .jobs = NULL };
	_cleanup_json_ json_t *answer = NULL;
	struct cli *c = ctx;
	int r = read_asked(call, &a, err);

	if (r < 0)
		return r;
	r = verb_value(call, "ledger") ? read_ledger(c, call, &a, &answer, err)
				       : read_controller(c, call, &a, &answer, err);
	if (r == 0)
		r = check_found(&a, json_object_get(answer, "rows"), err);
	if (r == 0)
		r = print_answer(c, &a, answer, err);
	if (r == 0)
		print_no_price(call, answer);
	return r;
}

const struct verb cli_verb_eff = {
	.name = "eff",
	.args = "[JOB]...",
	.help = "Compare what jobs used with what they requested, and advise",
	.details =
		"Jobs by number, or all jobs that ended in a period: yours, one user's, one\n"
		"account's. CPU % is cpu time of cores x running time. MEM % is the peak of\n"
		"anonymous, shared and mapped pages, without page cache, which the kernel\n"
		"reclaims. Peaks are weighted by the time of their jobs, TIME % by cores.\n"
		"GPU % is busy time of GPUs x running time.\n"
		"A sum counts each job by its request, and none beyond 100 %; where one job\n"
		"used more than it requested, a line says why. What was not measured is '-'\n"
		"and named; what was not requested has no percentage.\n"
		"\n"
		"Advice is given where it would have saved a tenth of the charge and at least\n"
		"one hour of the unit. How an imported job ended is not known; it is charged\n"
		"for its cores unless --profile names a tariff. A controller looks at the\n"
		"latest 100,000 jobs.",
	.examples = "reeve eff 12 13\n"
		    "reeve eff --start 2026-11-01 --sort waste --limit 10\n"
		    "reeve eff --by user --account physics --sort waste\n"
		    "reeve eff --ledger history.db --by account --profile nci --csv",
	.options = options,
	.max_args = -1,
	.run = run_eff,
};
