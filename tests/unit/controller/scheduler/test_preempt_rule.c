/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_preempt_rule - the rule that suspends jobs, reckoned plainly as preempt.h words it, over random clusters: each pass of the
 * scheduler has the same actions in the same order, on the same nodes. No job gets a reservation here: one that would is removed.
 * REEVE_WORLDS=N: so many (default 400); REEVE_SEED=N: from that seed on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "controller/scheduler/preempt/preempt.h"
#include "controller/scheduler/schedule.h"

#define QUEUES 4
#define NODES_MAX 4
#define JOBS_MAX 40
#define PARTS_MAX 3
#define PASSES 60
#define ACTIONS_MAX 400
#define ATTEMPTS 8 /* at preempting, in a pass */

static const int64_t run_priority[QUEUES] = { 0, 10, -10, 0 };

struct plain_job {
	bool is_here, is_blocked, is_new;
	struct schedule_chunk chunk;
	struct schedule_job ask; /* with the times so far */
	enum schedule_state state;
	int32_t nodes[PARTS_MAX];
	int64_t since_s, cores;
};

/* By the numbers that the schedule gives its jobs. */
struct plain {
	int n_nodes;
	struct schedule_node nodes[NODES_MAX];
	int64_t cores[NODES_MAX], mem[NODES_MAX]; /* free */
	struct plain_job jobs[JOBS_MAX];
	struct schedule_action actions[ACTIONS_MAX];
	size_t n_actions;
	int32_t withdrawn[ACTIONS_MAX];
	size_t n_withdrawn;
	int attempts;
	bool is_counted;
	int64_t of_user[JOBS_MAX], of_group[JOBS_MAX]; /* running jobs, when first asked */
};

struct world {
	uint64_t random;
	struct schedule *s;
	struct plain p;
	int64_t now_s, id;
};

static int64_t pick_number(struct world *w, int64_t low, int64_t high)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return low + (int64_t)(w->random % (uint64_t)(high - low + 1));
}

/* ---- the rule, plainly ---- */

static void add_action(struct plain *p, enum schedule_what what, int32_t job, int32_t by)
{
	assert_true(p->n_actions < ACTIONS_MAX);
	p->actions[p->n_actions++] = (struct schedule_action){ what, job, by };
}

/* With cores, with memory, or both: sign 1 frees them. */
static void free_part(struct plain *p, const struct plain_job *j, int part, bool has_mem,
		      int sign)
{
	p->cores[j->nodes[part]] += sign * j->chunk.cores;
	p->mem[j->nodes[part]] += has_mem ? sign * j->chunk.mem_bytes : 0;
}

static void free_job(struct plain *p, const struct plain_job *j, bool has_mem, int sign)
{
	for (int i = 0; i < j->chunk.n; i++)
		free_part(p, j, i, has_mem, sign);
}

/* Each part goes to the node with the fewest free cores that has room, then to the first. */
static bool place_plainly(struct plain *p, struct plain_job *j)
{
	for (int part = 0; part < j->chunk.n; part++) {
		int best = -1;

		for (int i = 0; i < p->n_nodes; i++)
			if (p->cores[i] >= j->chunk.cores && p->mem[i] >= j->chunk.mem_bytes &&
			    (best < 0 || p->cores[i] < p->cores[best]))
				best = i;
		if (best < 0) {
			while (part > 0)
				free_part(p, j, --part, true, 1);
			return false;
		}
		j->nodes[part] = best;
		free_part(p, j, part, true, -1);
	}
	return true;
}

static struct preempt_job measure_job(const struct plain_job *j, int64_t now_s)
{
	struct preempt_job m = { .cores = j->cores,
				 .limit_s = j->ask.limit_s,
				 .ran_s = j->ask.ran_s,
				 .suspended_s = j->ask.suspended_s };
	int64_t began_s = now_s;

