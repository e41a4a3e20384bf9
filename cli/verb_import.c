/* verb_import.c - brings jobs that ran elsewhere, or before, into a ledger. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/import_file.h"
#include "cli/import_map.h"
#include "cli/ledger_file.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/config/config.h"
#include "controller/config/profile.h"
#include "controller/history/sacct.h"
#include "controller/history/swf.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/store_import.h"
#include "controller/pg/pg.h"
#include "controller/quote/quote.h"

/* Jobs a transaction: what a batch does not have to write twice are the sums of its days, which
 * is most of the work in a large ledger. A controller beside it waits 5 s to write; a server
 * takes a fifth as many jobs in that time. */
#define BATCH 400000
#define BATCH_SERVER 100000
#define TOLD_MAX 20  /* conflicts that are named one by one */
#define PATIENCE_S 2 /* from then on, progress is shown */
#define NO_JOB SWF_NO_JOB
_Static_assert(SWF_NO_JOB == SACCT_NO_JOB, "one word for lines that are no job");

static const struct verb_option options[] = {
	{ "ledger", 0, "FILE", "the ledger; made when there is none", NULL },
	{ "cluster", 0, "NAME", "where the jobs ran; sacct: default is what the file says",
	  NULL },
	{ "map", 0, "FILE", "other names: a CSV file with the columns kind,from,to", NULL },
	{ "profile", 0, "NAME|FILE", "charge by this profile's tariff of the cluster", NULL },
	{ "time-zone", 0, "ZONE",
	  "of the times of sacct, and of the days of a new ledger; default: the profile's, or "
	  "UTC",
	  NULL },
	{ 0 },
};

struct import {
	struct cli *c;
	const char *path, *format, *cluster, *map_path, *zone;
	char *profile; /* its file */
	struct import_file *file;
	struct store *store;
	struct store_import *to;
	struct import_map *map;
	struct config *config;
	struct calendar *clocks; /* of sacct's times; NULL: UTC's */
	struct swf swf;
	struct sacct sacct;
	struct store_import_count count;
	int64_t n_new, n_pending, line; /* of this run; line: where it reads */
	int64_t batch;
	struct timespec start;
	bool is_swf, has_shown;
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
}

/* ---- a job's price ---- */

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

/* By the profile's tariff of the cluster and its default queue; without a profile by its cores.
 * < 0: it has no price there. */
static int price(const struct import *i, const struct history_job *j,
		 struct store_import_job *ret)
{
	const struct quote q = { .pick = { .cluster = j->cluster },
				 .res = { .ncpus = j->ncpus,
					  .ngpus = j->ngpus,
					  .mem_bytes = j->mem_bytes < 0 ? 0 : j->mem_bytes } };
	struct tariff_price p;
	struct err unused;
	int r;

	*ret = (struct store_import_job){ .job = j };
	ret->terms.ncpus = j->ncpus;
	ret->terms.ngpus = j->ngpus;
	ret->terms.rate = (struct fraction){ j->ncpus, 1 };
	ret->terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
	if (!i->config)
		return 0;
	r = quote_price(i->config, &q, &p, &unused);
	if (r < 0)
		return r;
	ret->pool = p.pool;
	ret->terms.bundle = p.terms;
	ret->terms.rate = p.rate;
	return 0;
}

/* ---- lines ---- */

static void reject(struct import *i, enum history_why why)
{
	if (i->count.rejected[why]++ == 0)
		i->count.first_line[why] = i->line;
}

static void tell_conflict(struct import *i, const struct store_import_job *j)
{
	if (++i->count.conflicts <= TOLD_MAX)
		fprintf(stderr,
			"reeve import: %s:%" PRId64 ": job %" PRId64
			" of %s is in the ledger with other figures; left as it is\n",
			i->path, j->line, j->job->number, j->job->cluster);
}

static int on_settled(void *ctx, const struct store_import_job *j,
		      enum store_import_outcome outcome, struct err *err)
{
	struct import *i = ctx;
	int64_t core_seconds = (j->job->end_s - j->job->start_s) * j->job->ncpus;

