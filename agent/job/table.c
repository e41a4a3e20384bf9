/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - the jobs of this node, oldest first; see job.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/job/gpus/meter.h"
#include "agent/job/job.h"
#include "agent/job/signed.h"

/* At the end of the list: job_find() with attempt 0 and job_output_next() go by age. NULL: out of memory. */
struct job *job_new(struct node *n, int64_t id, int32_t attempt)
{
	struct job *j = calloc(1, sizeof(*j)), **at = &n->jobs;

	if (!j)
		return NULL;
	state_attempt_init(&j->s);
	j->node = n;
	j->s.job = id;
	j->s.attempt = attempt;
	j->kill_fd = -1;
	while (*at)
		at = &(*at)->next;
	*at = j;
	n->n_jobs++;
	return j;
}

struct job *job_find(struct node *n, int64_t id, int32_t attempt)
{
	for (struct job *j = n->jobs; j; j = j->next)
		if (j->s.job == id && (attempt ? j->s.attempt == attempt : !job_has_ended(j)))
			return j;
	return NULL;
}

struct job *job_find_running(struct node *n, int64_t id)
{
	for (struct job *j = n->jobs; j; j = j->next)
		if (j->s.job == id && j->phase == PHASE_RUNNING)
			return j;
	return NULL;
}

/* Detaches nothing from the kernel side and closes no handshake: job_detach() and handshake_drop() come
 * before. */
void job_free(struct job *j)
{
	struct job **at = &j->node->jobs;

	while (*at && *at != j)
		at = &(*at)->next;
	if (*at) {
		*at = j->next;
		j->node->n_jobs--;
	}
	for (int i = 0; i < 2; i++)
		sd_event_source_disable_unref(j->streams[i].watch);
	if (j->kill_fd >= 0)
		close(j->kill_fd);
	gpu_meter_free(j->meter);
	state_attempt_done(&j->s);
	free(j->start);
	free(j);
}

int job_list(const struct node *n, struct sync_job **ret, size_t *ret_n)
{
	struct sync_job *list = reallocarray(*ret, n->n_jobs + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (const struct job *j = n->jobs; j; j = j->next)
		if (j->is_stored || j->phase > PHASE_UNIT || j->unsaved_ns)
			list[count++] =
				(struct sync_job){ j->s.job, j->s.attempt, job_state(j) };
	*ret = list;
	*ret_n = count;
	return 0;
}
