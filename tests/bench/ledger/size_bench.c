/* SPDX-License-Identifier: GPL-2.0-or-later */
/* size_bench - what the controller asks of a large ledger again and again, by the controller's own functions: medians by the clock of
 * many rounds, each of another user, job or node. tests/bench/ledger/size.sh makes the ledger, and compares two of different size.
 *
 *	size_bench PLACE OWN SLURM ACTIVE	OWN jobs of Reeve and SLURM of Slurm that have ended, ACTIVE that run and as many queued
 *
 * SIZE_ONLY: only those whose name has this in it. A line for each: NAME, milliseconds, rows of the answer; separated by tabs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"
#include "common/err.h"
#include "controller/config/config.h"
#include "controller/dispatch/cycle.h"
#include "controller/ledger/jobs/hold.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/slurm/list.h"
#include "controller/sharetree/sharetree.h"

#define YEAR_S (365 * INT64_C(86400))
#define FROM_S INT64_C(1735689600) /* 2025-01-01 */
#define NOW_NS ((FROM_S + YEAR_S) * S_NS)
#define FIRST_DAY (FROM_S / 86400)
#define ROUNDS 51
#define USERS 100000 /* each with one account of ten */
#define NODES 10000
#define BATCH 1000

static const char policy[] = "[Policy]\nUsageHalfLife = 7-0:00:00\n[Cluster main]\n"
			     "[Cluster vc]\nEngine = slurm\n";

struct bench {
	struct store *s;
	int64_t own, slurm, active;
	uint64_t seed;
	int64_t n_rows;	 /* of the last answer */
	int64_t at_ns;	 /* of the next exchange */
	int64_t next_id; /* of Slurm */
	struct slurm_batch_job *batch;
	struct config *config;
	struct sharetree *sharetree;
	struct cycle *cycle;
};

static void exit_on_error(int r, const struct err *err)
{
	if (r >= 0)
		return;
	printf("no figures: %s\n", err->text);
	exit(1);
}

static int64_t draw_number(struct bench *b, int64_t n)
{
	b->seed = b->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int64_t)((b->seed >> 20) % (uint64_t)n);
}

/* One who has jobs: size.sh gives twenty, one after the other, to one user. */
static int64_t draw_user(struct bench *b)
{
	return draw_number(b, (b->own + b->slurm) / 20 + 1) * 7919 % USERS;
}

/* ---- what is answered: counted ---- */

static int count_job(void *ctx, const struct store_job *j, struct err *err)
{
	(void)j, (void)err;
	++*(int64_t *)ctx;
	return 0;
}
static int count_usage(void *ctx, const struct store_usage *u, struct err *err)
{
	(void)u, (void)err;
	++*(int64_t *)ctx;
	return 0;
}
static int count_waiting(void *ctx, const struct store_waiting *w, struct err *err)
{
	(void)w, (void)err;
	++*(int64_t *)ctx;
	return 0;
}
static int ignore_count(void *ctx, const struct store_count *n, struct err *err)
{
	(void)ctx, (void)n, (void)err;
	return 0;
}

/* ---- views ---- */

static int read_job(struct bench *b, struct err *err)
{
	return store_job(b->s, 1 + draw_number(b, b->own), count_job, &b->n_rows, err);
}

static int list_jobs(struct bench *b, struct store_filter f, struct err *err)
{
	f.limit = 100;
	return store_jobs(b->s, &f, count_job, &b->n_rows, err);
}

static int list_user(struct bench *b, struct err *err)
{
	char user[32];

	snprintf(user, sizeof(user), "u%" PRId64, draw_user(b));
	return list_jobs(b, (struct store_filter){ .user = user, .state = -1 }, err);
}

static int list_user_active(struct bench *b, struct err *err)
{
	char user[32];

	snprintf(user, sizeof(user), "u%" PRId64, draw_user(b));
	return list_jobs(b, (struct store_filter){ .user = user, .state = STORE_ACTIVE }, err);
}

static int list_account(struct bench *b, struct err *err)
{
	char account[32];

	snprintf(account, sizeof(account), "g%" PRId64, draw_user(b) / 10);
	return list_jobs(b, (struct store_filter){ .account = account, .state = -1 }, err);
}

static int list_node(struct bench *b, struct err *err)
{
	char node[32];

	snprintf(node, sizeof(node), "n%" PRId64, draw_number(b, NODES));
	return list_jobs(b, (struct store_filter){ .node = node, .state = -1 }, err);
}

static int view_account(struct bench *b, struct err *err)
{
	char account[32];
	const struct store_period p = { .by = STORE_BY_USER,
					.account = account,
					.each = STORE_EACH_MONTH,
					.from_day = FIRST_DAY,
					.to_day = FIRST_DAY + 365 };

	snprintf(account, sizeof(account), "g%" PRId64, draw_user(b) / 10);
	return store_usage(b->s, &p, count_usage, &b->n_rows, err);
}

