/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended.c - a list of jobs that have ended, newest first; see ended.h. */
#include <stdbool.h>
#include <stdlib.h>
#include "agent/slurm/ended.h"
#include "common/time_units.h"

static bool is_old(const struct ended_job *e, int64_t now_ns)
{
	return now_ns - e->ended_ns > ENDED_KEPT_S * S_NS;
}

static void free_from(struct ended_job **at)
{
	while (*at) {
		struct ended_job *e = *at;

		*at = e->next;
		free(e);
	}
}

/* Newest first: all behind one that is too old are so too. */
static void forget_old(struct ended_job **list, int64_t now_ns)
{
	struct ended_job **at = list;

	for (int n = 0; *at && n < ENDED_MAX && !is_old(*at, now_ns); n++)
		at = &(*at)->next;
	free_from(at);
}

void ended_forget(struct ended_job **list, uint32_t job)
{
	for (struct ended_job **at = list; *at; at = &(*at)->next) {
		struct ended_job *e = *at;

		if (e->begin.job != job)
			continue;
		*at = e->next;
		free(e);
		return;
	}
}

void ended_remember(struct ended_job **list, const struct slurm_question *begin, int64_t ngpus,
		    int64_t now_ns)
{
	struct ended_job *e = calloc(1, sizeof(*e));

	ended_forget(list, begin->job);
	if (e) {
		e->next = *list;
		e->ended_ns = now_ns;
		e->ngpus = ngpus;
		e->begin = *begin;
		*list = e;
	}
	forget_old(list, now_ns);
}

bool ended_find(const struct ended_job *list, uint32_t job, int64_t now_ns,
		struct slurm_question *ret, int64_t *ret_ngpus)
{
	for (const struct ended_job *e = list; e && !is_old(e, now_ns); e = e->next) {
		if (e->begin.job != job)
			continue;
		*ret = e->begin;
		*ret_ngpus = e->ngpus;
		return true;
	}
	return false;
}

void ended_free(struct ended_job **list)
{
	free_from(list);
}
