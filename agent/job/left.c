/* SPDX-License-Identifier: GPL-2.0-or-later */
/* left.c - the shared memory of the cgroup above all jobs that is in no job's cgroup; see left.h. */
#include <unistd.h>
#include "agent/job/job.h"
#include "agent/job/left.h"
#include "common/model/amount.h"

#define NOTE "memory left: "
/* Each CPU may keep 64 pages of a counter back (MEMCG_CHARGE_BATCH), for each cgroup. */
#define TOLERANCE_BYTES ((int64_t)16 << 20)
#define TOLERANCE_CPU_BYTES ((int64_t)1 << 20)

/* The sum first: memory that jobs allocate between the two is not taken for left. */
static int64_t find_left(const struct node *n)
{
	const int64_t tolerance =
		TOLERANCE_BYTES + sysconf(_SC_NPROCESSORS_CONF) * TOLERANCE_CPU_BYTES;
	int64_t left = manager_shared_memory(n->ops->parent(n->manager));
	char path[MANAGER_PATH_MAX];

	for (const struct job *j = n->jobs; j && left > tolerance; j = j->next)
		if (j->phase < PHASE_REPORT)
			left -= manager_shared_memory(job_cgroup(j, path));
	return left > tolerance ? left : 0;
}

/* A sum that has hardly changed is not sent again. */
static void tell_left(struct node *n, int64_t now)
{
	const int64_t told = n->left.told;
	char text[AMOUNT_TEXT_MAX];

	if (now >= told - told / 8 && now <= told + told / 8)
		return;
	n->left.told = now;
	node_unnote(n, NOTE);
	if (now)
		node_note(n,
			  NOTE
			  "%s of jobs that have ended is kept by other jobs, to which it was "
			  "passed, and counts as in use",
			  amount_format_bytes(now, text));
}

void job_left_measure(struct node *n)
{
	n->left.bytes = engine_is_foreign((enum engine)n->conf->engine) ? 0 : find_left(n);
	n->left.is_known = true;
}

/* The memory of a large job that has just ended takes a moment to be freed. */
void job_left_tick(struct node *n)
{
	int64_t before = n->left.ticked;

	job_left_measure(n);
	n->left.ticked = n->left.bytes;
	tell_left(n, before < n->left.bytes ? before : n->left.bytes);
}
