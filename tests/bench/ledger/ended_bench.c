/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended_bench - jobs a second that a ledger takes of what slurmdbd says of a past: documents of 1,000 jobs that have ended, from their JSON
 * text to the commit, as POST /v1/slurm/jobs takes them. Jobs come in the order in which they ended; one to twenty after each other are of
 * one user. tests/bench/ledger/ended.sh makes the ledger, and compares.
 *
 *	ended_bench PLACE FIRST JOBS		jobs FIRST to FIRST + JOBS - 1 of the year's 10,000,000
 *
 * ENDED_TWICE=1: each row comes twice in its document, and so is stored by a statement for each thing that follows from it, as all
 * rows of jobs that the ledger knows are.
 *
 * Prints jobs, seconds, jobs a second, microseconds of this process a job; separated by tabs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/config/config.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/pricing/price.h"

#define BATCH 1000
#define YEAR 10000000 /* jobs */
#define YEAR_S (365 * INT64_C(86400))
#define FROM_S INT64_C(1735689600) /* 2025-01-01 */
#define USERS 100000
#define NODES 10000

static const char policy[] = "[Cluster vc]\nEngine = slurm\n";

static uint64_t mix_number(uint64_t n)
{
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9ULL;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebULL;
	return n ^ (n >> 31);
}

/* The user of job i: those of one block of twenty are split at one place between two users. */
static int64_t user_of(int64_t i)
{
	uint64_t block = (uint64_t)i / 20, split = mix_number(block) % 20;

	return (int64_t)(mix_number(2 * block + ((uint64_t)i % 20 >= split)) % USERS);
}

static void make_row(int64_t i, struct slurm_batch_job *j)
{
	uint64_t draw = mix_number((uint64_t)i + 77);
	int64_t end_s = FROM_S + i * YEAR_S / YEAR,
		ran_s = 1 + (int64_t)(draw % (draw & 1 << 20 ? 600 : 36000)),
		node = (int64_t)(draw >> 24) % NODES, user = user_of(i);

	*j = (struct slurm_batch_job){ .job = i,
				       .uid = 1000 + user,
				       .state = i % 17 == 0   ? SLURM_BATCH_TIMEOUT
						: i % 11 == 0 ? SLURM_BATCH_CANCELLED
						: i % 7 == 0  ? SLURM_BATCH_FAILED
							      : SLURM_BATCH_COMPLETED,
				       .queue = "normal",
				       .qos = "normal",
				       .name = "run",
				       .ncpus = 1 + (int64_t)(draw >> 40) % 64,
				       .n_nodes = 1,
				       .mem_bytes = INT64_C(4000000000),
				       .walltime_s = 36000,
				       .exit_status = i % 7 == 0,
				       .array_task = SLURM_BATCH_NO_TASK,
				       .submit_s = end_s - ran_s - (int64_t)(draw >> 50) % 7200,
				       .start_s = end_s - ran_s,
				       .end_s = end_s };
	if (i % 4 == 0) {
		j->array_job = i - i % 100;
		j->array_task = i % 100;
	}
	snprintf(j->nodes, sizeof(j->nodes), "m%" PRId64, node);
	snprintf(j->node, sizeof(j->node), "m%" PRId64, node);
	snprintf(j->user, sizeof(j->user), "u%" PRId64, user);
	snprintf(j->account, sizeof(j->account), "g%" PRId64, user / 10);
}

static void exit_on_error(int r, const struct err *err)
{
	if (r >= 0)
		return;
	printf("no figures: %s\n", err->text);
	exit(1);
}

/* As controller/api/sync/slurm.c has it. */
static int set_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		     struct err *err)
{
	const struct request *q = job->request;
	const struct price_query query = { .pick = { .cluster = q->cluster, .queue = "" },
					   .res = q->res };
	struct tariff_price p;
	int r = price_find(ctx, &query, &p, err);

	(void)note;
	if (r < 0)
		return r;
	job->pool = p.pool;
	job->decided_by = p.decided_by;
	job->unit = p.unit;
	job->terms = (struct tally_terms){
		.rate = p.rate, .bundle = p.terms, .ncpus = q->res.ncpus, .ngpus = q->res.ngpus
	};
	return 0;
}

struct bench {
	struct store *s;
	struct config *config;
	struct slurm_batch_job *rows;
	int64_t now_ns;
	int64_t times; /* that a row is in its document */
};

static char *make_document(struct bench *b, int64_t first, int64_t n)
{
	struct slurm_batch doc = { .cluster = "vc",
				   .source = SLURM_BATCH_SLURMDBD,
				   .at_s = b->now_ns / S_NS,
				   .mark_s = FROM_S + first * YEAR_S / YEAR,
				   .jobs = b->rows,
				   .n_jobs = (size_t)(n * b->times) };
	_cleanup_json_ json_t *json = NULL;
	struct err err = { "" };
	char *text;

	for (int64_t i = 0; i < n * b->times; i++)
		make_row(first + i / b->times, &b->rows[i]);
	exit_on_error(slurm_batch_encode(&doc, &json, &err), &err);
	text = json_dumps(json, JSON_COMPACT);
	if (!text)
		exit(1);
	return text;
}

static void take_document(struct bench *b, const char *text, int64_t n)
{
	const struct store_slurm_from from = { .now_ns = b->now_ns,
					       .forgotten_ns = DAY_NS,
					       .lost_ns = 120 * S_NS,
					       .price = set_price,
					       .ctx = b->config };
	_cleanup_(slurm_batch_freep) struct slurm_batch *doc = NULL;
	_cleanup_json_ json_t *json = json_loads(text, 0, NULL);
	struct store_slurm_result result;
	struct err err = { "" };

	exit_on_error(json ? slurm_batch_decode(json, &doc, &err) : -1, &err);
	exit_on_error(store_slurm_batch(b->s, doc, &from, &result, &err), &err);
	if (result.answer.n_changed != n) {
		printf("no figures: %" PRId64 " of %" PRId64 " rows were new\n",
		       result.answer.n_changed, n);
		exit(1);
	}
	store_slurm_result_done(&result);
}

int main(int argc, char **argv)
{
	struct bench b = { .now_ns = (FROM_S + YEAR_S) * S_NS,
			   .rows = calloc(BATCH, sizeof(*b.rows)),
			   .times = getenv("ENDED_TWICE") ? 2 : 1 };
	int64_t first, until, most, wall_ns = 0, cpu_ns = 0;
	struct err err = { "" };

	if (argc != 4 || !b.rows)
		return 64;
	first = strtoll(argv[2], NULL, 10);
	until = first + strtoll(argv[3], NULL, 10);
	exit_on_error(config_parse(policy, sizeof(policy) - 1, &b.config, &err), &err);
	exit_on_error(store_open(argv[1], &b.s, &err), &err);
	most = BATCH / b.times;
	for (int64_t at = first; at < until; at += most) {
		int64_t n = until - at < most ? until - at : most;
		_cleanup_free_ char *text = make_document(&b, at, n);
		int64_t from = clock_ns(CLOCK_MONOTONIC),
			cpu_from = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		take_document(&b, text, n);
		wall_ns += clock_ns(CLOCK_MONOTONIC) - from;
		cpu_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_from;
	}
	printf("%" PRId64 "\t%.2f\t%.0f\t%.1f\n", until - first, (double)wall_ns / 1e9,
	       (double)(until - first) / ((double)wall_ns / 1e9),
	       (double)cpu_ns / 1e3 / (double)(until - first));
	store_close(b.s);
	config_free(b.config);
	free(b.rows);
	return 0;
}
