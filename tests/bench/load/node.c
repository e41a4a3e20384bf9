/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node.c - see node.h. Documents are encoded and decoded by the agent's own functions (common/wire). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/model/series/series.h"
#include "common/version.h"
#include "common/wire/sync.h"
#include "common/wire/sync_answer.h"
#include "common/wire/wire.h"
#include "tests/bench/load/node.h"

#ifndef SAMPLE_MS
#define SAMPLE_MS 10000 /* SampleInterval */
#endif
#define SERIES_SEND_NS (60 * S_NS) /* agent/job/series/sample.h */
#define MIB (INT64_C(1) << 20)

void node_init(struct node *n, int number, int64_t cores)
{
	*n = (struct node){ .cores = cores };
	snprintf(n->name, sizeof(n->name), "n%05d", number);
}

/* Between 0 and `most`, of this job at this time: figures that grow and differ, and are the same when they are made again. */
static int64_t vary_figure(const struct node_job *j, int64_t at, int64_t most)
{
	uint64_t x = (uint64_t)j->job * 0x9e3779b97f4a7c15ULL + (uint64_t)at;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 32;
	return (int64_t)(x % (uint64_t)most);
}

/* ---- what a job has used ---- */

static void fill_usage(const struct node_job *j, struct usage *u)
{
	int64_t cpu_ns = j->running_ns / 100 * (60 + j->job % 40), tick = j->running_ns / S_NS,
		rss = (200 + j->job % 800) * MIB + vary_figure(j, tick, 50 * MIB);
	const struct {
		int64_t *field, value;
	} figures[] = {
		{ &u->cpu_ns, cpu_ns },
		{ &u->cpu_user_ns, cpu_ns / 10 * 9 },
		{ &u->cpu_system_ns, cpu_ns / 10 },
		{ &u->run_delay_ns, cpu_ns / 1000 },
		{ &u->vmem_bytes, rss * 2 },
		{ &u->vmem_peak_bytes, (1000 + j->job % 800) * 2 * MIB },
		{ &u->mem_bytes, rss + 30 * MIB },
		{ &u->mem_peak_bytes, (1100 + j->job % 800) * MIB },
		{ &u->rss_bytes, rss },
		{ &u->rss_peak_bytes, (1000 + j->job % 800) * MIB },
		{ &u->anon_bytes, rss - 20 * MIB },
		{ &u->file_bytes, 50 * MIB },
		{ &u->shmem_bytes, 4096 },
		{ &u->minor_faults, 50000 + tick * 30 },
		{ &u->major_faults, j->job % 20 },
		{ &u->read_bytes, 100 * MIB + tick * 8192 },
		{ &u->write_bytes, tick * 65536 },
		{ &u->procs, 3 },
		{ &u->procs_peak, 5 },
		{ &u->jobfs_bytes, 10 * MIB + tick * 4096 },
		{ &u->jobfs_peak_bytes, 10 * MIB + tick * 4096 },
	};

	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		usage_set(u, figures[i].field, figures[i].value);
}

/* All samples since the start: cheaper for 100,000 jobs than keeping the points of each. */
static int add_series(struct node_job *j, struct report *r)
{
	struct series s;
	int64_t elapsed_ms = j->running_ns / MS_NS, at;

	series_init(&s, SAMPLE_MS);
	for (at = SAMPLE_MS; at <= elapsed_ms; at += SAMPLE_MS) {
		const struct series_sample x = {
			.elapsed_ms = at,
			.value = { [SERIES_CPU_MS] = at / 100 * (60 + j->job % 40),
				   [SERIES_MEM_KIB] = 200000 + vary_figure(j, at, 50000),
				   [SERIES_VMEM_KIB] = 400000 + vary_figure(j, at, 90000),
				   [SERIES_JOBFS_KIB] = 10240 + at / 1000 * 4,
				   [SERIES_GPU_BUSY_MS] = SERIES_NONE,
				   [SERIES_GPU_MEM_KIB] = SERIES_NONE,
				   [SERIES_SUSPENDED_MS] = SERIES_NONE }
		};

		if (series_add(&s, &x) < 0)
			break;
	}
	if (at > SAMPLE_MS && (r->series = malloc(SERIES_BYTES_MAX)))
		r->series_size = series_encode(&s, r->series);
	series_done(&s);
	return at > SAMPLE_MS && !r->series ? -ENOMEM : 0;
}

