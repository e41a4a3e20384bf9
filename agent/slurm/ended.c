/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended.c - a list of jobs that have ended, newest first; see ended.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "agent/slurm/ended.h"
#include "common/model/amount.h"
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

struct ended_job *ended_find(struct ended_job *list, uint32_t job, int64_t now_ns)
{
	struct ended_job *e = list;

	while (e && !is_old(e, now_ns) && e->begin.job != job)
		e = e->next;
	return e && !is_old(e, now_ns) ? e : NULL;
}

bool ended_read_restarts(const char *line, uint32_t job, uint32_t *ret)
{
	char id[24], count[24];
	int64_t id_number, restarts;

	if (sscanf(line, "%23s %23s", id, count) != 2 ||
	    amount_parse_count(id, &id_number, NULL) < 0 ||
	    amount_parse_count(count, &restarts, NULL) < 0)
		return false;
	if (id_number != job || restarts > UINT16_MAX) /* as wide as Slurm has it */
		return false;
	*ret = (uint32_t)restarts;
	return true;
}

void ended_free(struct ended_job **list)
{
	free_from(list);
}
