/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import.c - `reeve import`: imports the job history of another system into a ledger. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/import/file.h"
#include "cli/import/map.h"
#include "cli/import/unused.h"
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/config/config.h"
#include "controller/config/profile.h"
#include "controller/history/pbs.h"
#include "controller/history/sacct.h"
#include "controller/history/swf.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/import/import.h"
#include "controller/postgres/pg.h"
#include "controller/pricing/history_price.h"

/* Jobs in one transaction. Each writes the sums of its days once, most of the work in a large
 * ledger, so batches are large; but a running controller waits for them, at most 5 s. A database
 * server stores fewer jobs in that time. */
#define BATCH 400000
#define BATCH_SERVER 100000
#define NAMED_MAX 20 /* conflicts that are listed one by one */
#define PATIENCE_S 2 /* from then on, progress is shown */
#define NO_JOB SWF_NO_JOB
#define NO_NAME "unknown" /* account or user of a job that names none */
_Static_assert(SWF_NO_JOB == SACCT_NO_JOB && SWF_NO_JOB == PBS_NO_JOB,
	       "one value for lines that are no job");

static const struct verb_option options[] = {
	{ "ledger", 0, "FILE", "the ledger file; created when it does not exist", NULL },
	{ "cluster", 0, "NAME",
	  "where the jobs ran; sacct and pbs: default is the name in the file", NULL },
	{ "account", 'A', "NAME", "the account of jobs that name none; default: unknown",
	  NULL },
	{ "map", 0, "FILE",
	  "rename: a CSV file with the columns kind,from,to; kinds: account, user, cluster, "
	  "gpu, partition, qos",
	  NULL },
	{ "profile", 0, "NAME|FILE", "charge by the tariff of the cluster in this profile",
	  NULL },
	{ "time-zone", 0, "ZONE",
	  "of the times of sacct, and of the days of a new ledger; default: the profile's, or "
	  "UTC",
	  NULL },
	{ 0 },
};

enum import_format { FORMAT_SWF, FORMAT_SACCT, FORMAT_PBS, _FORMAT_MAX };
static const char *const format_names[] = { "swf", "sacct", "pbs" };
_Static_assert(ARRAY_LEN(format_names) == _FORMAT_MAX, "a name a format");

struct import {
	struct cli *c;
	const char *path, *format, *cluster, *map_path, *zone;
	char *profile;			       /* its file */
	char profile_name[IMPORT_PROFILE_MAX]; /* "": none */
	struct import_file *file;
	struct store *store;
	struct store_import *to;
	struct import_map *map;
	struct config *config;
	struct calendar *clocks; /* of sacct's times; NULL: UTC's */
	struct swf swf;
	struct sacct sacct;
	struct store_import_count count;
	int64_t n_new, n_followed, n_pending, line; /* of this run; line: where it reads */
	int64_t batch;
	struct timespec start;
	struct import_unused unused;
	char no_price[256];  /* why the first one has none */
	const char *account; /* of jobs that name none */
	int64_t no_account, no_user;
	enum import_format kind;
	bool has_progress;
};

static void import_done(struct import *i)
{
	import_file_close(i->file);
	store_import_close(i->to);
	store_close(i->store);
	import_map_free(i->map);
	config_free(i->config);
	calendar_close(i->clocks);
	free(i->profile);
	import_unused_done(&i->unused);
}

static int check_cluster(const struct import *i, const struct history_job *j, struct err *err)
{
	if (!i->config || config_cluster(i->config, j->cluster))
		return 0;
	return err_set(err, -EBADMSG,
		       "%.200s:%" PRId64
		       ": cluster '%s' is not in %.200s; name one that is with "
		       "--cluster, or by --map",
		       i->path, i->line, j->cluster, i->profile);
}

/* ---- names of the file that the profile lacks ---- */

/* Keeps the reason of the first job without a price, and counts the job under the models of its GPUs. */
static void note_no_price(struct import *i, const struct history_job *j, const struct err *why)
{
	if (!*i->no_price)
		snprintf(i->no_price, sizeof(i->no_price), "line %" PRId64 ": %.200s", i->line,
			 why->text);
	for (int32_t k = 0; k < j->gpus.n; k++)
		import_unused_note(&i->unused, UNUSED_GPU, j->gpus.of[k].model);
}