	if (j->state == SCHEDULE_RUNNING)
		m.ran_s += now_s - j->since_s;
	if (j->state == SCHEDULE_SUSPENDED)
		m.suspended_s += now_s - j->since_s;
	if (j->state != SCHEDULE_QUEUED)
		began_s -= m.ran_s + m.suspended_s;
	if (j->ask.overdue_since_s && began_s > j->ask.overdue_since_s)
		m.overdue_s = began_s - j->ask.overdue_since_s;
	return m;
}

static double xfactor_of(const struct plain_job *j, int64_t now_s)
{
	struct preempt_job m = measure_job(j, now_s);

	return preempt_xfactor(&m);
}

static bool has_cores(struct plain *p, const struct plain_job *j)
{
	bool has = true;

	free_job(p, j, false, -1);
	for (int i = 0; i < p->n_nodes; i++)
		has &= p->cores[i] >= 0;
	free_job(p, j, false, 1);
	return has;
}

static void resume_plainly(struct plain *p, int queue, int64_t now_s)
{
	bool is_tried[JOBS_MAX] = { false };

	for (;;) {
		int best = -1;

		for (int i = 0; i < JOBS_MAX; i++) {
			struct plain_job *j = &p->jobs[i];

			if (j->is_here && j->state == SCHEDULE_SUSPENDED && !is_tried[i] &&
			    j->ask.queue == queue &&
			    (best < 0 ||
			     xfactor_of(j, now_s) > xfactor_of(&p->jobs[best], now_s)))
				best = i;
		}
		if (best < 0)
			return;
		is_tried[best] = true;
		if (p->jobs[best].is_blocked || !has_cores(p, &p->jobs[best]))
			continue;
		free_job(p, &p->jobs[best], false, -1);
		p->jobs[best].ask.suspended_s += now_s - p->jobs[best].since_s;
		p->jobs[best].since_s = now_s;
		p->jobs[best].state = SCHEDULE_RUNNING;
		add_action(p, SCHEDULE_RESUME, best, -1);
	}
}

/* Was x submitted before y? */
static bool is_before(const struct plain_job *x, const struct plain_job *y)
{
	return x->ask.submit_s != y->ask.submit_s ? x->ask.submit_s < y->ask.submit_s
						  : x->ask.id < y->ask.id;
}

/* The cores of the jobs above it in its queue, of the same user or group. */
static int64_t count_above(const struct plain *p, const struct plain_job *j)
{
	int64_t sum = 0;

	for (int i = 0; i < JOBS_MAX; i++) {
		const struct plain_job *k = &p->jobs[i];

		if (k != j && k->is_here && k->ask.queue == j->ask.queue &&
		    (k->ask.user == j->ask.user || k->ask.group == j->ask.group) &&
		    (k->state != SCHEDULE_QUEUED || is_before(k, j)))
			sum += k->cores;
	}
	return sum;
}

/* Once a pass, when it is asked first. */
static void count_running(struct plain *p)
{
	for (int i = 0; i < JOBS_MAX && !p->is_counted; i++) {
		if (!p->jobs[i].is_here || p->jobs[i].state != SCHEDULE_RUNNING)
			continue;
		p->of_user[p->jobs[i].ask.user]++;
		p->of_group[p->jobs[i].ask.group]++;
	}
	p->is_counted = true;
}

static int64_t count_owner(const struct plain *p, const struct plain_job *j)
{
	int64_t u = p->of_user[j->ask.user], g = p->of_group[j->ask.group];

	return u > g ? u : g;
}

/* May `by` preempt the running job? *ret: in which order. */
static bool may_preempt(const struct plain *p, const struct plain_job *by,
			const struct plain_job *j, int64_t now_s, double *ret)
{
	int64_t own = run_priority[by->ask.queue], other = run_priority[j->ask.queue];
	struct preempt_job a = measure_job(by, now_s), b = measure_job(j, now_s);
	struct preempt_score score;

	a.n_running = count_owner(p, by);
	b.n_running = count_owner(p, j);
	if (j->is_new) /* its start is withdrawn: it loses no time */
		a.ran_s = a.limit_s;
	score = preempt_score(&a, &b);
	*ret = score.sum + (j->is_new ? 100 : 0);
	return !j->ask.is_protected && (other < own || (other == own && score.may_parallel));
}

