/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schedule.c - a schedule and its jobs: adds and removes them, keeps the queued ones in order, and
 * runs a pass by the rule of the schedule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

int schedule_new(const struct schedule_config *c, struct schedule **ret)
{
	struct schedule *s;

	if (c->rule < 0 || c->rule >= _SCHEDULE_RULE_MAX || c->reserve_after_s < 0)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *c;
	s->free_slot = -1;
	s->reservation.job = s->reservation.cached_job = -1;
	s->reservation.at_s = SCHEDULE_FOREVER;
	*ret = s;
	return 0;
}

static void clear_slot(struct job *j)
{
	if (j->nodes != &j->one_node)
		free(j->nodes);
	if (j->pub.chunks != &j->one)
		free((void *)j->pub.chunks);
	*j = (struct job){ 0 };
}

struct schedule *schedule_free(struct schedule *s)
{
	if (!s)
		return NULL;
	for (size_t b = 0; b < s->n_blocks; b++) {
		for (int i = 0; i < BLOCK; i++)
			clear_slot(&s->blocks[b][i]);
		free(s->blocks[b]);
	}
	free(s->blocks);
	free(s->nodes);
	free(s->gpus);
	free(s->bits);
	free(s->queued);
	free(s->running);
	free(s->suspended);
	free(s->reservation.spare);
	free(s->reservation.spare_of);
	free(s->reservation.full);
	free(s->reservation.trials);
	free(s->reservation.search.fits);
	free(s->actions);
	free(s->withdrawn);
	free(s->parts);
	preempt_free(s->preempt);
	free(s);
	return NULL;
}

/* ---- jobs ---- */

/* Adds a block of free slots. */
static int add_slots(struct schedule *s)
{
	struct job **blocks = realloc(s->blocks, (s->n_blocks + 1) * sizeof(*blocks));
	struct job *block;

	if (!blocks)
		return -ENOMEM;
	s->blocks = blocks;
	block = calloc(BLOCK, sizeof(*block));
	if (!block)
		return -ENOMEM;
	for (int i = BLOCK - 1; i >= 0; i--) {
		block[i].next_free = s->free_slot;
		s->free_slot = (int32_t)(s->n_blocks * BLOCK) + i;
	}
	s->blocks[s->n_blocks++] = block;
	return 0;
}

static bool is_valid_chunk(const struct schedule_chunk *c)
{
	return c->n > 0 && c->cores >= 0 && c->mem_bytes >= 0 && c->jobfs_bytes >= 0 &&
	       c->gpus >= 0 && c->model >= 0 && c->model < NODE_MODELS;
}

/* Sums up the chunks. -EINVAL: one is not valid, there is none, or a sum overflows. */
static int sum_chunks(struct job *j)
{
	int64_t parts = 0;

	for (int32_t i = 0; i < j->pub.n_chunks; i++) {
		const struct schedule_chunk *c = &j->pub.chunks[i];
		int64_t cores;

		if (!is_valid_chunk(c) ||
		    __builtin_mul_overflow(c->cores, (int64_t)c->n, &cores) ||
		    __builtin_add_overflow(j->cores, cores, &j->cores))
			return -EINVAL;
		parts += c->n;
		if (c->cores > j->most_cores)
			j->most_cores = c->cores;
	}
	j->n_parts = (int32_t)parts;
	return parts > 0 && parts <= INT32_MAX ? 0 : -EINVAL;
}

/* -EINVAL, -ENOMEM: the caller clears the slot. */
static int fill_slot(struct job *j, const struct schedule_job *from)
{
	struct schedule_chunk *own = &j->one;
	size_t size = (size_t)from->n_chunks * sizeof(*own);

	if (from->n_chunks < 1 || from->queue < 0 || from->queue >= SCHEDULE_QUEUES_MAX ||
	    from->limit_s < 0)
		return -EINVAL;
	if (from->n_chunks > 1)
		own = malloc(size);
	if (!own)
		return -ENOMEM;
	memcpy(own, from->chunks, size);
	j->pub = *from;
	j->pub.chunks = own;
	j->is_used = true;
	return sum_chunks(j);
}

/* Takes a free slot for a job, and makes room in s->parts for its placement. */
static int allocate_slot(struct schedule *s, const struct schedule_job *from, int32_t *ret)
{
	struct job *j;
	int32_t next;
	int r;

	if (s->free_slot < 0 && add_slots(s) < 0)
		return -ENOMEM;
	j = job_at(s, s->free_slot);
	next = j->next_free;
	*j = (struct job){ 0 };
	r = fill_slot(j, from);
	if (r == 0)
		r = schedule_reserve(&s->parts, &s->max_parts, (size_t)j->n_parts,
				     sizeof(*s->parts));
	if (r < 0) {
		clear_slot(j);
		j->next_free = next;
		return r;
	}
	*ret = s->free_slot;
	s->free_slot = next;
	s->n_jobs++;
	return 0;
}

void schedule_free_slot(struct schedule *s, int32_t job)
{
	struct job *j = job_at(s, job);

	clear_slot(j);
	j->next_free = s->free_slot;
	s->free_slot = job;
	s->n_jobs--;
}

