/* SPDX-License-Identifier: GPL-2.0-or-later */
/* same.c - compares two schedules: a check that the schedule which follows the ledger is the one that
 * a fresh reading gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

static bool is_same_node(const struct schedule *a, const struct schedule *b, size_t i)
{
	const struct node *x = &a->nodes[i], *y = &b->nodes[i];

	return x->cores == y->cores && x->mem_bytes == y->mem_bytes &&
	       x->jobfs_bytes == y->jobfs_bytes && x->free_cores == y->free_cores &&
	       x->free_mem == y->free_mem && x->free_jobfs == y->free_jobfs &&
	       x->closed_from_s == y->closed_from_s && x->features == y->features &&
	       x->n_parts == y->n_parts && x->n_whole == y->n_whole && x->bucket == y->bucket &&
	       x->indexed == y->indexed && x->is_open == y->is_open &&
	       (x->gpus < 0) == (y->gpus < 0) &&
	       (x->gpus < 0 ||
		memcmp(&a->gpus[x->gpus], &b->gpus[y->gpus], sizeof(*a->gpus)) == 0);
}

static bool is_same_chunk(const struct schedule_chunk *a, const struct schedule_chunk *b)
{
	return a->cores == b->cores && a->mem_bytes == b->mem_bytes &&
	       a->jobfs_bytes == b->jobfs_bytes && a->gpus == b->gpus && a->model == b->model &&
	       a->n == b->n;
}

static bool is_same_request(const struct schedule_job *a, const struct schedule_job *b)
{
	if (a->id != b->id || a->queue != b->queue || a->user != b->user ||
	    a->group != b->group || a->features != b->features ||
	    a->is_exclusive != b->is_exclusive || a->is_scattered != b->is_scattered ||
	    a->is_protected != b->is_protected || a->priority != b->priority ||
	    a->submit_s != b->submit_s || a->limit_s != b->limit_s || a->ran_s != b->ran_s ||
	    a->suspended_s != b->suspended_s || a->overdue_since_s != b->overdue_since_s ||
	    a->n_chunks != b->n_chunks)
		return false;
	for (int32_t i = 0; i < a->n_chunks; i++)
		if (!is_same_chunk(&a->chunks[i], &b->chunks[i]))
			return false;
	return true;
}

static bool is_same_job(const struct job *a, const struct job *b)
{
	return is_same_request(&a->pub, &b->pub) && a->state == b->state &&
	       a->is_blocked == b->is_blocked && a->n_parts == b->n_parts &&
	       !a->nodes == !b->nodes &&
	       (!a->nodes ||
		memcmp(a->nodes, b->nodes, (size_t)a->n_parts * sizeof(*a->nodes)) == 0) &&
	       (a->state == SCHEDULE_QUEUED ||
		(a->since_s == b->since_s && a->end_s == b->end_s));
}

static int compare_ids(const void *a, const void *b)
{
	const struct job *x = *(const struct job *const *)a, *y = *(const struct job *const *)b;

	if (x->pub.id != y->pub.id)
		return x->pub.id < y->pub.id ? -1 : 1;
	/* Two attempts of one job: by what tells them apart. */
	return memcmp(&x->n_parts, &y->n_parts, sizeof(x->n_parts));
}

/* The jobs of a list, sorted by id; malloc()ed. NULL: out of memory. */
static const struct job **list_by_id(const struct schedule *s, const int32_t *list, size_t n)
{
	const struct job **jobs = calloc(n + 1, sizeof(*jobs));

	for (size_t i = 0; jobs && i < n; i++)
		jobs[i] = job_at(s, list[i]);
	if (jobs && n)
		qsort(jobs, n, sizeof(*jobs), compare_ids);
	return jobs;
}

struct difference {
	char *text;
	size_t size;
};

static bool describe_difference(const struct difference *d, const char *what, int64_t id)
{
	snprintf(d->text, d->size, "%s %lld", what, (long long)id);
	return false;
}

static bool are_same_lists(const struct job **a, const struct job **b, size_t n,
			   const struct difference *d)
{
	for (size_t i = 0; a && b && i < n; i++)
		if (!is_same_job(a[i], b[i]))
			return describe_difference(d, "job", a[i]->pub.id);
	return true;
}

struct list {
	const int32_t *jobs;
	size_t n;
};

static bool is_same_list(const struct schedule *a, const struct list *la,
			 const struct schedule *b, const struct list *lb,
			 const struct difference *d)
{
	const struct job **x, **y;
	bool is_same;

	if (la->n != lb->n)
		return describe_difference(d, "not so many jobs on nodes as", (int64_t)lb->n);
	x = list_by_id(a, la->jobs, la->n);
	y = list_by_id(b, lb->jobs, lb->n);
	is_same = are_same_lists(x, y, la->n, d);
	free(x);
	free(y);
	return is_same;
}

static bool is_same_queue(const struct schedule *a, const struct schedule *b,
			  const struct difference *d)
{
	if (a->n_queued != b->n_queued)
		return describe_difference(d, "not so many queued jobs as",
					   (int64_t)b->n_queued);
	for (size_t i = 0; i < a->n_queued; i++) {
		const struct schedule_entry *x = &a->queued[i], *y = &b->queued[i];

		if (!is_same_job(job_at(a, x->job), job_at(b, y->job)) ||
		    x->most_cores != y->most_cores || x->cores != y->cores)
			return describe_difference(d, "queued job", job_at(b, y->job)->pub.id);
	}
	return true;
}

bool schedule_is_same(const struct schedule *a, const struct schedule *b, char *ret,
		      size_t size)
{
	const struct difference d = { ret, size };

	if (a->n_nodes != b->n_nodes)
		return describe_difference(&d, "not so many nodes as", (int64_t)b->n_nodes);
	for (size_t i = 0; i < a->n_nodes; i++)
		if (!is_same_node(a, b, i))
			return describe_difference(&d, "node number", (int64_t)i);
	return is_same_queue(a, b, &d) &&
	       is_same_list(a, &(struct list){ a->running, a->n_running }, b,
			    &(struct list){ b->running, b->n_running }, &d) &&
	       is_same_list(a, &(struct list){ a->suspended, a->n_suspended }, b,
			    &(struct list){ b->suspended, b->n_suspended }, &d);
}
