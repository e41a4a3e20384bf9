/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs_phases.c - charges a job that released nodes phase by phase; see pbs_phases.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/history/pbs_phases.h"

#define CHAINS 4096

struct job {
	struct job *next;
	int64_t run_s;		 /* of the phases that have ended */
	struct history_job last; /* the phase of its e record */
	int64_t last_s;		 /* that phase's walltime; -1: no e record yet */
	size_t id_size;
	char id[];
};

struct pbs_phases {
	struct job *chains[CHAINS];
	size_t n;
};

struct pbs_phases *pbs_phases_new(void)
{
	return calloc(1, sizeof(struct pbs_phases));
}

struct pbs_phases *pbs_phases_free(struct pbs_phases *p)
{
	for (size_t i = 0; p && i < CHAINS; i++)
		for (struct job *j = p->chains[i], *next; j; j = next) {
			next = j->next;
			free(j);
		}
	free(p);
	return NULL;
}

/* Where the job is, or would be: at the end of its chain. */
static struct job **find_job(struct pbs_phases *p, struct history_text id)
{
	uint32_t hash = 2166136261U;
	struct job **at;

	for (size_t i = 0; i < id.size; i++)
		hash = (hash ^ (unsigned char)id.at[i]) * 16777619U;
	at = &p->chains[hash % CHAINS];
	while (*at && ((*at)->id_size != id.size || memcmp((*at)->id, id.at, id.size) != 0))
		at = &(*at)->next;
	return at;
}

/* NULL: out of memory. */
static struct job *add_job(struct pbs_phases *p, struct job **at, struct history_text id)
{
	struct job *j = calloc(1, sizeof(*j) + id.size);

	if (!j)
		return NULL;
	memcpy(j->id, id.at, id.size);
	j->id_size = id.size;
	j->last_s = -1;
	*at = j;
	p->n++;
	return j;
}

static void drop_job(struct pbs_phases *p, struct job **at)
{
	struct job *j = *at;

	*at = j->next;
	p->n--;
	free(j);
}

/* A u or e record. */
static int note_phase(struct pbs_phases *p, const char *line, size_t size,
		      struct history_job *ret)
{
	struct pbs_head head;
	int why = pbs_parse_run(line, size, &head, ret);
	struct job **at, *j;

	if (why != HISTORY_OK)
		return why;
	if (head.used_s < 0)
		return HISTORY_MISSING_FIELDS;
	if (head.used_s > HISTORY_RUN_MAX || ret->start_s > HISTORY_TIME_MAX)
		return HISTORY_OUT_OF_RANGE;
	at = find_job(p, head.id);
	if (!*at && p->n == PBS_PHASES_MAX)
		return HISTORY_OUT_OF_RANGE;
	j = *at ? *at : add_job(p, at, head.id);
	if (!j)
		return -ENOMEM;
	history_note(ret, HISTORY_NOTE_PHASE);
	if (head.type == 'e') {
		j->last = *ret;
		j->last.fault = NULL; /* it lies in this line */
		j->last_s = head.used_s;
		return PBS_NO_JOB;
	}
	ret->start_s += j->run_s;
	ret->end_s = ret->start_s + head.used_s;
	ret->suspended_s = 0;
	if (j->run_s + head.used_s <= HISTORY_RUN_MAX)
		j->run_s += head.used_s;
	return head.used_s ? (int)history_judge(ret) : PBS_NO_JOB;
}

/* The last phase of the job whose E or R record was read into *ret. */
static int end_phases(const struct job *j, int64_t used_s, struct history_job *ret)
{
	int64_t start_s = ret->start_s, end_s = ret->end_s, last_s = j->last_s;

	/* An e record for all of the time: no phase went before it. */
	if (!j->run_s && (last_s < 0 || used_s <= last_s + 1))
		return (int)history_judge(ret);
	if (last_s >= 0) {
		int64_t submit_s = ret->submit_s;

		*ret = j->last;
		ret->submit_s = submit_s;
	} else {
		last_s = used_s > j->run_s ? used_s - j->run_s : 0;
	}
	ret->end_s = end_s;
	ret->start_s = j->run_s ? start_s + j->run_s : end_s - last_s;
	ret->suspended_s = 0;
	if (ret->end_s > ret->start_s && last_s < ret->end_s - ret->start_s)
		ret->suspended_s = ret->end_s - ret->start_s - last_s;
	history_note(ret, HISTORY_NOTE_PHASE);
	return (int)history_judge(ret);
}

int pbs_phases_line(struct pbs_phases *p, const char *line, size_t size,
		    struct history_job *ret)
{
	struct pbs_head head;
	struct job **at;
	int why = pbs_parse_head(line, size, &head);

	history_init(ret);
	if (why != HISTORY_OK)
		return why;
	if (head.type == 'u' || head.type == 'e')
		return note_phase(p, line, size, ret);
	if (head.type != 'E' && head.type != 'R')
		return PBS_NO_JOB;
	at = find_job(p, head.id);
	why = pbs_parse_run(line, size, &head, ret);
	if (why == HISTORY_OK)
		why = *at ? end_phases(*at, head.used_s, ret) : (int)history_judge(ret);
	if (*at)
		drop_job(p, at);
	return why;
}