struct plain_victim {
	int32_t job;
	double score;
};

static int list_victims(struct plain *p, const struct plain_job *by, int64_t now_s,
			struct plain_victim *ret)
{
	int n = 0;

	count_running(p);
	for (int i = 0; i < JOBS_MAX; i++) {
		struct plain_victim v = { .job = i };
		int at = n;

		if (!p->jobs[i].is_here || p->jobs[i].state != SCHEDULE_RUNNING ||
		    !may_preempt(p, by, &p->jobs[i], now_s, &v.score))
			continue;
		for (; at > 0 && ret[at - 1].score < v.score; at--)
			ret[at] = ret[at - 1];
		ret[at] = v;
		n++;
	}
	return n;
}

/* A freed victim runs on where it still has room beside the job. */
static bool runs_on(struct plain *p, const struct plain_job *j)
{
	bool has = has_cores(p, j);

	for (int i = 0; i < p->n_nodes && j->is_new; i++) {
		int64_t mem = p->mem[i];

		for (int part = 0; part < j->chunk.n; part++)
			mem -= j->nodes[part] == i ? j->chunk.mem_bytes : 0;
		has &= mem >= 0;
	}
	return has;
}

static void stop_victim(struct plain *p, int32_t job, int32_t by, int64_t now_s)
{
	struct plain_job *j = &p->jobs[job];
	size_t at = 0;

	if (!j->is_new) {
		j->ask.ran_s += now_s - j->since_s;
		j->since_s = now_s;
		j->state = SCHEDULE_SUSPENDED;
		add_action(p, SCHEDULE_SUSPEND, job, by);
		return;
	}
	while (p->actions[at].job != job || p->actions[at].what != SCHEDULE_START)
		at++;
	p->n_actions--;
	memmove(&p->actions[at], &p->actions[at + 1],
		(p->n_actions - at) * sizeof(*p->actions));
	p->withdrawn[p->n_withdrawn++] = job;
	j->state = SCHEDULE_QUEUED;
	j->is_new = false;
	if (!j->ask.overdue_since_s)
		j->ask.overdue_since_s = now_s;
}

static void start_plainly(struct plain *p, int32_t job, int64_t now_s, bool is_new)
{
	p->jobs[job].state = SCHEDULE_RUNNING;
	p->jobs[job].since_s = now_s;
	p->jobs[job].is_new = is_new;
	add_action(p, SCHEDULE_START, job, -1);
}

static void preempt_plainly(struct plain *p, int32_t job, int64_t now_s)
{
	struct plain_victim v[JOBS_MAX];
	int n = list_victims(p, &p->jobs[job], now_s, v), freed = 0;
	bool fits = false;

	while (!fits && freed < n) {
		free_job(p, &p->jobs[v[freed].job], p->jobs[v[freed].job].is_new, 1);
		freed++;
		fits = place_plainly(p, &p->jobs[job]);
	}
	while (freed-- > 0) {
		struct plain_job *j = &p->jobs[v[freed].job];

		if (!fits || runs_on(p, j))
			free_job(p, j, j->is_new, -1);
		else
			stop_victim(p, v[freed].job, job, now_s);
	}
	if (fits)
		start_plainly(p, job, now_s, false);
}

static int64_t most_free(const struct plain *p)
{
	int64_t most = -1;

	for (int i = 0; i < p->n_nodes; i++)
		most = p->cores[i] > most ? p->cores[i] : most;
	return most;
}

/* The smallest score first, then the first submitted. */
static int list_queue(const struct plain *p, int queue, int32_t *ret)
{
	int n = 0;

	for (int i = 0; i < JOBS_MAX; i++) {
		const struct plain_job *j = &p->jobs[i];
		int at = n;

		if (!j->is_here || j->state != SCHEDULE_QUEUED || j->ask.queue != queue)
			continue;
		for (; at > 0; at--) {
			const struct plain_job *k = &p->jobs[ret[at - 1]];
			int64_t x = count_above(p, j), y = count_above(p, k);

			if (x > y || (x == y && !is_before(j, k)))
				break;
			ret[at] = ret[at - 1];
		}
		ret[at] = i;
		n++;
	}
	return n;
}

