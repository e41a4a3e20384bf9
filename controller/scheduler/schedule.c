/* schedule.c - the jobs of a schedule and its passes. See schedule.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/scheduler/schedule_impl.h"

int schedule_new(const struct schedule_config *c, struct schedule **ret)
{
	struct schedule *s;

	if (c->rule < 0 || c->rule >= _SCHEDULE_RULE_MAX || c->late_s < 0)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *c;
	s->free_slot = -1;
	s->kept.job = s->kept.known = -1;
	s->kept.at_s = SCHEDULE_FOREVER;
	*ret = s;
	return 0;
}

static void drop(struct job *j)
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
			drop(&s->blocks[b][i]);
		free(s->blocks[b]);
	}
	free(s->blocks);
	free(s->nodes);
	free(s->gpus);
	free(s->bits);
	free(s->queued);
	free(s->running);
	free(s->suspended);
	free(s->kept.extras);
	free(s->kept.of_node);
	free(s->kept.full);
	free(s->kept.puts);
	free(s->actions);
	free(s->withdrawn);
	free(s->parts);
	preempt_free(s->preempt);
	free(s);
	return NULL;
}

/* ---- jobs ---- */

static int more_slots(struct schedule *s)
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

static bool is_chunk(const struct schedule_chunk *c)
{
	return c->n > 0 && c->cores >= 0 && c->mem_bytes >= 0 && c->jobfs_bytes >= 0 &&
	       c->gpus >= 0 && c->model >= 0 && c->model < MODELS;
}

/* Sums, and whether they can be had. */
static int measure(struct job *j)
{
	int64_t parts = 0;

	for (int32_t i = 0; i < j->pub.n_chunks; i++) {
		const struct schedule_chunk *c = &j->pub.chunks[i];
		int64_t cores;

		if (!is_chunk(c) || __builtin_mul_overflow(c->cores, (int64_t)c->n, &cores) ||
		    __builtin_add_overflow(j->cores, cores, &j->cores))
			return -EINVAL;
		parts += c->n;
		if (c->cores > j->most_cores)
			j->most_cores = c->cores;
	}
	j->n_parts = (int32_t)parts;
	return parts > 0 && parts <= INT32_MAX ? 0 : -EINVAL;
}

static int fill(struct job *j, const struct schedule_job *from)
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
	return measure(j);
}

static int take_slot(struct schedule *s, const struct schedule_job *from, int32_t *ret)
{
	struct job *j;
	int32_t next;
	int r;

	if (s->free_slot < 0 && more_slots(s) < 0)
		return -ENOMEM;
	j = job_at(s, s->free_slot);
	next = j->next_free;
	*j = (struct job){ 0 };
	r = fill(j, from);
	if (r == 0)
		r = schedule_room(&s->parts, &s->max_parts, (size_t)j->n_parts,
				  sizeof(*s->parts));
	if (r < 0) {
		drop(j);
		j->next_free = next;
		return r;
	}
	*ret = s->free_slot;
	s->free_slot = next;
	s->n_jobs++;
	return 0;
}

void schedule_give_slot(struct schedule *s, int32_t job)
{
	struct job *j = job_at(s, job);

	drop(j);
	j->next_free = s->free_slot;
	s->free_slot = job;
	s->n_jobs--;
}

/* ---- the order of those that wait ---- */