/* < 0: the profile has no price for it. */
static int price_job(struct import *i, const struct history_job *j,
		     struct store_import_job *ret)
{
	struct history_price p;
	struct err why = { "" };
	int r = history_price(i->config, j, &p, &why);

	if (r < 0) {
		note_no_price(i, j, &why);
		return r;
	}
	*ret = (struct store_import_job){ .job = j, .pool = p.pool, .terms = p.terms };
	if (i->config && *j->queue && !p.has_queue)
		import_unused_note(&i->unused, UNUSED_PARTITION, j->queue);
	if (i->config && i->config->n_qos && *j->qos && !p.has_qos)
		import_unused_note(&i->unused, UNUSED_QOS, j->qos);
	return 0;
}

/* ---- lines ---- */

/* Counts a line that is no job, and keeps the number of the first one of each reason. */
static void reject_line(struct import *i, enum history_why why)
{
	if (i->count.rejected[why]++ == 0)
		i->count.first_line[why] = i->line;
}

static void print_conflict(struct import *i, const struct store_import_job *j)
{
	if (++i->count.conflicts <= NAMED_MAX)
		fprintf(stderr,
			"reeve import: %s:%" PRId64 ": job %" PRId64
			" of %s is in the ledger with other figures; left as it is\n",
			i->path, j->line, j->job->number, j->job->cluster);
}

/* Called by store_import_add() and store_import_commit() when it is known whether a job was new: rows are sent in
 * batches, so this may be lines later. */
static int on_settled(void *ctx, const struct store_import_job *j,
		      enum store_import_outcome outcome, struct err *err)
{
	struct import *i = ctx;
	int64_t core_seconds =
		(j->job->end_s - j->job->start_s - j->job->suspended_s) * j->job->ncpus;

	if (outcome == STORE_IMPORT_CONFLICT) {
		print_conflict(i, j);
		return 0;
	}
	if (__builtin_add_overflow(i->count.core_seconds, core_seconds, &i->count.core_seconds))
		return err_set(err, -ERANGE, "the sum of core seconds is beyond 64 bits");
	i->count.jobs++;
	i->n_new += outcome == STORE_IMPORT_NEW;
	i->n_followed += outcome == STORE_IMPORT_FOLLOWED;
	return 0;
}

/* Jobs without account or user get the defaults, and are counted. */
static void fill_names(struct import *i, struct history_job *j)
{
	if (!*j->account) {
		snprintf(j->account, sizeof(j->account), "%s", i->account);
		i->no_account++;
	}
	if (!*j->user) {
		strcpy(j->user, NO_NAME);
		i->no_user++;
	}
}

/* The map is applied after the defaults, so that it can rename these too, and before the cluster is looked up. A job
 * that is rejected is counted and is no error: < 0 ends the import. */
static int add_job(struct import *i, struct history_job *j, struct err *err)
{
	struct store_import_job priced;
	int r;

	if (i->cluster)
		strcpy(j->cluster, i->cluster);
	if (!import_map_is_text(j)) {
		reject_line(i, HISTORY_NO_NAME);
		return 0;
	}
	fill_names(i, j);
	if (i->map)
		import_map_apply(i->map, j);
	if (!j->cluster[0]) {
		reject_line(i, HISTORY_NO_NAME);
		return 0;
	}
	r = check_cluster(i, j, err);
	if (r < 0)
		return r;
	if (price_job(i, j, &priced) < 0) {
		reject_line(i, HISTORY_NO_PRICE);
		return 0;
	}
	priced.line = i->line;
	r = store_import_add(i->to, &priced, err);
	if (r == STORE_IMPORT_REFUSED)
		reject_line(i, HISTORY_OUT_OF_RANGE);
	return r < 0 ? r : 0;
}

/* NO_JOB: a heading, a blank line or a record that is no job; HISTORY_OK, or why the line is rejected. */
static int read_line(struct import *i, struct import_line l, struct history_job *ret)
{
	if (i->kind == FORMAT_PBS)
		return pbs_parse_line(l.at, l.size, ret);
	return i->kind == FORMAT_SWF ? swf_parse_line(&i->swf, l.at, l.size, ret)
				     : sacct_parse_line(&i->sacct, l.at, l.size, ret);
}

