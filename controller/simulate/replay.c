/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay.c - replays a trace: processes events in the order of time, and checks and applies the
 * policy's actions; see replay.h. */
#include <errno.h>
#include <inttypes.h>
#include "common/err.h"
#include "controller/simulate/ends.h"
#include "controller/simulate/replay.h"

#define PROGRESS_EVERY 4096 /* instants */
#define IDLE_MAX 100000	    /* wake-ups of a policy without any event left: it will never end */

enum state { STATE_ABSENT, STATE_WAITING, STATE_RUNNING, STATE_SUSPENDED, STATE_ENDED };

struct job {
	enum state state;
	int64_t since_s; /* when it started to run, or was suspended, last */
	int64_t left_s;	 /* run time left at since_s */
};

struct run {
	const struct sim_replay *r;
	struct job *jobs;
	struct sim_ends
		ends; /* also stale ones, of jobs that were suspended since: end_jobs() */
	int64_t now_s, free;
	uint32_t arrived, started, ended;
	uint32_t idle; /* instants since the last event */
};

static void run_done(struct run *run)
{
	sim_ends_done(&run->ends);
	free(run->jobs);
}

static const struct sim_job *job_of(const struct run *run, uint32_t i)
{
	return &run->r->trace->jobs[i];
}

/* ---- what the policy decides ---- */

static int policy_fault(const struct run *run, uint32_t job, const char *what, struct err *err)
{
	return err_set(err, -EPROTO,
		       "the policy %s: job %" PRId64 " at %" PRId64 " s, with %" PRId64
		       " cores free",
		       what, job_of(run, job)->number, run->now_s, run->free);
}

static void update_fairness(const struct run *run, uint32_t i, int waits, int64_t holds)
{
	struct sim_fairness *f = run->r->fair;
	uint32_t group = job_of(run, i)->group;

	if (run->r->fair_of)
		group = run->r->fair_of[group];
	if (f && holds)
		sim_fairness_hold(f, group, run->now_s, holds);
	if (f && waits)
		sim_fairness_wait(f, group, run->now_s, waits);
}

/* The job runs from now on, for the first time or again. */
static int run_job(struct run *run, uint32_t i)
{
	struct job *j = &run->jobs[i];
	int64_t cores = job_of(run, i)->cores;

	run->free -= cores;
	j->state = STATE_RUNNING;
	j->since_s = run->now_s;
	run->r->times[i].end_s = run->now_s + j->left_s;
	update_fairness(run, i, -1, cores);
	return sim_ends_push(&run->ends, run->r->times[i].end_s, i);
}

static int start_job(struct run *run, uint32_t i, struct err *err)
{
	struct job *j = &run->jobs[i];

	if (j->state != STATE_WAITING)
		return policy_fault(run, i, "starts a job that does not wait", err);
	if (job_of(run, i)->cores > run->free)
		return policy_fault(run, i, "starts a job that does not fit", err);
	run->r->times[i] = (struct sim_times){ .start_s = run->now_s };
	run->r->order[run->started++] = i;
	j->left_s = job_of(run, i)->run_s;
	return run_job(run, i);
}

static int suspend_job(struct run *run, uint32_t i, struct err *err)
{
	struct job *j = &run->jobs[i];

	if (j->state != STATE_RUNNING)
		return policy_fault(run, i, "suspends a job that does not run", err);
	run->free += job_of(run, i)->cores;
	j->state = STATE_SUSPENDED;
	j->left_s -= run->now_s - j->since_s;
	j->since_s = run->now_s;
	run->r->times[i].suspensions++;
	update_fairness(run, i, 1, -job_of(run, i)->cores);
	return 0;
}

static int resume_job(struct run *run, uint32_t i, struct err *err)
{
	struct job *j = &run->jobs[i];

	if (j->state != STATE_SUSPENDED)
		return policy_fault(run, i, "resumes a job that is not suspended", err);
	if (job_of(run, i)->cores > run->free)
		return policy_fault(run, i, "resumes a job that does not fit", err);
	run->r->times[i].suspended_s += run->now_s - j->since_s;
	return run_job(run, i);
}