int schedule_compare_queued(const struct schedule *s, int32_t x, int32_t y)
{
	const struct schedule_job *a = &job_at(s, x)->pub, *b = &job_at(s, y)->pub;

	if (a->priority != b->priority && s->config.rule != SCHEDULE_PREEMPT)
		return a->priority > b->priority ? -1 : 1;
	if (a->submit_s != b->submit_s)
		return a->submit_s < b->submit_s ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int compare_entries(const void *a, const void *b, void *ctx)
{
	return schedule_compare_queued(ctx, ((const struct entry *)a)->job,
				       ((const struct entry *)b)->job);
}

void schedule_sort(struct schedule *s)
{
	if (s->is_unsorted && s->n_queued)
		qsort_r(s->queued, s->n_queued, sizeof(*s->queued), compare_entries, s);
	s->is_unsorted = false;
}

/* Most come last. */
size_t schedule_find_queued(const struct schedule *s, int32_t job)
{
	size_t low = 0, high = s->is_edited ? s->n_sorted : s->n_queued;

	if (high && schedule_compare_queued(s, s->queued[high - 1].job, job) < 0)
		return high;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (schedule_compare_queued(s, s->queued[mid].job, job) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void list_queued(struct schedule *s, int32_t job)
{
	const struct job *j = job_at(s, job);
	size_t at = s->is_unsorted || s->is_edited ? s->n_queued : schedule_find_queued(s, job);

	memmove(&s->queued[at + 1], &s->queued[at], (s->n_queued - at) * sizeof(*s->queued));
	s->queued[at] = (struct entry){
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
	size_t at = s->is_unsorted ? 0 : schedule_find_queued(s, job);

	while (s->queued[at].job != job)
		at++;
	s->n_queued--;
	memmove(&s->queued[at], &s->queued[at + 1], (s->n_queued - at) * sizeof(*s->queued));
}

/* In an edit. Its slot stays until the end of the edit: what is before and behind it is found by it. */
static void mark_gone(struct schedule *s, int32_t job)
{
	size_t at = schedule_find_queued(s, job);

	if (at >= s->n_sorted || s->queued[at].job != job)
		for (at = s->n_sorted; s->queued[at].job != job;)
			at++;
	s->queued[at].most_cores = ENTRY_GONE;
	s->n_gone++;
}

int schedule_add(struct schedule *s, const struct schedule_job *from, int32_t *ret)
{
	int r = 0;

	if (schedule_room(&s->queued, &s->max_queued, s->n_queued + 1, sizeof(*s->queued)) < 0)
		return -ENOMEM;
	r = take_slot(s, from, ret);
	if (r == 0)
		list_queued(s, *ret);
	return r;
}

static bool are_nodes(const struct schedule *s, const int32_t *nodes, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (nodes[i] < 0 || (size_t)nodes[i] >= s->n_nodes)
			return false;
	return true;
}

static int take_nodes(struct schedule *s, struct job *j, const struct schedule_held *h)
{
	if (!are_nodes(s, h->nodes, j->n_parts))
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

int schedule_add_held(struct schedule *s, const struct schedule_job *from,
		      const struct schedule_held *h, int32_t *ret)
{
	struct job *j;
	int r;

	if (h->state != SCHEDULE_RUNNING && h->state != SCHEDULE_SUSPENDED)
		return -EINVAL;
	r = take_slot(s, from, ret);
	if (r < 0)
		return r;
	j = job_at(s, *ret);
	r = take_nodes(s, j, h);
	if (r == 0)
		r = h->state == SCHEDULE_RUNNING ? move_list_running(s, *ret)
						 : move_list_suspended(s, *ret);
	if (r < 0) {
		schedule_give_slot(s, *ret);
		return r;
	}
	job_hold(s, j, h->state == SCHEDULE_RUNNING ? HOLD_ALL : HOLD_REST, 1);
	keep_forget(s);
	return 0;
}

void schedule_remove(struct schedule *s, int32_t job)
{
	struct job *j = job_at(s, job);

	if (s->kept.job == job)
		keep_nothing(s);
	keep_ends(s, job);
	if (j->state == SCHEDULE_QUEUED && s->is_edited) {
		mark_gone(s, job);
		return;
	}
	if (j->state == SCHEDULE_QUEUED) {
		unlist_queued(s, job);
	} else if (j->state == SCHEDULE_RUNNING) {
		move_unlist_running(s, job);
		job_hold(s, j, HOLD_ALL, -1);
	} else {
		move_unlist_suspended(s, job);
		job_hold(s, j, HOLD_REST, -1);
	}
	schedule_give_slot(s, job);
}

void schedule_set_priority(struct schedule *s, int32_t job, int64_t priority)
{
	struct job *j = job_at(s, job);

	if (j->pub.priority == priority)
		return;
	j->pub.priority = priority;
	s->is_unsorted |= j->state == SCHEDULE_QUEUED;
}

void schedule_set_held_back(struct schedule *s, int32_t job, bool is_held_back)
{
	job_at(s, job)->is_held_back = is_held_back;
}

/* ---- passes ---- */

/* Those that started wait no more. */
static void close_gaps(struct schedule *s)
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

int schedule_pass(struct schedule *s, int64_t now_s, const struct schedule_action **ret,
		  size_t *ret_n)
{
	int r;

	schedule_sort(s);
	s->n_actions = s->n_shapes = s->n_withdrawn = 0;
	s->n_passes += s->n_passes == UINT32_MAX ? 2 : 1;
	r = s->config.rule == SCHEDULE_PREEMPT ? preempt_pass(s, now_s)
					       : backfill_pass(s, now_s);
	close_gaps(s);
	*ret = s->actions;
	*ret_n = s->n_actions;
	return r;
}

const int32_t *schedule_withdrawn(const struct schedule *s, size_t *ret_n)
{
	*ret_n = s->n_withdrawn;
	return s->withdrawn;
}

/* ---- what became of a job ---- */

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