static int add_line(struct import *i, struct import_line l, struct err *err)
{
	struct history_job j;
	int why = read_line(i, l, &j);

	i->count.lines = i->line;
	if (why == NO_JOB)
		return 0;
	i->count.rows++;
	i->n_pending++;
	if (why != HISTORY_OK) {
		reject_line(i, (enum history_why)why);
		return 0;
	}
	return add_job(i, &j, err);
}

static void show_progress(struct import *i)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!i->c->shows_progress || now.tv_sec - i->start.tv_sec < PATIENCE_S)
		return;
	fprintf(stderr, "\r%s: %d %%, %" PRId64 " jobs", i->path, import_file_percent(i->file),
		i->count.jobs);
	i->has_progress = true;
}

/* Skips the lines that an earlier run has imported; but reads SWF headers (;) among them again. */
static int read_all(struct import *i, struct err *err)
{
	struct history_job ignored;
	struct import_line l;
	int64_t done = i->count.lines;
	int r;

	while ((r = import_file_line(i->file, &l, err)) > 0) {
		if (++i->line <= done) {
			if (l.size && *l.at == ';')
				read_line(i, l, &ignored);
			continue;
		}
		r = add_line(i, l, err);
		if (r >= 0 && i->n_pending >= i->batch) {
			r = store_import_commit(i->to, &i->count, err);
			i->n_pending = 0;
			show_progress(i);
		}
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	i->count.is_complete = true;
	return store_import_commit(i->to, &i->count, err);
}

/* ---- the summary ---- */

static int64_t rejected_total(const struct import *i)
{
	int64_t n = 0;

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++)
		n += i->count.rejected[w];
	return n;
}

static json_t *encode_rejects(const struct import *i)
{
	_cleanup_doc_ struct doc d = doc_object();

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++)
		if (i->count.rejected[w])
			doc_int(&d, history_why_name(w), i->count.rejected[w]);
	return doc_take(&d);
}

static int print_document(const struct import *i, struct err *err)
{
	const struct store_import_count *n = &i->count;
	_cleanup_doc_ struct doc d = doc_object();
	_cleanup_json_ json_t *doc = NULL;

	doc_text(&d, "profile", i->profile_name);
	doc_text(&d, "account", i->account);
	doc_int(&d, "without_account", i->no_account);
	doc_int(&d, "without_user", i->no_user);
	doc_set(&d, "unused", import_unused_encode(&i->unused));
	doc_text(&d, "schema", WIRE_SCHEMA);
	doc_text(&d, "time_zone", store_zone(i->store));
	doc_int(&d, "rows", n->rows);
	doc_int(&d, "jobs", n->jobs);
	doc_int(&d, "new", i->n_new);
	doc_int(&d, "known", n->jobs - i->n_new);
	doc_int(&d, "followed", i->n_followed);
	doc_int(&d, "conflict", n->conflicts);
	doc_int(&d, "core_seconds", n->core_seconds);
	doc_set(&d, "rejected", encode_rejects(i));
	doc_int(&d, "rejected_total", rejected_total(i));
	if (doc_finish(&d, &doc, err) < 0)
		return -ENOMEM;
	return cli_print_document(i->c, doc, err);
}

static int print_summary(const struct import *i)
{
	const struct store_import_count *n = &i->count;
	FILE *to = i->c->format.to;

	fprintf(to, "rows          %" PRId64 "\n", n->rows);
	fprintf(to, "jobs          %" PRId64 " (%" PRId64 " new, %" PRId64 " known)\n", n->jobs,
		i->n_new, n->jobs - i->n_new);
	if (i->n_followed)
		fprintf(to,
			"  %" PRId64 " of the known came from reeve-slurm or an agent, and are "
			"charged as jobs of Slurm\n",
			i->n_followed);
	fprintf(to, "core seconds  %" PRId64 "\n", n->core_seconds);
	fprintf(to, "conflict      %" PRId64 "\n", n->conflicts);
	fprintf(to, "rejected      %" PRId64 "\n", rejected_total(i));
	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++)
		if (n->rejected[w])
			fprintf(to, "  %s: %" PRId64 ", first in line %" PRId64 "\n",
				history_why_name(w), n->rejected[w], n->first_line[w]);
	if (*i->no_price)
		fprintf(to, "    the first without a price: %s\n", i->no_price);
	if (i->no_account)
		fprintf(to, "without account %" PRId64 ", charged to account %s\n",
			i->no_account, i->account);
	if (i->no_user)
		fprintf(to, "without user  %" PRId64 ", charged to user " NO_NAME "\n",
			i->no_user);
	import_unused_print(&i->unused, to);
	fprintf(to, "priced by     %s\n",
		i->profile ? i->profile_name : "no profile: cores x time");
	return 0;
}