static int apply_action(struct run *run, const struct sim_action *a, struct err *err)
{
	static int (*const acts[])(struct run * run, uint32_t i, struct err * err) = {
		[SIM_START] = start_job,
		[SIM_SUSPEND] = suspend_job,
		[SIM_RESUME] = resume_job,
	};

	if (a->act >= ARRAY_LEN(acts) || a->job >= run->r->trace->n)
		return err_set(err, -EPROTO, "the policy names a job that does not exist");
	return acts[a->act](run, a->job, err);
}

/* ---- an instant ---- */

/* A job that was suspended has a later end than the one pushed first: an entry that does not
 * match is skipped. */
static int end_jobs(struct run *run)
{
	struct sim_policy *p = run->r->policy;
	int r = 0;

	while (r >= 0 && run->ends.n && run->ends.heap[0].at_s == run->now_s) {
		struct sim_end e = sim_ends_pop(&run->ends);
		struct job *j = &run->jobs[e.job];

		if (j->state != STATE_RUNNING || run->r->times[e.job].end_s != e.at_s)
			continue;
		j->state = STATE_ENDED;
		run->ended++;
		run->free += job_of(run, e.job)->cores;
		update_fairness(run, e.job, 0, -job_of(run, e.job)->cores);
		r = p->ops->end(p->self, e.job, run->now_s);
	}
	return r;
}

static int add_arrivals(struct run *run)
{
	struct sim_policy *p = run->r->policy;
	int r = 0;

	while (r >= 0 && run->arrived < run->r->trace->n &&
	       job_of(run, run->arrived)->submit_s == run->now_s) {
		run->jobs[run->arrived].state = STATE_WAITING;
		update_fairness(run, run->arrived, 1, 0);
		r = p->ops->arrive(p->self, run->arrived++, run->now_s);
	}
	return r;
}

static int run_pass(struct run *run, struct err *err)
{
	struct sim_policy *p = run->r->policy;
	struct sim_action a;
	int r;

	while ((r = p->ops->next(p->self, run->now_s, &a)) > 0) {
		r = apply_action(run, &a, err);
		if (r < 0)
			return r;
	}
	return r < 0 ? err_set(err, r, "the policy failed at %" PRId64 " s", run->now_s) : 0;
}

/* ---- the whole ---- */

/* The next instant at which anything happens; SIM_NEVER. */
static int64_t next_instant(const struct run *run)
{
	const struct sim_policy *p = run->r->policy;
	int64_t at = SIM_NEVER, wake;

	if (run->ends.n)
		at = run->ends.heap[0].at_s;
	if (run->arrived < run->r->trace->n && job_of(run, run->arrived)->submit_s < at)
		at = job_of(run, run->arrived)->submit_s;
	if (!p->ops->wake_s || run->ended == run->r->trace->n)
		return at;
	wake = p->ops->wake_s(p->self, run->now_s);
	return wake > run->now_s && wake < at ? wake : at;
}

static int run_all(struct run *run, struct err *err)
{
	int64_t at;
	size_t instants = 0;
	int r;

	while ((at = next_instant(run)) != SIM_NEVER && run->idle < IDLE_MAX) {
		bool is_over = !run->ends.n && run->arrived == run->r->trace->n;

		run->idle = is_over ? run->idle + 1 : 0;
		run->now_s = at;
		r = end_jobs(run);
		if (r >= 0)
			r = add_arrivals(run);
		if (r < 0)
			return err_set(err, r,
				       r == -ENOMEM ? "out of memory"
						    : "the policy refuses a job");
		r = run_pass(run, err);
		if (r < 0)
			return r;
		if (run->r->on_progress && ++instants % PROGRESS_EVERY == 0)
			run->r->on_progress(run->r->ctx, (size_t)run->arrived + run->ended);
	}
	if (run->ended == run->r->trace->n)
		return 0;
	for (uint32_t i = 0; i < run->r->trace->n; i++)
		if (run->jobs[i].state != STATE_ENDED)
			return policy_fault(run, i, "never ends a job", err);
	return 0;
}

int sim_replay_run(const struct sim_replay *r, struct err *err)
{
	_cleanup_(run_done) struct run run = { .r = r, .free = r->cores };

	run.jobs = calloc(r->trace->n ? r->trace->n : 1, sizeof(*run.jobs));
	if (!run.jobs)
		return err_set(err, -ENOMEM, "out of memory");
	return run_all(&run, err);
}