/* A period that begins and ends within months: its days. */
static int view_account_days(struct bench *b, struct err *err)
{
	char account[32];
	const struct store_period p = { .by = STORE_BY_USER,
					.account = account,
					.from_day = FIRST_DAY + 15,
					.to_day = FIRST_DAY + 350 };

	snprintf(account, sizeof(account), "g%" PRId64, draw_user(b) / 10);
	return store_usage(b->s, &p, count_usage, &b->n_rows, err);
}

static int view_user(struct bench *b, struct err *err)
{
	char user[32];
	const struct store_period p = { .by = STORE_BY_ACCOUNT,
					.user = user,
					.each = STORE_EACH_MONTH,
					.from_day = FIRST_DAY,
					.to_day = FIRST_DAY + 365 };

	snprintf(user, sizeof(user), "u%" PRId64, draw_user(b));
	return store_usage(b->s, &p, count_usage, &b->n_rows, err);
}

/* ---- cycles ---- */

static int read_queue(struct bench *b, struct err *err)
{
	int r = store_waiting(b->s, "main", count_waiting, &b->n_rows, err);

	return r < 0 ? r : store_counts(b->s, ignore_count, NULL, err);
}

static void ignore_event(void *ctx, const struct cycle_event *e)
{
	(void)ctx, (void)e;
}

static int run_cycle(struct bench *b, struct err *err)
{
	const struct cycle_run run = { "main", NOW_NS, ignore_event, NULL, NULL };

	return cycle_run(b->cycle, &run, err);
}

static int run_first_cycle(struct bench *b, struct err *err)
{
	int r;

	b->cycle = cycle_free(b->cycle);
	r = cycle_new(b->s, b->sharetree, &b->cycle, err);
	return r < 0 ? r : run_cycle(b, err);
}

static int run_later_cycle(struct bench *b, struct err *err)
{
	const struct store_priority_change w = { .job = b->own + b->active + 1 +
							draw_number(b, b->active),
						 .now_ns = NOW_NS,
						 .has_nice = true,
						 .author = "bench" };
	int r = store_set_priority(b->s, &w, err);

	return r < 0 ? r : run_cycle(b, err);
}

/* ---- what is written ---- */

/* A node reports the job that runs on it. */
static int exchange_with_node(struct bench *b, struct err *err)
{
	int64_t k = draw_number(b, b->active), running_ns = b->at_ns - NOW_NS + 60 * S_NS;
	struct sync_job listed = { b->own + 1 + k, 1, JOB_RUNNING };
	struct report rep = { .job = listed.job,
			      .attempt = 1,
			      .seq = b->at_ns / S_NS,
			      .at_ns = b->at_ns,
			      .state = JOB_RUNNING,
			      .started_ns = b->at_ns - running_ns,
			      .running_ns = running_ns };
	struct sync in = { .capacity = { .ncpus = 64,
					 .mem_bytes = 256000000000,
					 .jobfs_bytes = 1000000000000 },
			   .jobs = &listed,
			   .n_jobs = 1,
			   .reports = &rep,
			   .n_reports = 1 };
	struct sync_from from = { .cluster = "main",
				  .now_ns = b->at_ns,
				  .lost_ns = 120 * S_NS };
	struct sync_result result = { 0 };
	int r;

	snprintf(in.node, sizeof(in.node), "n%" PRId64, k % NODES);
	strcpy(in.boot, "b");
	strcpy(from.address, "10.0.0.1");
	b->at_ns += S_NS;
	r = store_ingest(b->s, &in, &from, &result, err);
	b->n_rows = (int64_t)result.n_acks;
	if (r >= 0 && result.n_acks != 1)
		r = err_set(err, -1, "node %s: its report was not taken", in.node);
	sync_result_done(&result);
	return r;
}

static int set_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		     struct err *err)
{
	(void)ctx, (void)note, (void)err;
	job->terms = (struct tally_terms){ .rate = { job->request->res.ncpus, 1 },
					   .ncpus = job->request->res.ncpus };
	for (int i = 0; i < _CHARGE_SIDE_MAX; i++)
		job->terms.bundle.side[i] = (struct fraction){ i == CHARGE_CORES, 1 };
	return 0;
}

static void fill_row(struct bench *b, struct slurm_batch_job *j)
{
	int64_t user = draw_number(b, USERS), ran_s = 60 + draw_number(b, 3000);

	*j = (struct slurm_batch_job){ .job = b->next_id++,
				       .uid = 1000 + user,
				       .state = SLURM_BATCH_COMPLETED,
				       .queue = "normal",
				       .name = "run",
				       .nodes = "m1",
				       .node = "m1",
				       .ncpus = 4,
				       .n_nodes = 1,
				       .array_task = SLURM_BATCH_NO_TASK,
				       .submit_s = FROM_S + YEAR_S - 9000,
				       .start_s = FROM_S + YEAR_S - 8000,
				       .end_s = FROM_S + YEAR_S - 8000 + ran_s };
	snprintf(j->user, sizeof(j->user), "u%" PRId64, user);
	snprintf(j->account, sizeof(j->account), "g%" PRId64, user / 10);
}