/* An import without a single job, new or known, is a failure: exit status 1. */
static int check_imported(const struct import *i)
{
	const struct store_import_count *n = &i->count;

	if (n->jobs || n->conflicts)
		return 0;
	fprintf(stderr,
		"reeve import: %s: none of %" PRId64
		" rows was imported; is it %s? The reasons are listed under 'rejected'; names "
		"can be set with --account and --map\n",
		i->path, n->rows, i->format);
	i->c->exit_code = CLI_FAILED;
	return 0;
}

/* ---- options and files ---- */

static int read_words(struct import *i, const struct verb_call *call, struct err *err)
{
	int r;

	i->format = call->args[0];
	i->path = call->args[1];
	i->cluster = verb_value(call, "cluster");
	i->map_path = verb_value(call, "map");
	i->zone = verb_value(call, "time-zone");
	while (i->kind < _FORMAT_MAX && strcmp(i->format, format_names[i->kind]) != 0)
		i->kind++;
	i->swf = (struct swf)SWF_INIT;
	if (i->kind == _FORMAT_MAX)
		return err_set(err, -EINVAL, "'%.32s' is not a format; use swf, sacct or pbs",
			       i->format);
	if (!i->cluster && i->kind == FORMAT_SWF)
		return err_set(err, -EINVAL,
			       "an SWF file does not name its cluster: give --cluster NAME");
	if (i->cluster && (!*i->cluster || strlen(i->cluster) >= REQUEST_NAME_MAX))
		return err_set(err, -EINVAL, "--cluster '%.80s' is not a name", i->cluster);
	i->account = verb_value(call, "account") ? verb_value(call, "account") : NO_NAME;
	if (!*i->account || strlen(i->account) >= REQUEST_NAME_MAX)
		return err_set(err, -EINVAL, "--account '%.80s' is not a name", i->account);
	r = import_unused_init(&i->unused, err);
	if (r < 0)
		return r;
	if (!verb_value(call, "profile"))
		return 0;
	r = profile_find(verb_value(call, "profile"), &i->profile, err);
	return r < 0 ? r : import_profile_name(i->profile, i->profile_name, err);
}

/* Opens what the options name, without the ledger: faults in these files create no ledger. */
static int open_files(struct import *i, struct err *err)
{
	int r = import_file_open(i->path, &i->file, err);

	if (r >= 0 && i->map_path)
		r = import_map_load(i->map_path, &i->map, err);
	if (r >= 0 && i->profile)
		r = config_load(i->profile, &i->config, err);
	if (r >= 0 && i->config && i->cluster && !config_cluster(i->config, i->cluster))
		r = err_set(err, -EINVAL, "%.200s has no [Cluster %.64s]", i->profile,
			    i->cluster);
	return r;
}

/* NULL: the ledger's own zone. A profile without TimeZone has UTC, which sets nothing. */
static const char *zone_of(const struct import *i)
{
	if (i->zone || !i->config || !strcmp(i->config->policy.time_zone, "UTC"))
		return i->zone;
	return i->config->policy.time_zone;
}

static int64_t moment_of(void *ctx, int64_t local_s, enum sacct_which which)
{
	return calendar_moment_s(ctx, local_s,
				 which == SACCT_LATER ? CALENDAR_LATER : CALENDAR_EARLIER);
}

static int open_clocks(struct import *i, struct err *err)
{
	bool has_clocks = i->kind == FORMAT_SACCT && zone_of(i);
	int r = has_clocks ? calendar_open(zone_of(i), &i->clocks, err) : 0;

	if (i->clocks)
		i->sacct = (struct sacct){ moment_of, i->clocks };
	return r;
}