static int make_report(struct node_job *j, int core, struct report *r)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	j->seq++;
	j->running_ns = now_ns - j->start_ns;
	*r = (struct report){ .job = j->job,
			      .attempt = j->attempt,
			      .seq = j->seq,
			      .at_ns = clock_ns(CLOCK_REALTIME),
			      .state = JOB_RUNNING,
			      .started_ns = j->started_ns,
			      .running_ns = j->running_ns };
	snprintf(r->cpus, sizeof(r->cpus), "%d", core);
	fill_usage(j, &r->usage);
	r->usage.cores[r->usage.n_cores++] = (struct usage_core){ core, r->usage.cpu_ns };
	if (j->series_sent_ns && now_ns - j->series_sent_ns < SERIES_SEND_NS)
		return 0;
	if (j->running_ns >= SAMPLE_MS * MS_NS)
		j->series_sent_ns = now_ns;
	return add_series(j, r);
}

/* ---- the request ---- */

static int format_document(const struct sync *s, struct http_buffer *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	int r = sync_encode(s, &doc, err);

	if (r < 0)
		return r;
	ret->data = wire_format_whole(doc, &ret->size);
	return ret->data ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int node_describe(struct node *n, int64_t number, bool has_reports, struct http_buffer *ret,
		  struct err *err)
{
	size_t n_jobs = (size_t)n->n_jobs;
	_cleanup_free_ struct report *reports =
		calloc(has_reports ? n_jobs + 1 : 1, sizeof(*reports));
	_cleanup_free_ struct sync_job *jobs = calloc(n_jobs + 1, sizeof(*jobs));
	struct sync s = { .boot = "b1",
			  .version = REEVE_VERSION,
			  .topology = "1 socket, 1 NUMA node, 10 cores, 10 threads",
			  .number = number,
			  .tier = 1,
			  .capacity = { n->cores, n->cores << 34, n->cores << 34, 0 },
			  .free = { n->cores - n->n_jobs, 1 << 30, 1 << 30, 0 },
			  .jobs = jobs,
			  .n_jobs = n_jobs,
			  .reports = reports,
			  .n_reports = has_reports ? n_jobs : 0 };
	int r = reports && jobs ? 0 : err_set(err, -ENOMEM, "out of memory");

	strcpy(s.node, n->name);
	for (size_t i = 0; i < n_jobs && r >= 0; i++) {
		jobs[i] = (struct sync_job){ n->jobs[i].job, n->jobs[i].attempt, JOB_RUNNING };
		if (has_reports && make_report(&n->jobs[i], (int)i, &reports[i]) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	if (r >= 0)
		r = format_document(&s, ret, err);
	for (size_t i = 0; i < s.n_reports && reports; i++)
		free(reports[i].series);
	return r;
}

/* ---- the answer ---- */

static struct node_job *find_job(struct node *n, int64_t job, int32_t attempt)
{
	for (int i = 0; i < n->n_jobs; i++)
		if (n->jobs[i].job == job && n->jobs[i].attempt == attempt)
			return &n->jobs[i];
	return NULL;
}

static int take_job(struct node *n, const struct sync_desired_job *d)
{
	struct node_job *more = realloc(n->jobs, ((size_t)n->n_jobs + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	n->jobs = more;
	n->jobs[n->n_jobs++] = (struct node_job){ .job = d->job,
						  .attempt = d->attempt,
						  .start_ns = clock_ns(CLOCK_MONOTONIC),
						  .started_ns = clock_ns(CLOCK_REALTIME) };
	return 0;
}

/* An acknowledgement of what was never reported is a fault of the controller. */
static int take_acks(struct node *n, const struct sync_answer *a, struct err *err)
{
	for (size_t i = 0; i < a->n_acks; i++) {
		const struct sync_ack *k = &a->acks[i];
		struct node_job *j = find_job(n, k->job, k->attempt);

		if (!j || k->seq > j->seq)
			return err_set(err, -EPROTO, "job %lld: seq %lld was never sent",
				       (long long)k->job, (long long)k->seq);
		if (k->seq < j->seq)
			continue;
		j->acked_seq = k->seq;
		j->acked_running_ns = j->running_ns;
	}
	return 0;
}

int node_take(struct node *n, const json_t *answer, struct node_taken *ret, struct err *err)
{
	struct sync_answer a;
	int r = sync_answer_decode(answer, &a, err);

	*ret = (struct node_taken){ 0 };
	if (r < 0)
		return r;
	r = take_acks(n, &a, err);
	ret->n_acks = (int)a.n_acks;
	ret->n_refused = (int)a.n_refusals;
	for (size_t i = 0; i < a.n_jobs && r >= 0; i++) {
		if (a.jobs[i].want != DESIRED_RUN)
			ret->n_refused++;
		else if (a.jobs[i].request && !find_job(n, a.jobs[i].job, a.jobs[i].attempt)) {
			r = take_job(n, &a.jobs[i]);
			ret->n_jobs++;
		}
	}
	sync_answer_done(&a);
	return r < 0 && !*err->text ? err_set(err, r, "out of memory") : r;
}