/* Jobs that have ended, as reeve-slurm reads them from slurmdbd. */
static int store_batch(struct bench *b, struct err *err)
{
	struct slurm_batch doc = { .cluster = "vc",
				   .source = SLURM_BATCH_SLURMDBD,
				   .at_s = NOW_NS / S_NS,
				   .jobs = b->batch,
				   .n_jobs = BATCH };
	const struct store_slurm_from from = { .now_ns = NOW_NS,
					       .forgotten_ns = 86400 * S_NS,
					       .lost_ns = 120 * S_NS,
					       .price = set_price };
	struct store_slurm_result result = { .n_late = 0 };
	int r;

	for (int i = 0; i < BATCH; i++)
		fill_row(b, &b->batch[i]);
	r = store_slurm_batch(b->s, &doc, &from, &result, err);
	b->n_rows = result.answer.n_changed;
	store_slurm_result_done(&result);
	return r;
}

/* A page of what reconcile compares, of as long as a thousand of them takes in this ledger. */
static int list_attempts(struct bench *b, struct err *err)
{
	int64_t span_s = BATCH * YEAR_S / (b->slurm > 2 * BATCH ? b->slurm : 2 * BATCH),
		from_s = FROM_S + YEAR_S / 4 + draw_number(b, YEAR_S / 2);
	const struct store_slurm_page page = { "vc", from_s, from_s + span_s, 0, 0 };
	size_t n = 0;
	int r = store_slurm_list(b->s, &page, b->batch, &n, err);

	b->n_rows = (int64_t)n;
	return r;
}

static int load_share(struct bench *b, struct err *err)
{
	struct sharetree_config c = { .config = b->config };
	int r;

	sharetree_free(b->sharetree);
	b->sharetree = NULL;
	r = sharetree_new(&c, &b->sharetree, err);
	return r < 0 ? r : sharetree_load(b->sharetree, b->s, NOW_NS, err);
}

static int view_share(struct bench *b, struct err *err)
{
	struct sharetree_view v;
	struct sharetree_where where;
	int r;

	if (!sharetree_tree(b->sharetree, 0, &where))
		return err_set(err, -1, "the share tree is empty");
	r = sharetree_get_view(b->sharetree, where, NOW_NS, &v, err);
	b->n_rows = r < 0 ? 0 : (int64_t)v.n;
	return r;
}

/* In this order: a cycle needs the share tree. */
static const struct {
	const char *name;
	int (*fn)(struct bench *b, struct err *err);
	int rounds;
} asked[] = {
	{ "a job by its number", read_job, ROUNDS },
	{ "the newest 100 jobs of a user", list_user, ROUNDS },
	{ "the active jobs of a user", list_user_active, ROUNDS },
	{ "the newest 100 jobs of an account", list_account, ROUNDS },
	{ "the newest 100 jobs of a node", list_node, ROUNDS },
	{ "usage of an account by user, by month", view_account, ROUNDS },
	{ "usage of an account by user, 335 days", view_account_days, ROUNDS },
	{ "usage of a user, by month", view_user, ROUNDS },
	{ "start: the share tree from all charges that count", load_share, 1 },
	{ "share of all associations", view_share, 5 },
	{ "what a cycle reads of the queue", read_queue, 5 },
	{ "start: the first cycle", run_first_cycle, 3 },
	{ "a later cycle, one job changed", run_later_cycle, 11 },
	{ "an exchange with a node, one report", exchange_with_node, ROUNDS },
	{ "1,000 jobs of slurmdbd in one document", store_batch, 5 },
	{ "a page of reconcile", list_attempts, 11 },
};

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void time_one(struct bench *b, size_t k)
{
	double ms[ROUNDS];
	int64_t rows = 0;
	struct err err = { "" };

	for (int i = 0; i < asked[k].rounds; i++) {
		int64_t from = clock_ns(CLOCK_MONOTONIC);

		b->n_rows = 0;
		exit_on_error(asked[k].fn(b, &err), &err);
		ms[i] = (double)(clock_ns(CLOCK_MONOTONIC) - from) / 1e6;
		rows += b->n_rows;
	}
	qsort(ms, (size_t)asked[k].rounds, sizeof(*ms), compare_doubles);
	printf("%s\t%.3f\t%" PRId64 "\n", asked[k].name, ms[asked[k].rounds / 2],
	       rows / asked[k].rounds);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct bench b = { .seed = 7, .at_ns = NOW_NS };
	struct err err = { "" };

	if (argc != 5)
		return 64;
	b.own = strtoll(argv[2], NULL, 10);
	b.slurm = strtoll(argv[3], NULL, 10);
	b.active = strtoll(argv[4], NULL, 10);
	b.next_id = b.slurm + 1;
	b.batch = calloc(BATCH, sizeof(*b.batch));
	exit_on_error(config_parse(policy, sizeof(policy) - 1, &b.config, &err), &err);
	exit_on_error(store_open(argv[1], &b.s, &err), &err);
	for (size_t k = 0; k < sizeof(asked) / sizeof(*asked); k++)
		if (!getenv("SIZE_ONLY") || strstr(asked[k].name, getenv("SIZE_ONLY")))
			time_one(&b, k);
	cycle_free(b.cycle);
	sharetree_free(b.sharetree);
	store_close(b.s);
	config_free(b.config);
	free(b.batch);
	return 0;
}