	if (outcome == STORE_IMPORT_CONFLICT) {
		tell_conflict(i, j);
		return 0;
	}
	if (__builtin_add_overflow(i->count.core_seconds, core_seconds, &i->count.core_seconds))
		return err_set(err, -ERANGE, "the sum of core seconds is beyond 64 bits");
	i->count.jobs++;
	i->n_new += outcome == STORE_IMPORT_NEW;
	return 0;
}

static int add_job(struct import *i, struct history_job *j, struct err *err)
{
	struct store_import_job priced;
	int r;

	if (i->cluster)
		strcpy(j->cluster, i->cluster);
	if (i->map)
		import_map_apply(i->map, j);
	if (!j->cluster[0]) {
		reject(i, HISTORY_NO_NAME);
		return 0;
	}
	r = check_cluster(i, j, err);
	if (r < 0)
		return r;
	if (price(i, j, &priced) < 0) {
		reject(i, HISTORY_NO_PRICE);
		return 0;
	}
	priced.line = i->line;
	r = store_import_take(i->to, &priced, err);
	if (r == STORE_IMPORT_REFUSED)
		reject(i, HISTORY_OUT_OF_RANGE);
	return r < 0 ? r : 0;
}

static int read_line(struct import *i, struct import_line l, struct history_job *ret)
{
	return i->is_swf ? swf_parse_line(&i->swf, l.at, l.size, ret)
			 : sacct_parse_line(&i->sacct, l.at, l.size, ret);
}

static int take_line(struct import *i, struct import_line l, struct err *err)
{
	struct history_job j;
	int why = read_line(i, l, &j);

	i->count.lines = i->line;
	if (why == NO_JOB)
		return 0;
	i->count.rows++;
	i->n_pending++;
	if (why != HISTORY_OK) {
		reject(i, (enum history_why)why);
		return 0;
	}
	return add_job(i, &j, err);
}

static void show_progress(struct import *i)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!i->c->talks || now.tv_sec - i->start.tv_sec < PATIENCE_S)
		return;
	fprintf(stderr, "\r%s: %d %%, %" PRId64 " jobs", i->path, import_file_percent(i->file),
		i->count.jobs);
	i->has_shown = true;
}

/* Lines of an earlier run are passed over; headers among them still count. */
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
		r = take_line(i, l, err);
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
	_cleanup_json_ json_t *all = json_object();

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX && all; w++)
		if (i->count.rejected[w] &&
		    json_object_set_new(all, history_why_name(w),
					json_integer(i->count.rejected[w])) < 0)
			return NULL;
	return TAKE_PTR(all);
}

static int print_document(const struct import *i, struct err *err)
{
	const struct store_import_count *n = &i->count;
	_cleanup_json_ json_t *doc = json_pack(
		"{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:I}", "schema", WIRE_SCHEMA, "time_zone",
		store_zone(i->store), "rows", (json_int_t)n->rows, "jobs", (json_int_t)n->jobs,
		"new", (json_int_t)i->n_new, "known", (json_int_t)(n->jobs - i->n_new),
		"conflict", (json_int_t)n->conflicts, "core_seconds",
		(json_int_t)n->core_seconds, "rejected", encode_rejects(i), "rejected_total",
		(json_int_t)rejected_total(i));

	if (!doc)
		return err_set(err, -ENOMEM, "out of memory");
	return cli_print_document(i->c, doc, err);
}

static int print_summary(const struct import *i)
{
	const struct store_import_count *n = &i->count;
	FILE *to = i->c->format.to;

	fprintf(to, "rows          %" PRId64 "\n", n->rows);
	fprintf(to, "jobs          %" PRId64 " (%" PRId64 " new, %" PRId64 " known)\n", n->jobs,
		i->n_new, n->jobs - i->n_new);
	fprintf(to, "core seconds  %" PRId64 "\n", n->core_seconds);
	fprintf(to, "conflict      %" PRId64 "\n", n->conflicts);
	fprintf(to, "rejected      %" PRId64 "\n", rejected_total(i));
	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++)
		if (n->rejected[w])
			fprintf(to, "  %s: %" PRId64 ", first in line %" PRId64 "\n",
				history_why_name(w), n->rejected[w], n->first_line[w]);
	return 0;
}