/* ---- the order of queued jobs ---- */

/* SCHEDULE_PREEMPT shuffles its queues: priorities do not count there. */
int schedule_compare_queued(const struct schedule *s, int32_t x, int32_t y)
{
	const struct schedule_job *a = &job_at(s, x)->pub, *b = &job_at(s, y)->pub;

	if (a->priority != b->priority && s->config.rule != SCHEDULE_PREEMPT)
		return a->priority > b->priority ? -1 : 1;
	if (a->submit_s != b->submit_s)
		return a->submit_s < b->submit_s ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* For qsort_r(); ctx: the schedule. */
static int compare_entries(const void *a, const void *b, void *ctx)
{
	return schedule_compare_queued(ctx, ((const struct schedule_entry *)a)->job,
				       ((const struct schedule_entry *)b)->job);
}

void schedule_sort_entries(struct schedule *s, struct schedule_entry *entries, size_t n)
{
	size_t at = 1;

	while (at < n && compare_entries(&entries[at - 1], &entries[at], s) <= 0)
		at++;
	if (at < n)
		qsort_r(entries, n, sizeof(*entries), compare_entries, s);
}

void schedule_sort(struct schedule *s)
{
	if (s->is_unsorted)
		schedule_sort_entries(s, s->queued, s->n_queued);
	s->is_unsorted = false;
}

size_t schedule_bisect_queued(const struct schedule *s, size_t n, int32_t job)
{
	size_t low = 0;

	/* Most jobs are added behind all others. */
	if (n && schedule_compare_queued(s, s->queued[n - 1].job, job) < 0)
		return n;
	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (schedule_compare_queued(s, s->queued[mid].job, job) < 0)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

static size_t find_queued(const struct schedule *s, int32_t job)
{
	return schedule_bisect_queued(s, s->is_edited ? s->n_sorted : s->n_queued, job);
}

static void list_queued(struct schedule *s, int32_t job)
{
	const struct job *j = job_at(s, job);
	size_t at = s->is_unsorted || s->is_edited ? s->n_queued : find_queued(s, job);

	memmove(&s->queued[at + 1], &s->queued[at], (s->n_queued - at) * sizeof(*s->queued));
	s->queued[at] = (struct schedule_entry){
		.job = job,
		.most_cores = j->most_cores < INT32_MAX ? (int32_t)j->most_cores : INT32_MAX,
		.user = j->pub.user,
		.group = j->pub.group,
		.queue = j->pub.queue,
		.cores = j->cores,
	};
	s->n_queued++;
}

static void unlist_queued(struct schedule *s, int32_t job)
{
	size_t at = s->is_unsorted ? 0 : find_queued(s, job);

	while (s->queued[at].job != job)
		at++;
	s->n_queued--;
	memmove(&s->queued[at], &s->queued[at + 1], (s->n_queued - at) * sizeof(*s->queued));
}

/* In an edit. The slot stays until the end of the edit: the bisection compares other jobs with it. */
static void mark_gone(struct schedule *s, int32_t job)
{
	size_t at = find_queued(s, job);

	if (at >= s->n_sorted || s->queued[at].job != job)
		for (at = s->n_sorted; s->queued[at].job != job;)
			at++;
	s->queued[at].most_cores = ENTRY_GONE;
	s->n_gone++;
}

int schedule_add(struct schedule *s, const struct schedule_job *from, int32_t *ret)
{
	int r = 0;

	if (schedule_reserve(&s->queued, &s->max_queued, s->n_queued + 1, sizeof(*s->queued)) <
	    0)
		return -ENOMEM;
	r = allocate_slot(s, from, ret);
	if (r == 0)
		list_queued(s, *ret);
	return r;
}

static bool are_known_nodes(const struct schedule *s, const int32_t *nodes, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (nodes[i] < 0 || (size_t)nodes[i] >= s->n_nodes)
			return false;
	return true;
}

static int copy_nodes(struct schedule *s, struct job *j, const struct schedule_allocation *h)
{
	if (!are_known_nodes(s, h->nodes, j->n_parts))
		return -EINVAL;
	j->nodes = &j->one_node;
	if (j->n_parts > 1)
		j->nodes = malloc((size_t)j->n_parts * sizeof(*j->nodes));
	if (!j->nodes)
		return -ENOMEM;
	memcpy(j->nodes, h->nodes, (size_t)j->n_parts * sizeof(*j->nodes));
	j->state = h->state;
	j->since_s = h->since_s;
	j->end_s = h->since_s + j->pub.limit_s - j->pub.ran_s;
	return 0;
}

int schedule_add_allocated(struct schedule *s, const struct schedule_job *from,
			   const struct schedule_allocation *h, int32_t *ret)
{
	struct job *j;
	int r;

	if (h->state != SCHEDULE_RUNNING && h->state != SCHEDULE_SUSPENDED)
		return -EINVAL;
	r = allocate_slot(s, from, ret);
	if (r < 0)
		return r;
	j = job_at(s, *ret);
	r = copy_nodes(s, j, h);
	if (r == 0)
		r = h->state == SCHEDULE_RUNNING ? move_list_running(s, *ret)
						 : move_list_suspended(s, *ret);
	if (r < 0) {
		schedule_free_slot(s, *ret);
		return r;
	}
	node_allocate_job(s, j, h->state == SCHEDULE_RUNNING ? NODE_ALL : NODE_REST, 1);
	reservation_invalidate(s);
	return 0;
}

void schedule_remove(struct schedule *s, int32_t job)
{
	struct job *j = job_at(s, job);

	if (s->reservation.job == job)
		reservation_cancel(s);
	reservation_job_ended(s, job);
	if (j->state == SCHEDULE_QUEUED && s->is_edited) {
		mark_gone(s, job);
		return;
	}
	if (j->state == SCHEDULE_QUEUED) {
		unlist_queued(s, job);
	} else if (j->state == SCHEDULE_RUNNING) {
		move_unlist_running(s, job);
		node_allocate_job(s, j, NODE_ALL, -1);
	} else {
		move_unlist_suspended(s, job);
		node_allocate_job(s, j, NODE_REST, -1);
	}
	schedule_free_slot(s, job);
}

void schedule_set_priority(struct schedule *s, int32_t job, int64_t priority)
{
	struct job *j = job_at(s, job);

	if (j->pub.priority == priority)
		return;
	j->pub.priority = priority;
	s->is_unsorted |= j->state == SCHEDULE_QUEUED;
}

void schedule_set_blocked(struct schedule *s, int32_t job, bool is_blocked)
{
	job_at(s, job)->is_blocked = is_blocked;
}

/* ---- passes ---- */

/* Removes the jobs that have started from the list of queued ones. */
static void remove_started(struct schedule *s)
{
	size_t n = 0;

	if (s->n_actions == 0)
		return;
	for (size_t i = 0; i < s->n_queued; i++)
		if (job_at(s, s->queued[i].job)->state == SCHEDULE_QUEUED)
			s->queued[n++] = s->queued[i];
	s->n_queued = n;
	for (size_t i = 0; i < s->n_actions; i++)
		job_at(s, s->actions[i].job)->is_new = false;
}

void schedule_pass_begin(struct schedule *s, int64_t now_s)
{
	schedule_sort(s);
	shapes_forget(s);
	s->n_actions = s->n_withdrawn = 0;
	s->n_passes += s->n_passes == UINT32_MAX ? 2 : 1;
	s->pass = (struct schedule_progress){ .is_under_way = true,
					      .now_s = now_s,
					      .most = INT64_MAX };
	if (s->config.rule == SCHEDULE_PREEMPT)
		preempt_begin(s);
	else
		reservation_cancel(s);
}

void schedule_pass_drop(struct schedule *s)
{
	if (!s->pass.is_under_way)
		return;
	s->pass.is_under_way = s->reservation.search.is_under_way = false;
	remove_started(s);
}

int schedule_pass_go_on(struct schedule *s, const struct schedule_budget *b,
			const struct schedule_action **ret, size_t *ret_n)
{
	int r;

	s->budget = b ? *b : (struct schedule_budget){ 0 };
	s->asked_at = s->work;
	r = s->config.rule == SCHEDULE_PREEMPT ? preempt_pass(s) : backfill_pass(s);
	s->budget.has_time = NULL;
	*ret = s->actions;
	*ret_n = s->n_actions;
	if (r > 0)
		return 1;
	schedule_pass_drop(s);
	return r;
}

int schedule_pass(struct schedule *s, int64_t now_s, const struct schedule_action **ret,
		  size_t *ret_n)
{
	schedule_pass_begin(s, now_s);
	return schedule_pass_go_on(s, NULL, ret, ret_n);
}

uint64_t schedule_work(const struct schedule *s)
{
	return s->work;
}

const int32_t *schedule_withdrawn(const struct schedule *s, size_t *ret_n)
{
	*ret_n = s->n_withdrawn;
	return s->withdrawn;
}

/* ---- the present state of a job ---- */

enum schedule_state schedule_state(const struct schedule *s, int32_t job)
{
	return job_at(s, job)->state;
}

const struct schedule_job *schedule_job(const struct schedule *s, int32_t job)
{
	return &job_at(s, job)->pub;
}

const int32_t *schedule_nodes(const struct schedule *s, int32_t job, int32_t *ret_n)
{
	const struct job *j = job_at(s, job);

	*ret_n = j->nodes ? j->n_parts : 0;
	return j->nodes;
}

int64_t schedule_ran_s(const struct schedule *s, int32_t job, int64_t now_s)
{
	const struct job *j = job_at(s, job);

	return j->pub.ran_s + (j->state == SCHEDULE_RUNNING ? now_s - j->since_s : 0);
}

int64_t schedule_suspended_s(const struct schedule *s, int32_t job, int64_t now_s)
{
	const struct job *j = job_at(s, job);

	return j->pub.suspended_s + (j->state == SCHEDULE_SUSPENDED ? now_s - j->since_s : 0);
}