static void run_queue(struct plain *p, int queue, int64_t now_s)
{
	int32_t order[JOBS_MAX];
	int n;

	resume_plainly(p, queue, now_s);
	n = list_queue(p, queue, order);
	for (int i = 0; i < n; i++) {
		struct plain_job *j = &p->jobs[order[i]];
		bool has_cores = j->chunk.cores <= most_free(p);

		if (j->is_blocked || (!has_cores && p->attempts >= ATTEMPTS))
			continue;
		if (place_plainly(p, j)) {
			start_plainly(p, order[i], now_s, true);
		} else if (p->attempts < ATTEMPTS) {
			p->attempts++;
			preempt_plainly(p, order[i], now_s);
		}
	}
}

static void run_plainly(struct plain *p, int64_t now_s)
{
	static const int by_priority[QUEUES] = { 1, 0, 3, 2 };

	p->n_actions = p->n_withdrawn = 0;
	p->attempts = 0;
	p->is_counted = false;
	memset(p->of_user, 0, sizeof(p->of_user));
	memset(p->of_group, 0, sizeof(p->of_group));
	for (int i = 0; i < QUEUES; i++)
		run_queue(p, by_priority[i], now_s);
	for (int i = 0; i < JOBS_MAX; i++)
		p->jobs[i].is_new = false;
}

/* ---- worlds ---- */

static void open_world(struct world *w, uint64_t seed)
{
	struct schedule_config c = { .rule = SCHEDULE_PREEMPT };

	*w = (struct world){ .random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1, .now_s = 1 };
	memcpy(c.run_priority, run_priority, sizeof(run_priority));
	for (int i = QUEUES; i < SCHEDULE_QUEUES_MAX; i++)
		c.run_priority[i] = -1000; /* unused */
	assert_int_equal(schedule_new(&c, &w->s), 0);
	w->p.n_nodes = (int)pick_number(w, 1, NODES_MAX);
	for (int i = 0; i < w->p.n_nodes; i++) {
		struct schedule_node *n = &w->p.nodes[i];

		*n = (struct schedule_node){ .cores = pick_number(w, 4, 32),
					     .mem_bytes = pick_number(w, 40, 200),
					     .is_open = true };
		if (seed % 8 == 0)
			n->cores += 600; /* more than the index of free cores tells apart */
		w->p.cores[i] = n->cores;
		w->p.mem[i] = n->mem_bytes;
		assert_int_equal(schedule_add_node(w->s, n), 0);
	}
}

static void add_job(struct world *w)
{
	bool is_small = pick_number(w, 0, 2) > 0;
	struct plain_job j = { .is_here = true };
	int32_t job;

	j.chunk = (struct schedule_chunk){ .cores = pick_number(w, 1, is_small ? 4 : 24),
					   .mem_bytes = pick_number(w, 1, 20),
					   .n = (int32_t)pick_number(w, 1, PARTS_MAX) };
	if (w->p.nodes[0].cores > 600)
		j.chunk.cores *= 40;
	j.cores = j.chunk.cores * j.chunk.n;
	j.ask = (struct schedule_job){ .id = ++w->id,
				       .queue = (int32_t)pick_number(w, 0, QUEUES - 1),
				       .user = (int32_t)pick_number(w, 0, 5),
				       .group = (int32_t)pick_number(w, 0, 3),
				       .n_chunks = 1,
				       .is_protected = pick_number(w, 0, 9) == 0,
				       .submit_s = w->now_s - pick_number(w, 0, 3),
				       .limit_s = is_small ? pick_number(w, 100, 3000)
							   : pick_number(w, 1, 200) };
	j.ask.chunks = &j.chunk;
	assert_int_equal(schedule_add(w->s, &j.ask, &job), 0);
	assert_true(job >= 0 && job < JOBS_MAX);
	j.is_blocked = pick_number(w, 0, 9) == 0;
	schedule_set_blocked(w->s, job, j.is_blocked);
	w->p.jobs[job] = j;
}