/* ---- what was typed ---- */

static int read_words(struct import *i, const struct verb_call *call, struct err *err)
{
	i->format = call->args[0];
	i->path = call->args[1];
	i->cluster = verb_value(call, "cluster");
	i->map_path = verb_value(call, "map");
	i->zone = verb_value(call, "time-zone");
	i->is_swf = !strcmp(i->format, "swf");
	i->swf = (struct swf)SWF_INIT;
	if (!i->is_swf && strcmp(i->format, "sacct") != 0)
		return err_set(err, -EINVAL, "'%.32s' is no format; it is one of swf, sacct",
			       i->format);
	if (!i->cluster && i->is_swf)
		return err_set(err, -EINVAL,
			       "an SWF file does not name its cluster: give --cluster NAME");
	if (i->cluster && (!*i->cluster || strlen(i->cluster) >= REQUEST_NAME_MAX))
		return err_set(err, -EINVAL, "--cluster '%.80s' is not a name", i->cluster);
	return verb_value(call, "profile")
		       ? profile_find(verb_value(call, "profile"), &i->profile, err)
		       : 0;
}

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

/* A profile that names no zone has UTC, and takes the ledger's as it is. */
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
	int r = i->is_swf || !zone_of(i) ? 0 : calendar_open(zone_of(i), &i->clocks, err);

	if (i->clocks)
		i->sacct = (struct sacct){ moment_of, i->clocks };
	return r;
}

static int open_ledger(struct import *i, const char *path, struct err *err)
{
	char digest[IMPORT_DIGEST_MAX];
	int r = open_clocks(i, err);
	const struct import_digest_part parts[] = {
		{ .word = i->format },
		{ .word = i->cluster ? i->cluster : "" },
		{ .word = i->map_path ? "map" : "no map" },
		{ .path = i->map_path, .word = i->map_path ? NULL : "-" },
		{ .path = i->profile, .word = i->profile ? NULL : "-" },
		{ .path = i->path },
		{ .word = i->clocks ? calendar_zone(i->clocks) : NULL }, /* or the end */
		{ 0 },
	};
	const struct store_import_file f = { digest, i->path, i->format };

	if (r >= 0)
		r = import_file_digest(parts, digest, err);
	i->batch = path && pg_is_place(path) ? BATCH_SERVER : BATCH;
	if (r >= 0)
		r = ledger_file_open_zone(path, zone_of(i), &i->store, err);
	if (r >= 0)
		r = store_import_open(i->store, &f, &i->to, &i->count, err);
	if (r >= 0)
		store_import_listen(i->to, on_settled, i);
	return r;
}

static int import(const struct verb_call *call, void *ctx, struct err *err)
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
	if (i.has_shown)
		fputs("\r\033[K", stderr);
	if (r < 0)
		return r;
	return i.c->format.output == TABLE_TABLE ? print_summary(&i) : print_document(&i, err);
}

const struct verb cli_verb_import = {
	.name = "import",
	.args = "swf|sacct FILE",
	.help = "Bring jobs that ran before, or elsewhere, into a ledger",
	.details =
		"FILE, plain or gzip, is in the Standard Workload Format or what\n"
		"'sacct --parsable2' prints with the 26 fields of docs/import.md; times of\n"
		"sacct are read as local times of --time-zone. Each job is charged for the\n"
		"cores it held, or with --profile by the tariff of its cluster and the "
		"default\n"
		"queue. An import that was broken off goes on where it was; a file that was\n"
		"imported brings nothing new; a job that is there already with other figures\n"
		"is told and left as it is. Lines that are no possible job are counted by\n"
		"reason.",
	.examples = "reeve import swf HPC2N.swf.gz --cluster hpc2n --ledger history.db\n"
		    "reeve import sacct 2016.log.gz --ledger history.db --json",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = import,
};
