/* SPDX-License-Identifier: GPL-2.0-or-later */
/* placed.c - reads the jobs that are allocated to nodes, and mends the list by what has changed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/dispatch/order.h"
#include "controller/dispatch/cluster/placed.h"

void placed_done(struct placed *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->jobs[i].parts);
	free(p->jobs);
	*p = (struct placed){ 0 };
}

size_t placed_find(const struct placed *p, int64_t job)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->jobs[mid].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ---- reading ---- */

struct reading {
	const struct placed_ask *ask;
	struct placed *to;
};

static struct placed_part make_part(const struct resources *share, int32_t node)
{
	return (struct placed_part){ .chunk = { .cores = share->ncpus,
						.mem_bytes = fit_memory(share),
						.jobfs_bytes = share->jobfs_bytes,
						.gpus = (int32_t)share->ngpus,
						.n = 1 },
				     .node = node };
}

static int read_parts(const struct placed_ask *a, const struct store_allocated *p,
		      struct placed_job *ret)
{
	ret->parts = calloc(p->n_parts, sizeof(*ret->parts));
	if (!ret->parts)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_parts; i++) {
		int32_t node = names_number(a->nodes, p->parts[i].node);

		ret->parts[i] = make_part(&p->parts[i].share, node);
		ret->parts[i].frees_cores = p->parts[i].frees_cores;
		if (node < 0)
			return -ENOMEM;
	}
	ret->n_parts = (int32_t)p->n_parts;
	return 0;
}

static int read_one(const struct placed_ask *a, const struct store_allocated *p,
		    struct placed_job *ret)
{
	ret->one = make_part(&p->want, names_number(a->nodes, p->node));
	ret->one.frees_cores = p->state == JOB_SUSPENDED && p->desired == DESIRED_SUSPEND;
	ret->n_parts = 1;
	return ret->one.node < 0 ? -ENOMEM : 0;
}

static int read_job(const struct placed_ask *a, const struct store_allocated *p,
		    struct placed_job *ret)
{
	bool has_model = p->want.ngpus && *p->want.gpu_model;

	*ret = (struct placed_job){
		.job = p->job,
		.number = -1,
		.user = names_number(a->users, p->user),
		.account = names_number(a->accounts, p->account),
		.queue = order_queue(a->config, p->queue),
		.model = has_model ? names_number(a->models, p->want.gpu_model) : -1,
		.state = p->state,
		.desired = p->desired,
		.is_exclusive = p->is_exclusive,
		.is_several = p->n_parts > 0,
		.preempted_by = p->preempted_by,
		.submitted_ns = p->submitted_ns,
		.due_ns = p->due_ns,
		.at_ns = p->at_ns,
		.running_ns = p->running_ns,
		.suspended_ns = p->suspended_ns,
		.limit_s = p->want.walltime_s ? p->want.walltime_s : PLACED_NO_LIMIT_S
	};
	if (ret->user < 0 || ret->account < 0 || (has_model && ret->model < 0))
		return -ENOMEM;
	return p->n_parts ? read_parts(a, p, ret) : read_one(a, p, ret);
}

static int make_room(struct placed *p, size_t n)
{
	size_t larger = p->room ? p->room : 64;
	struct placed_job *jobs;

	if (n <= p->room)
		return 0;
	while (larger < n)
		larger *= 2;
	jobs = realloc(p->jobs, larger * sizeof(*jobs));
	if (!jobs)
		return -ENOMEM;
	p->jobs = jobs;
	p->room = larger;
	return 0;
}

static int add_row(void *ctx, const struct store_allocated *p, struct err *err)
{
	struct reading *x = ctx;
	int r = make_room(x->to, x->to->n + 1);

	/* Counted also where it fails, so that it is freed. */
	if (r == 0)
		r = read_job(x->ask, p, &x->to->jobs[x->to->n++]);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

int placed_make(const struct placed_ask *a, struct placed *ret, struct err *err)
{
	struct reading x = { a, ret };

	*ret = (struct placed){ 0 };
	return store_allocated(a->store, a->cluster, add_row, &x, err);
}

/* ---- keeping ---- */

/* Frees the rows of the changed jobs and closes the gaps. */
static void remove_rows(struct placed *p, const struct store_changes *since)
{
	size_t to, from;

	if (since->n == 0)
		return;
	to = from = placed_find(p, since->jobs[0]);
	for (size_t k = 0; k < since->n && from < p->n; k++) {
		size_t next = placed_find(p, since->jobs[k]);

		if (to != from)
			memmove(&p->jobs[to], &p->jobs[from], (next - from) * sizeof(*p->jobs));
		to += next - from;
		for (from = next; from < p->n && p->jobs[from].job == since->jobs[k];)
			free(p->jobs[from++].parts);
	}
	if (to != from)
		memmove(&p->jobs[to], &p->jobs[from], (p->n - from) * sizeof(*p->jobs));
	p->n -= from - to;
}

/* From the end on. There is room. */
static void insert_rows(struct placed *p, const struct placed *new)
{
	size_t to = p->n + new->n, from = p->n, k = new->n;

	while (k > 0) {
		size_t at = placed_find(p, new->jobs[k - 1].job);

		to -= from - at;
		memmove(&p->jobs[to], &p->jobs[at], (from - at) * sizeof(*p->jobs));
		from = at;
		for (int64_t job = new->jobs[k - 1].job; k > 0 && new->jobs[k - 1].job == job;)
			p->jobs[--to] = new->jobs[--k];
	}
	p->n += new->n;
}

int placed_update(const struct placed_ask *a, const struct store_changes *since,
		  struct placed *p, struct err *err)
{
	const struct store_these these = { a->cluster, since->jobs, since->n };
	struct placed new = { 0 };
	struct reading x = { a, &new };
	int r = store_allocated_these(a->store, &these, add_row, &x, err);

	if (r >= 0 && make_room(p, p->n + new.n) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		placed_done(&new);
		return r;
	}
	remove_rows(p, since);
	insert_rows(p, &new);
	free(new.jobs); /* their parts are with the others now */
	return 0;
}
