/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule.c - mends the times of a row, decides whose figures count and when, and says how an attempt ended. See rule.h. */
#include <stdio.h>
#include <string.h>
#include "common/wire/sync.h"
#include "controller/ledger/slurm/rule.h"

static bool has_ended(enum slurm_batch_state s)
{
	return s > SLURM_BATCH_SUSPENDED;
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void add_note(char note[static RULE_NOTE_MAX], const char *text)
{
	size_t n = strlen(note);

	snprintf(note + n, RULE_NOTE_MAX - n, "%s%s", n ? "; " : "", text);
}

/* A moment of Slurm's clock, at most now by the controller's. Differences up to RULE_CLOCK_SLACK_NS get no note. */
static int64_t moment_of(int64_t at_s, int64_t now_ns, const char *text,
			 char note[static RULE_NOTE_MAX])
{
	int64_t at_ns = at_s * S_NS;

	if (at_ns > now_ns + RULE_CLOCK_SLACK_NS)
		add_note(note, text);
	return lesser(at_ns, now_ns);
}

/* A job that was cancelled while it waited has a start where Slurm has its end, and no node. */
static bool never_ran(const struct slurm_batch_job *row, char note[static RULE_NOTE_MAX])
{
	if (!has_ended(row->state))
		return row->start_s == 0;
	if (row->start_s && *row->nodes)
		return false;
	if (row->state == SLURM_BATCH_COMPLETED || row->state == SLURM_BATCH_TIMEOUT)
		add_note(note, row->start_s ? "Slurm says that it ran, but not where: it is "
					      "charged nothing"
					    : "Slurm says that it ran, but not from when: it "
					      "is charged nothing");
	return true;
}

/* Splits the time from start to until_ns into running and suspended; never negative. slurmdbd rounds to
 * seconds, so one second too many of suspended time is no contradiction. */
static void set_running(struct rule_times *t, int64_t suspended_ns,
			char note[static RULE_NOTE_MAX])
{
	int64_t whole_ns = t->until_ns - t->start_ns;

	if (whole_ns < 0) {
		add_note(note, "Slurm says that it ended before it started: it is charged "
			       "nothing");
		t->until_ns = t->start_ns;
		t->end_ns = t->end_ns ? t->start_ns : 0;
		whole_ns = 0;
	}
	if (suspended_ns > whole_ns + S_NS)
		add_note(note, "Slurm says that it was suspended for longer than from its "
			       "start to its end: it is charged nothing");
	t->suspended_ns = lesser(suspended_ns, whole_ns);
	t->running_ns = whole_ns - t->suspended_ns;
}

struct rule_times rule_mend(const struct slurm_batch_job *row, int64_t at_s, int64_t now_ns,
			    char note[static RULE_NOTE_MAX])
{
	struct rule_times t = { .until_ns = lesser(at_s * S_NS, now_ns) };

	*note = '\0';
	if (has_ended(row->state)) {
		t.end_ns = row->end_s ? moment_of(row->end_s, now_ns,
						  "its end is in the future: it is taken for "
						  "now",
						  note)
				      : t.until_ns;
		t.until_ns = t.end_ns;
	}
	if (never_ran(row, note))
		return t;
	t.start_ns = moment_of(row->start_s, now_ns,
			       "its start is in the future: it is taken for now", note);
	/* Of a job that runs, Slurm's second may have begun after ours ended. */
	if (!t.end_ns && t.until_ns < t.start_ns)
		t.until_ns = t.start_ns;
	set_running(&t, row->suspended_s * S_NS, note);
	return t;
}

/* Slurm's figures, but from the agent's start where that is later and inside the attempt: slurmctld's start is
 * when the job was allocated. */
static struct rule_decision write_times(const struct rule_times *t,
					const struct rule_known *known)
{
	struct rule_decision d = { .action = RULE_WRITE, .times = *t };
	int64_t start_ns = known->agent_start_ns, whole_ns;

	if (!start_ns || start_ns <= t->start_ns || start_ns > t->until_ns)
		return d;
	whole_ns = t->until_ns - start_ns;
	d.times.start_ns = start_ns;
	d.times.suspended_ns = lesser(t->suspended_ns, whole_ns);
	d.times.running_ns = whole_ns - d.times.suspended_ns;
	return d;
}

static struct rule_decision wait_until(int64_t until_ns)
{
	return (struct rule_decision){ .action = RULE_WAIT, .until_ns = until_ns };
}

/* An attempt that runs and has an agent's report is left to the agent. One that has ended is waited for: an
 * hour where an agent has reported it before, two minutes where its agent is there and may. */
struct rule_decision rule_decide(const struct rule_times *t, const struct rule_known *known,
				 int64_t now_ns)
{
	const struct rule_decision leave = { .action = RULE_LEAVE };
	int64_t until_ns = t->end_ns ? t->end_ns : t->start_ns;

	if (known->is_final)
		return leave;
	if (known->has_agent_report) {
		if (!t->end_ns)
			return leave;
		until_ns += RULE_LAST_REPORT_WAIT_NS;
	} else if (known->is_agent_there) {
		until_ns += RULE_AGENT_WAIT_NS;
	} else {
		return write_times(t, known);
	}
	return now_ns < until_ns ? wait_until(until_ns) : write_times(t, known);
}

/* ---- ends ---- */

static void set_end_text(struct job_end *e, enum job_end_kind kind, const char *text)
{
	e->kind = kind;
	snprintf(e->reason.text, sizeof(e->reason.text), "%s", text);
}

/* reached -1: Slurm does not tell how much memory it was. */
static void set_limit(struct job_end *e, const struct slurm_batch_job *row,
		      const struct rule_times *t)
{
	bool is_time = row->state == SLURM_BATCH_TIMEOUT;

	e->kind = END_LIMIT;
	e->reason.limit = is_time ? LIMIT_WALLTIME : LIMIT_MEM;
	e->reason.requested = is_time ? row->walltime_s : row->mem_bytes;
	e->reason.reached = is_time ? t->running_ns / S_NS : -1;
	if (e->reason.requested == 0)
		e->reason.requested = -1;
	snprintf(e->reason.host, sizeof(e->reason.host), "%s", row->node);
}

static void set_exit(struct job_end *e, const struct slurm_batch_job *row)
{
	e->kind = row->signal ? END_SIGNALED : END_EXITED;
	e->signal = (int32_t)row->signal;
	e->exit_status = row->signal ? -1 : (int32_t)row->exit_status;
}

struct job_end rule_end(const struct slurm_batch_job *row, const struct rule_times *t)
{
	struct job_end e = { .exit_status = -1, .reason = { .at_ns = t->end_ns } };

	switch (row->state) {
	case SLURM_BATCH_COMPLETED:
	case SLURM_BATCH_FAILED:
		set_exit(&e, row);
		break;
	case SLURM_BATCH_TIMEOUT:
	case SLURM_BATCH_OUT_OF_MEMORY:
		set_limit(&e, row, t);
		break;
	case SLURM_BATCH_CANCELLED:
		set_end_text(&e, END_CANCELLED, "in Slurm");
		break;
	case SLURM_BATCH_PREEMPTED:
		set_end_text(&e, END_CANCELLED, "preempted by another job of Slurm");
		break;
	case SLURM_BATCH_DEADLINE:
		set_end_text(&e, END_CANCELLED, "its deadline in Slurm has passed");
		break;
	case SLURM_BATCH_REQUEUED:
		set_end_text(&e, END_CANCELLED, "queued again by Slurm");
		break;
	case SLURM_BATCH_BOOT_FAIL:
		set_end_text(&e, END_FAILED, "a node did not boot");
		break;
	case SLURM_BATCH_NODE_FAIL:
		set_end_text(&e, END_NODE_LOST, "Slurm lost a node of the job");
		break;
	default:
		set_end_text(&e, END_NODE_LOST,
			     "slurmctld no longer has the job, and slurmdbd has no end of it");
	}
	return e;
}

/* Slurm gives an id to another job only after 67 million others, or when its state was deleted. A job that has ended can be
 * queued again while slurmctld remembers it, for MinJobAge. */
bool rule_is_next_attempt(const struct rule_former *former, const struct slurm_batch_job *row)
{
	int64_t at_s = row->submit_s ? row->submit_s : row->start_s;

	switch (former->state) {
	case SLURM_BATCH_REQUEUED:
	case SLURM_BATCH_NODE_FAIL:
	case SLURM_BATCH_PREEMPTED:
	case SLURM_BATCH_BOOT_FAIL:
		return true;
	default:
		return !former->end_s || at_s <= former->end_s + DAY_S;
	}
}

/* ---- what has no column ---- */

int64_t rule_local_id(const struct slurm_batch_job *row)
{
	int64_t id = row->job & SYNC_SLURM_ID_MAX;

	return id ? id : row->job;
}

size_t rule_kinds(const struct slurm_batch_job *row,
		  char ret[static RULE_KINDS_MAX][RULE_NOTE_MAX])
{
	size_t n = 0;

	if (row->array_job)
		snprintf(ret[n++], RULE_NOTE_MAX, "it is task %lld of Slurm's array %lld",
			 (long long)row->array_task, (long long)row->array_job);
	if (row->het_job)
		snprintf(ret[n++], RULE_NOTE_MAX,
			 "it is component %lld of Slurm's heterogeneous job %lld",
			 (long long)row->het_offset, (long long)row->het_job);
	if (row->job != rule_local_id(row))
		snprintf(ret[n++], RULE_NOTE_MAX, "its id in Slurm's federation is %lld",
			 (long long)row->job);
	return n;
}
