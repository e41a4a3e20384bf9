/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.c - the table of steps and the decisions about them; see step.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/step/step.h"
#include "common/utf8.h"

bool step_id_is_equal(struct sync_step_id a, struct sync_step_id b)
{
	return a.job == b.job && a.attempt == b.attempt && a.step == b.step;
}

static bool is_before(struct sync_step_id a, struct sync_step_id b)
{
	if (a.job != b.job)
		return a.job < b.job;
	return a.attempt != b.attempt ? a.attempt < b.attempt : a.step < b.step;
}

struct step *step_find(const struct step_table *t, struct sync_step_id id)
{
	struct step *s = t->first;

	while (s && is_before(s->id, id))
		s = s->next;
	return s && step_id_is_equal(s->id, id) ? s : NULL;
}

struct step *step_add(struct step_table *t, struct sync_step_id id)
{
	struct step *s = calloc(1, sizeof(*s)), **at = &t->first;

	if (!s)
		return NULL;
	s->id = id;
	while (*at && is_before((*at)->id, id))
		at = &(*at)->next;
	s->next = *at;
	*at = s;
	t->n++;
	return s;
}

void step_remove(struct step_table *t, struct step *s)
{
	struct step **at = &t->first;

	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = s->next;
	t->n--;
	for (int i = 0; i < 2; i++)
		sd_event_source_disable_unref(s->streams[i].watch);
	free(s);
}

bool step_is_open(const struct step *s)
{
	return s->phase < STEP_DRAINS;
}

size_t step_count_open(const struct step_table *t, struct sync_step_id id)
{
	size_t n = 0;

	for (const struct step *s = t->first; s; s = s->next)
		n += s->id.job == id.job && s->id.attempt == id.attempt && step_is_open(s);
	return n;
}

void step_fail(struct step *s, const char *why)
{
	s->phase = STEP_IS_OVER;
	s->end = (struct step_end){ .version = STEP_VERSION, .exit_status = -1 };
	utf8_copy(s->end.text, sizeof(s->end.text), why, strlen(why));
}

int step_take_end(struct step *s, const struct step_end *end)
{
	if (end->version != STEP_VERSION || end->exit_status < -1 || end->exit_status > 255 ||
	    end->signal < 0 || end->signal > 128 ||
	    !memchr(end->text, '\0', sizeof(end->text))) {
		step_fail(s, "how it ended was not recorded");
		return -EBADMSG;
	}
	s->phase = STEP_DRAINS;
	s->end = *end;
	/* The words may repeat a path of the user's. */
	utf8_clean(s->end.text);
	return 0;
}

/* Why the user may not start a step in this job, independent of the table; NULL: allowed. */
static const char *find_refusal(const struct sync_step_order *o, enum step_job job)
{
	if (job == STEP_JOB_NONE)
		return "the job is not on this node";
	if (job == STEP_JOB_ENDS)
		return "the job ended";
	if (o->bad)
		return o->bad;
	if (o->want == SYNC_STEP_CANCEL)
		return "cancelled before it began";
	if (job == STEP_JOB_NO_DISK)
		return "the job has no disk on this node (jobfs) to keep its output on";
	return NULL;
}

struct counts {
	size_t all, of_user, refused_of_user;
};

/* Refused steps are counted apart: they hold a row until the controller has committed their end. */
static struct counts count_for(const struct step_table *t, uint32_t uid)
{
	struct counts n = { 0 };

	for (const struct step *s = t->first; s; s = s->next) {
		n.all += !s->is_refused;
		n.of_user += !s->is_refused && s->uid == uid;
		n.refused_of_user += s->is_refused && s->uid == uid;
	}
	return n;
}

/* 1: the job or its user has too many steps here, with words in *why. 0: there is room. */
static int check_share(const struct step_table *t, const struct sync_step_order *o,
		       const struct counts *n, struct err *why)
{
	size_t free = n->all < STEP_TABLE_MAX ? STEP_TABLE_MAX - n->all : 0;

	if (step_count_open(t, o->id) >= STEP_OPEN_MAX)
		err_set(why, -EAGAIN,
			"the job runs %d steps on this node already; let some end first",
			STEP_OPEN_MAX);
	else if (n->of_user >= free)
		err_set(why, -EAGAIN,
			"jobs of this user have %zu steps on this node, and %zu of its %d are "
			"free "
			"for all users; let some end first",
			n->of_user, free, STEP_TABLE_MAX);
	else
		return 0;
	return 1;
}

enum step_act step_decide(const struct step_table *t, const struct sync_step_order *o,
			  struct step_asker who, struct err *ret_why)
{
	const struct step *s = step_find(t, o->id);
	const char *words = find_refusal(o, who.job);
	struct counts n;

	if (s)
		return o->want == SYNC_STEP_CANCEL && step_is_open(s) && !s->is_cancelled
			       ? STEP_DO_CANCEL
			       : STEP_DO_NOTHING;
	/* The next answer brings the command: our list does not show the step. */
	if (!words && (who.job == STEP_JOB_STARTS || !o->command.argv))
		return STEP_DO_NOTHING;
	n = count_for(t, who.uid);
	if (words)
		err_set(ret_why, -EPERM, "%s", words);
	else if (!check_share(t, o, &n, ret_why))
		return STEP_DO_START;
	/* When the controller has committed some of them, the order comes again. */
	return n.refused_of_user < STEP_REFUSED_MAX ? STEP_DO_REFUSE : STEP_DO_NOTHING;
}

/* The order matters: a waiter writes the end before it drops its lock, so an end counts before a missing
 * waiter does. */
enum step_move step_look(const struct step *s, struct step_sight sight)
{
	if (!step_is_open(s))
		return STEP_STAYS;
	if (sight.has_end)
		return STEP_ENDS;
	if (sight.has_begun && sight.has_waiter)
		return s->phase == STEP_IS_ASKED ? STEP_BEGINS : STEP_STAYS;
	if (sight.has_begun)
		return STEP_IS_LOST;
	if (sight.has_waiter)
		return STEP_STAYS;
	return s->is_cancelled || sight.is_late ? STEP_NEVER_BEGAN : STEP_STAYS;
}

const char *step_format_name(struct sync_step_id id, char buf[static STEP_FILE_MAX])
{
	snprintf(buf, STEP_FILE_MAX, "%" PRId64 "-%" PRId32 "-%" PRId64, id.job, id.attempt,
		 id.step);
	return buf;
}

int step_parse_name(const char *name, struct sync_step_id *ret, const char **ret_rest)
{
	struct sync_step_id id;
	char again[STEP_FILE_MAX];
	size_t n;

	if (sscanf(name, "%" SCNd64 "-%" SCNd32 "-%" SCNd64, &id.job, &id.attempt, &id.step) !=
		    3 ||
	    id.job < 1 || id.attempt < 0 || id.step < 1)
		return -EINVAL;
	n = strlen(step_format_name(id, again));
	if (strncmp(name, again, n))
		return -EINVAL;
	*ret = id;
	*ret_rest = name + n;
	return 0;
}