/* The digest identifies the import: the same file with another cluster, map, profile, account or zone is another import, and
 * the position in the ledger is not used for it. */
static int open_ledger(struct import *i, const char *path, struct err *err)
{
	char digest[IMPORT_DIGEST_MAX], content[IMPORT_DIGEST_MAX];
	int r = open_clocks(i, err);
	const struct import_digest_part parts[] = {
		{ .word = i->format },
		{ .word = i->cluster ? i->cluster : "" },
		{ .word = i->map_path ? "map" : "no map" },
		{ .path = i->map_path, .word = i->map_path ? NULL : "-" },
		{ .path = i->profile, .word = i->profile ? NULL : "-" },
		{ .path = i->path },
		{ .word = i->account },
		{ .word = i->clocks ? calendar_zone(i->clocks) : NULL }, /* or the end */
		{ 0 },
	};
	const struct import_digest_part alone[] = { { .path = i->path }, { 0 } };
	const char *zone = i->clocks ? calendar_zone(i->clocks) : "";
	const struct store_import_file f = { digest,  i->path,	       i->format,
					     content, i->profile_name, zone };

	if (r >= 0)
		r = import_file_digest(parts, digest, err);
	if (r >= 0)
		r = import_file_digest(alone, content, err);
	i->batch = path && pg_is_place(path) ? BATCH_SERVER : BATCH;
	if (r >= 0)
		r = ledger_file_open_zone(path, zone_of(i), &i->store, err);
	if (r >= 0)
		r = store_import_open(i->store, &f, &i->to, &i->count, err);
	if (r < 0)
		return r;
	store_import_listen(i->to, on_settled, i);
	if (i->count.is_known_otherwise && strcmp(i->count.other_zone, zone) != 0)
		fprintf(stderr,
			"reeve import: warning: %s was imported before with times of %s, now "
			"read as times of %s: the jobs imported before are unchanged\n",
			i->path, *i->count.other_zone ? i->count.other_zone : "UTC",
			*zone ? zone : "UTC");
	return 0;
}

static int run_import(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(import_done) struct import i = { .c = ctx };
	int r = cli_begin_offline(i.c, call, err);

	clock_gettime(CLOCK_MONOTONIC, &i.start);
	if (r >= 0)
		r = read_words(&i, call, err);
	if (r >= 0)
		r = open_files(&i, err);
	if (r >= 0)
		r = open_ledger(&i, verb_value(call, "ledger"), err);
	if (r >= 0 && !i.count.is_complete)
		r = read_all(&i, err);
	if (i.has_progress)
		fputs("\r\033[K", stderr);
	if (r < 0)
		return r;
	r = i.c->format.output == TABLE_TABLE ? print_summary(&i) : print_document(&i, err);
	return r < 0 ? r : check_imported(&i);
}

const struct verb cli_verb_import = {
	.name = "import",
	.args = "swf|sacct|pbs FILE",
	.help = "Import the job history of another system into a ledger",
	.details =
		"FILE is plain or compressed by gzip. swf: the Standard Workload Format. sacct:\n"
		"the output of 'sacct --parsable2' with the 26 fields of docs/import.md; its\n"
		"times are local times of --time-zone. pbs: an accounting log of PBS or Torque.\n"
		"\n"
		"Each job is charged for its cores, or with --profile by the tariff of its\n"
		"cluster: by its GPU models, and by the queue that its partition names (else the\n"
		"default queue). Names that the profile lacks are listed. Suspended time is\n"
		"free; each run of a requeued job is a job.\n"
		"\n"
		"Run the command again to continue an interrupted import: jobs that are in the\n"
		"ledger are not added twice. A known job with other figures is reported and not\n"
		"changed. Lines that cannot be jobs are counted by reason.",
	.examples = "reeve import swf HPC2N.swf.gz --cluster hpc2n --ledger history.db\n"
		    "reeve import sacct 2016.log.gz --ledger history.db --json\n"
		    "reeve import pbs 20251121 --ledger history.db --profile nci",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = run_import,
};
