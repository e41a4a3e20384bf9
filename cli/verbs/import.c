/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import.c - `reeve import`: imports the job history of another system into a ledger. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/import/file.h"
#include "cli/import/import.h"
#include "cli/import/map.h"
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/utf8.h"
#include "controller/config/config.h"
#include "controller/config/profile.h"
#include "controller/ledger/calendar.h"
#include "controller/postgres/pg.h"
#include "controller/pricing/history_price.h"

/* Jobs in one transaction. Each writes the sums of its days once, most of the work in a large
 * ledger, so batches are large; but a running controller waits for them, at most 5 s. A database
 * server stores fewer jobs in that time. */
#define BATCH 400000
#define BATCH_SERVER 100000
#define NAMED_MAX 20 /* conflicts that are listed one by one */
#define PATIENCE_S 2 /* from then on, progress is shown */
/* Of how files are read: in the digest of an import, so that a version that reads more of a file reads it
 * again. */
#define READER "reader 2"

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
	{ "unix-start-time", 0, "SECONDS",
	  "swf without this header: when the log begins, in seconds since 1970", NULL },
	{ 0 },
};

static void import_done(struct import *i)
{
	import_reader_close(i->reader);
	store_import_close(i->to);
	store_close(i->store);
	import_map_free(i->map);
	config_free(i->config);
	calendar_close(i->clocks);
	free(i->profile);
	import_unused_done(&i->unused);
	import_seen_done(&i->seen);
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

static void note_unused(struct import *i, enum import_unused_kind kind, const char *name)
{
	import_unused_note(&i->unused, &(struct import_unused_job){
					       .kind = kind, .name = name, .line = i->line });
}

/* Keeps the reason of the first job without a price, and of the first of each name of GPUs: the job that was
 * priced last (history_price.h). */
static void note_no_price(struct import *i, const struct history_job *j, int32_t gpus,
			  const struct err *why)
{
	if (!*i->no_price)
		snprintf(i->no_price, sizeof(i->no_price), "line %" PRId64 ": %.200s", i->line,
			 why->text);
	if (j->gpus.n)
		import_unused_note(&i->unused,
				   &(struct import_unused_job){ .kind = UNUSED_GPU,
								.name = j->gpus.of[gpus].model,
								.line = i->line,
								.why = why->text });
}

/* < 0: the profile has no price for it. */
static int price_job(struct import *i, const struct history_job *j,
		     struct store_import_job *ret)
{
	struct history_price p;
	struct err why = { "" };
	int r = history_price(i->config, j, &p, &why);

	if (r < 0) {
		note_no_price(i, j, p.gpus, &why);
		return r;
	}
	*ret = (struct store_import_job){ .job = j, .pool = p.pool, .terms = p.terms };
	if (i->config && *j->queue && !p.has_queue && p.is_by_queue)
		note_unused(i, UNUSED_PARTITION, j->queue);
	if (i->config && i->config->n_qos && *j->qos && !p.has_qos)
		note_unused(i, UNUSED_QOS, j->qos);
	for (int k = 0; k < j->left_out.n; k++)
		import_unused_note(&i->unused, &(struct import_unused_job){
						       .kind = UNUSED_AMOUNT,
						       .name = j->left_out.of[k].name,
						       .line = i->line,
						       .amount = j->left_out.of[k].n });
	return 0;
}

/* ---- lines ---- */

/* Counts a line that is no job, and keeps the number of the first one of each reason. */
static void reject_line(struct import *i, enum history_why why, const struct history_job *j)
{
	if (i->count.rejected[why]++ == 0)
		i->count.first_line[why] = i->line;
	import_told_reject(&i->told, why, j);
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
	int r;

	if (outcome == STORE_IMPORT_CONFLICT) {
		print_conflict(i, j);
		return 0;
	}
	r = import_seen_add(&i->seen, j->job);
	if (r < 0)
		return err_set(err, r, "out of memory");
	if (r > 0 && outcome != STORE_IMPORT_NEW) {
		i->told.repeated++;
		return 0;
	}
	if (j->job->suspended_s) {
		i->told.free_jobs++;
		i->told.free_s += j->job->suspended_s;
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
		strcpy(j->user, IMPORT_NO_NAME);
		i->no_user++;
	}
}

/* Gives the job the names that the ledger has. The map is applied after the defaults, so that it can rename
 * these too. */
static enum history_why settle_names(struct import *i, struct history_job *j)
{
	char bad[REQUEST_NAME_MAX];

	if (i->cluster)
		strcpy(j->cluster, i->cluster);
	fill_names(i, j);
	if (i->map)
		import_map_apply(i->map, j);
	if (import_map_check(j, bad) && *j->cluster)
		return HISTORY_OK;
	if (!*i->no_name)
		snprintf(i->no_name, sizeof(i->no_name),
			 *j->cluster ? "'%.64s' has blanks or is not UTF-8; rename it by --map"
				     : "it names no cluster%.0s; give --cluster NAME",
			 bad);
	return HISTORY_NO_NAME;
}

/* A job that is rejected is counted and is no error: < 0 ends the import. */
static int add_job(struct import *i, struct history_job *j, struct err *err)
{
	struct store_import_job priced;
	enum history_why why = settle_names(i, j);
	int r;

	if (why != HISTORY_OK) {
		reject_line(i, why, j);
		return 0;
	}
	r = check_cluster(i, j, err);
	if (r < 0)
		return r;
	if (price_job(i, j, &priced) < 0) {
		reject_line(i, HISTORY_NO_PRICE, j);
		return 0;
	}
	priced.line = i->line;
	import_told_job(&i->told, j, i->line);
	j->fault =
		NULL; /* it is part of the line, and the ledger's copy of the job outlives that */
	r = store_import_add(i->to, &priced, err);
	if (r == STORE_IMPORT_REFUSED)
		reject_line(i, HISTORY_OUT_OF_RANGE, j);
	return r < 0 ? r : 0;
}

static int add_row(struct import *i, struct history_job *j, int why, struct err *err)
{
	i->count.lines = i->line;
	i->count.rows++;
	i->n_pending++;
	if (why == HISTORY_OK)
		return add_job(i, j, err);
	reject_line(i, (enum history_why)why, j);
	return 0;
}

/* A row that an earlier run has imported: a row below may be the same job. */
static int skip_row(struct import *i, struct history_job *j, int why, struct err *err)
{
	int64_t no_account = i->no_account, no_user = i->no_user;

	if (why == HISTORY_OK && settle_names(i, j) == HISTORY_OK &&
	    import_seen_add(&i->seen, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	i->no_account = no_account;
	i->no_user = no_user;
	return 0;
}

static void show_progress(struct import *i)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!i->c->shows_progress || now.tv_sec - i->start.tv_sec < PATIENCE_S)
		return;
	fprintf(stderr, "\r%s: %d %%, %" PRId64 " jobs", i->path,
		import_reader_percent(i->reader), i->count.jobs);
	i->has_progress = true;
}

/* Reads the rows that an earlier run has imported too: headings, phases and parts among them decide what the
 * rows below are. */
static int read_all(struct import *i, struct err *err)
{
	int64_t done = i->count.lines;
	struct history_job j;
	int why, r;

	while ((r = import_reader_next(i->reader, &j, &why, err)) > 0) {
		i->line = import_reader_place(i->reader);
		r = i->line <= done ? skip_row(i, &j, why, err) : add_row(i, &j, why, err);
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

/* ---- options and files ---- */

static bool is_option_name(const char *name)
{
	return *name && strlen(name) < REQUEST_NAME_MAX && history_is_name(name) &&
	       utf8_is_valid(name);
}

static int read_words(struct import *i, const struct verb_call *call, struct err *err)
{
	int r;

	i->format = call->args[0];
	i->path = call->args[1];
	i->cluster = verb_value(call, "cluster");
	i->map_path = verb_value(call, "map");
	i->zone = verb_value(call, "time-zone");
	i->kind = import_format_find(i->format);
	i->epoch = verb_value(call, "unix-start-time");
	i->epoch_s = -1;
	if (i->kind == _IMPORT_FORMAT_MAX)
		return err_set(err, -EINVAL, "'%.32s' is not a format; use swf, sacct or pbs",
			       i->format);
	if (i->epoch &&
	    (i->kind != IMPORT_SWF || amount_parse_count(i->epoch, &i->epoch_s, NULL) < 0 ||
	     i->epoch_s > HISTORY_TIME_MAX))
		return err_set(
			err, -EINVAL,
			"--unix-start-time '%.32s' is not a number of seconds since 1970, of "
			"an SWF file",
			i->epoch);
	if (!i->cluster && i->kind == IMPORT_SWF)
		return err_set(err, -EINVAL,
			       "an SWF file does not name its cluster: give --cluster NAME");
	if (i->cluster && !is_option_name(i->cluster))
		return err_set(err, -EINVAL, "--cluster '%.80s' is not a name", i->cluster);
	i->account = verb_value(call, "account") ? verb_value(call, "account") : IMPORT_NO_NAME;
	if (!is_option_name(i->account))
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
	int r = 0;

	if (i->map_path)
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

static int open_reader(struct import *i, struct err *err)
{
	struct import_how how = { .format = i->kind,
				  .epoch_s = i->epoch_s,
				  .has_phases = i->kind == IMPORT_PBS };
	bool has_clocks = i->kind == IMPORT_SACCT && zone_of(i);
	int r = has_clocks ? calendar_open(zone_of(i), &i->clocks, err) : 0;

	if (i->clocks)
		how.sacct = (struct sacct){ .zone = moment_of, .ctx = i->clocks };
	return r < 0 ? r : import_reader_open(i->path, &how, &i->reader, err);
}

/* The digest identifies the import: the same file with another cluster, map, profile, account or zone is another import, and
 * the position in the ledger is not used for it. */
static int open_ledger(struct import *i, const char *path, struct err *err)
{
	char digest[IMPORT_DIGEST_MAX], content[IMPORT_DIGEST_MAX];
	int r = open_reader(i, err);
	const struct import_digest_part parts[] = {
		{ .word = i->format },
		{ .word = i->cluster ? i->cluster : "" },
		{ .word = i->map_path ? "map" : "no map" },
		{ .path = i->map_path, .word = i->map_path ? NULL : "-" },
		{ .path = i->profile, .word = i->profile ? NULL : "-" },
		{ .path = i->path },
		{ .word = i->account },
		{ .word = READER },
		{ .word = i->epoch ? i->epoch : "" },
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
	r = i.c->format.output == TABLE_TABLE ? import_summary_print(&i)
					      : import_summary_document(&i, err);
	return r < 0 ? r : import_summary_check(&i);
}

const struct verb cli_verb_import = {
	.name = "import",
	.args = "swf|sacct|pbs FILE",
	.help = "Import the job history of another system into a ledger",
	.details =
		"FILE is plain or compressed by gzip. swf: the Standard Workload Format. sacct:\n"
		"the output of 'sacct --parsable2' with its heading, in any order of columns, or\n"
		"without one with the 26 fields of docs/import.md, or of 'sacct --json'; times\n"
		"without an offset are local times of --time-zone. pbs: an accounting log of PBS\n"
		"or Torque.\n"
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