static void remove_job(struct world *w, int32_t job)
{
	struct plain_job *j = &w->p.jobs[job];

	for (int i = 0; i < j->chunk.n && j->state != SCHEDULE_QUEUED; i++) {
		w->p.cores[j->nodes[i]] += j->state == SCHEDULE_RUNNING ? j->chunk.cores : 0;
		w->p.mem[j->nodes[i]] += j->chunk.mem_bytes;
	}
	j->is_here = false;
	schedule_remove(w->s, job);
}

/* Time goes on, jobs end, some come; none is left that would get the reservation. */
static void change_world(struct world *w)
{
	int n = 0;

	w->now_s += pick_number(w, 0, 40);
	for (int i = 0; i < JOBS_MAX; i++) {
		struct plain_job *j = &w->p.jobs[i];

		if (!j->is_here)
			continue;
		if (pick_number(w, 0, 15) == 0 ||
		    (j->state == SCHEDULE_SUSPENDED &&
		     xfactor_of(j, w->now_s) > PREEMPT_PRESSING)) {
			remove_job(w, i);
			continue;
		}
		if (pick_number(w, 0, 9) == 0) {
			j->is_blocked = !j->is_blocked;
			schedule_set_blocked(w->s, i, j->is_blocked);
		}
		n++;
	}
	for (int64_t more = pick_number(w, 0, 6); more > 0 && n < JOBS_MAX; more--, n++)
		add_job(w);
}

static void assert_same_jobs(const struct world *w)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		const struct plain_job *j = &w->p.jobs[i];
		const int32_t *nodes;
		int32_t n;

		if (!j->is_here)
			continue;
		assert_int_equal(schedule_state(w->s, i), j->state);
		assert_int_equal(schedule_job(w->s, i)->overdue_since_s,
				 j->ask.overdue_since_s);
		nodes = schedule_nodes(w->s, i, &n);
		assert_int_equal(n, j->state == SCHEDULE_QUEUED ? 0 : j->chunk.n);
		if (n)
			assert_memory_equal(nodes, j->nodes, (size_t)n * sizeof(*nodes));
	}
}

struct seen {
	int resumed, suspended, withdrawn;
};

static void run_world(uint64_t seed, struct seen *seen)
{
	static struct world w; /* too large for the stack */

	open_world(&w, seed);
	for (int i = 0; i < PASSES; i++) {
		const struct schedule_action *a;
		const int32_t *withdrawn;
		size_t n;

		change_world(&w);
		run_plainly(&w.p, w.now_s);
		assert_int_equal(schedule_pass(w.s, w.now_s, &a, &n), 0);
		assert_int_equal(n, w.p.n_actions);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(a[k].what, w.p.actions[k].what);
			assert_int_equal(a[k].job, w.p.actions[k].job);
			assert_int_equal(a[k].by, w.p.actions[k].by);
			seen->resumed += a[k].what == SCHEDULE_RESUME;
			seen->suspended += a[k].what == SCHEDULE_SUSPEND;
		}
		withdrawn = schedule_withdrawn(w.s, &n);
		assert_int_equal(n, w.p.n_withdrawn);
		if (n)
			assert_memory_equal(withdrawn, w.p.withdrawn, n * sizeof(*withdrawn));
		seen->withdrawn += (int)n;
		assert_same_jobs(&w);
	}
	schedule_free(w.s);
}

static uint64_t read_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void each_pass_has_the_actions_of_the_plain_rule(void **state)
{
	uint64_t first = read_number("REEVE_SEED", 1), n = read_number("REEVE_WORLDS", 400);
	struct seen seen = { 0 };

	(void)state;
	for (uint64_t seed = first; seed < first + n; seed++)
		run_world(seed, &seen);
	/* All of them happened: the rule was put to a test. */
	assert_true(seen.resumed > 0 && seen.suspended > 0 && seen.withdrawn > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pass_has_the_actions_of_the_plain_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
