/* SPDX-License-Identifier: GPL-2.0-or-later */
/* save.c - write jobs to the store, and retry while the store fails; see job/save.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/save.h"
#include "agent/job/signed.h"
#include "common/log.h"

#define TROUBLE "store: "

#define LEFTOVERS_MAX 32

/* A row that is to be deleted. An agent that is restarted before that reports the job once more, and the controller ignores
 * the repeated report. */
struct leftover {
	struct leftover *next;
	struct manager_id id;
};

/* The clock as it is stored: running and suspended time, and when these were read. */
static void clock_to_state(struct job *j)
{
	int64_t now = job_now_ns(j);

	j->s.clock.running_ns = clock_running_ns(&j->clock, now);
	j->s.clock.suspended_ns = clock_suspended_ns(&j->clock, now);
	j->s.clock.at_ns = j->clock.end_ns ? j->clock.end_ns : now;
}

/* Writes the state as it is, inside the caller's transaction if there is one. job_save_done() then has to be
 * called with the result of the whole. */
int job_save_row(struct job *j, struct err *err)
{
	snprintf(j->s.step, sizeof(j->s.step), "%s", job_phase_name(j->phase));
	snprintf(j->s.wanted, sizeof(j->s.wanted), "%s",
		 j->pause >= PAUSE_CPUS ? "resume" : job_desired_name(j->order));
	j->s.state = job_state(j);
	if (j->clock.start_ns)
		clock_to_state(j);
	memcpy(j->s.clock.boot, j->node->boot, sizeof(j->s.clock.boot));
	return state_save(j->node->db, &j->s, err);
}

/* Note on the node that the store fails, once; withdraw the note when it works again. */
static void note_store_state(struct node *n, int result, const struct err *err)
{
	bool is_failing = result < 0;

	if (is_failing == n->is_store_failing)
		return;
	n->is_store_failing = is_failing;
	if (is_failing)
		node_note(n,
			  TROUBLE "the state of jobs cannot be saved: %s; jobs go on and end, "
				  "none is started until it can",
			  err->text);
	else
		node_unnote(n, TROUBLE);
	log_line(is_failing ? LOG_ERR : LOG_NOTICE, "store: %s",
		 is_failing ? err->text : "the state of jobs is saved again");
	uplink_kick(n->uplink);
}

void job_save_done(struct job *j, int result, const struct err *err)
{
	bool was_unsaved = j->unsaved_ns != 0;

	if (result < 0 && !was_unsaved)
		j->unsaved_ns = node_now_ns();
	if (result >= 0) {
		j->unsaved_ns = 0;
		j->is_stored = true;
	}
	note_store_state(j->node, result, err);
}

/* The new job, and the signature that it was started on. A crash leaves both or neither: the
 * job is not started twice on one signature, and no signature is used up without a job. */
int job_save_with_start(struct job *j, struct err *err)
{
	int r = j->start ? job_signed_keep(j->node, j->start, err) : 0;

	return r < 0 ? r : job_save_row(j, err);
}

void job_save_start_done(struct job *j)
{
	free(j->start);
	j->start = NULL;
}

int job_save(struct job *j, struct err *err)
{
	struct db *db = j->node->db;
	int r = db_begin(db, err);

	if (r >= 0)
		r = db_end(db, job_save_with_start(j, err), err);
	if (r >= 0)
		job_save_start_done(j);
	job_save_done(j, r, err);
	return r;
}

/* Where a synced commit cannot be left or be had again, the former is no loss, and the next save fails by the latter. */
int job_save_lazy(struct job *j, struct err *err)
{
	struct db *db = j->node->db;
	int r;

	db_lazy(db, true, NULL);
	r = job_save(j, err);
	db_lazy(db, false, NULL);
	return r;
}

/* The attempt may be here again meanwhile: then the row belongs to it. */
static int delete_leftovers(struct node *n, struct err *err)
{
	int r = db_begin(n->db, err);

	for (const struct leftover *l = n->leftovers; l && r >= 0; l = l->next)
		if (!job_find(n, l->id.job, l->id.attempt))
			r = state_forget(n->db, l->id.job, l->id.attempt, err);
	return db_is_begun(n->db) ? db_end(n->db, r, err) : r;
}

static void drop_leftovers(struct node *n)
{
	while (n->leftovers) {
		struct leftover *l = n->leftovers;

		n->leftovers = l->next;
		free(l);
	}
	n->n_leftovers = 0;
}

/* Not synced: a power cut has the same effect as a restart before the commit. A failure is retried at each tick. */
int job_save_flush(struct node *n, struct err *err)
{
	int r;

	db_lazy(n->db, true, NULL);
	r = spool_flush(n->spool, err);
	if (r >= 0 && n->leftovers) {
		r = delete_leftovers(n, err);
		if (r >= 0) {
			n->has_forgotten = true;
			drop_leftovers(n);
		}
	}
	db_lazy(n->db, false, NULL);
	return r;
}

/* Without memory the row stays until the agent is restarted, and reports the job once more. */
void job_save_forget(struct node *n, struct manager_id id)
{
	struct leftover *l = calloc(1, sizeof(*l));
	struct err err;

	if (l) {
		*l = (struct leftover){ n->leftovers, id };
		n->leftovers = l;
		n->n_leftovers++;
	}
	if (n->n_leftovers >= LEFTOVERS_MAX && job_save_flush(n, &err) < 0)
		log_job(LOG_ERR, id.job, "state", "%s", err.text);
}

int job_save_is_forgotten(struct node *n, struct manager_id id, struct err *err)
{
	for (const struct leftover *l = n->leftovers; l; l = l->next)
		if (l->id.job == id.job && l->id.attempt == id.attempt)
			return job_save_flush(n, err);
	return 0;
}

void job_save_tick(struct node *n)
{
	bool is_all_saved = true;
	struct err err;
	int r;

	r = job_save_flush(n, &err);
	if (r < 0)
		note_store_state(n, r, &err);
	for (struct job *j = n->jobs; j; j = j->next) {
		if (j->unsaved_ns && job_save(j, &err) >= 0)
			job_act_after(j, 0); /* a start or resume waited for the save */
		is_all_saved = is_all_saved && !j->unsaved_ns;
	}
	/* When the jobs that could not be saved have gone, no other save would come to tell:
	 * a node that says it is failing is given no job. */
	if (n->is_store_failing && is_all_saved && state_try(n->db, &err) >= 0)
		note_store_state(n, 0, &err);
}

void job_save_close(struct node *n)
{
	drop_leftovers(n);
}
