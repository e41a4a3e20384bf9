/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.c - collects the jobs of a history, sorts them, and counts by reason those it rejects;
 * see trace.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "controller/history/swf.h"
#include "controller/simulate/trace.h"

#define NO_SLOT UINT32_MAX

static const char *const why_names[] = {
	[SIM_NO_RUN_TIME] = "no-run-time",
	[SIM_NO_CORES] = "no-cores",
	[SIM_TOO_LARGE] = "larger-than-the-machine",
	[SIM_NO_SUBMIT] = "no-submit-time",
	[SIM_OUT_OF_RANGE] = "out-of-range",
	[SIM_GARBAGE] = "garbage",
	[SIM_PART] = "partial-execution",
};
_Static_assert(ARRAY_LEN(why_names) == _SIM_WHY_MAX, "a name a reason");

const char *sim_why_name(enum sim_why w)
{
	return w < _SIM_WHY_MAX ? why_names[w] : "unknown";
}

void sim_trace_init(struct sim_trace *t)
{
	*t = (struct sim_trace){ .max_procs = -1, .begin_s = -1 };
}

static void ids_done(struct sim_ids *s)
{
	free(s->ids);
	free(s->slots);
}

void sim_trace_done(struct sim_trace *t)
{
	free(t->jobs);
	free(t->wholes.bits);
	ids_done(&t->users);
	ids_done(&t->groups);
	sim_names_done(&t->user_names);
	sim_names_done(&t->group_names);
	sim_names_done(&t->qos);
	sim_trace_init(t);
}

/* ---- ids ---- */

static size_t find_slot(const struct sim_ids *s, int64_t id)
{
	uint64_t hash = (uint64_t)id * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(hash >> 20) & (s->slots_n - 1);

	while (s->slots[at] != NO_SLOT && s->ids[s->slots[at]] != id)
		at = (at + 1) & (s->slots_n - 1);
	return at;
}

/* Room for one more, with half of the slots empty. */
static int grow_ids(struct sim_ids *s)
{
	size_t slots_n = s->slots_n ? s->slots_n * 2 : 1024;
	int64_t *ids = realloc(s->ids, slots_n / 2 * sizeof(*ids));
	uint32_t *slots;

	if (!ids)
		return -ENOMEM;
	s->ids = ids;
	slots = realloc(s->slots, slots_n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	s->slots = slots;
	s->slots_n = slots_n;
	s->room = slots_n / 2;
	for (size_t i = 0; i < slots_n; i++)
		slots[i] = NO_SLOT;
	for (size_t i = 0; i < s->n; i++)
		slots[find_slot(s, s->ids[i])] = (uint32_t)i;
	return 0;
}

static int number_id(struct sim_ids *s, int64_t id, uint32_t *ret)
{
	int r = s->n == s->room ? grow_ids(s) : 0;
	size_t at;

	if (r < 0)
		return r;
	at = find_slot(s, id);
	if (s->slots[at] == NO_SLOT) {
		s->ids[s->n] = id;
		s->slots[at] = (uint32_t)s->n++;
	}
	*ret = s->slots[at];
	return 0;
}

/* ---- lines ---- */

static int count_rejected(struct sim_trace *t, enum sim_why why)
{
	if (t->rejected[why]++ == 0)
		t->first_line[why] = t->lines;
	return 0;
}

static bool is_before(const struct sim_job *a, const struct sim_job *b)
{
	if (a->submit_s != b->submit_s)
		return a->submit_s < b->submit_s;
	return a->number != b->number ? a->number < b->number : a->row < b->row;
}

static int add_job(struct sim_trace *t, const struct sim_job *j)
{
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 4096;
		struct sim_job *jobs = realloc(t->jobs, room * sizeof(*jobs));

		if (!jobs)
			return -ENOMEM;
		t->jobs = jobs;
		t->room = room;
	}
	t->jobs[t->n++] = *j;
	return 0;
}

static bool is_sane(const int64_t v[static _SWF_FIELD_MAX])
{
	return v[SWF_NUMBER] >= 0 && v[SWF_NUMBER] <= HISTORY_NUMBER_MAX &&
	       v[SWF_SUBMIT] <= HISTORY_TIME_MAX && v[SWF_RUN] <= HISTORY_RUN_MAX &&
	       v[SWF_TIME_ASKED] <= HISTORY_RUN_MAX && v[SWF_CORES] <= HISTORY_CORES_MAX;
}

static int add_swf_job(struct sim_trace *t, const int64_t v[static _SWF_FIELD_MAX])
{
	struct sim_job j = { .number = v[SWF_NUMBER],
			     .submit_s = v[SWF_SUBMIT],
			     .run_s = v[SWF_RUN],
			     .cores = (int32_t)v[SWF_CORES],
			     .row = (uint32_t)t->n };
	int r = t->n < UINT32_MAX - 1 ? 0 : -E2BIG;

	j.estimate_s = v[SWF_TIME_ASKED] > j.run_s ? v[SWF_TIME_ASKED] : j.run_s;
	if (r == 0)
		r = number_id(&t->users, v[SWF_UID], &j.user);
	if (r == 0)
		r = number_id(&t->groups, v[SWF_GID], &j.group);
	return r < 0 ? r : add_job(t, &j);
}

int sim_trace_line(struct sim_trace *t, const char *line, size_t size)
{
	int64_t v[_SWF_FIELD_MAX];
	int why, part;

	t->lines++;
	if (size && *line == ';') {
		if (swf_parse_header(line, size, "MaxProcs", &v[0]) && v[0] > 0)
			t->max_procs = v[0];
		if (swf_parse_header(line, size, "UnixStartTime", &v[0]) && v[0] >= 0 &&
		    v[0] <= HISTORY_TIME_MAX)
			t->begin_s = v[0];
		return 0;
	}
	why = swf_parse_fields(line, size, v);
	if (why == SWF_NO_JOB)
		return 0;
	if (why != HISTORY_OK)
		return count_rejected(t, SIM_GARBAGE);
	part = swf_note_whole(&t->wholes, v);
	if (part != 0)
		return part < 0 ? part : count_rejected(t, SIM_PART);
	if (v[SWF_RUN] <= 0)
		return count_rejected(t, SIM_NO_RUN_TIME);
	if (v[SWF_CORES] <= 0)
		return count_rejected(t, SIM_NO_CORES);
	if (v[SWF_SUBMIT] < 0)
		return count_rejected(t, SIM_NO_SUBMIT);
	if (!is_sane(v))
		return count_rejected(t, SIM_OUT_OF_RANGE);
	return add_swf_job(t, v);
}

/* ---- histories with names ---- */

static const enum sim_why why_of[_HISTORY_WHY_MAX] = {
	[HISTORY_OK] = _SIM_WHY_MAX,
	[HISTORY_MISSING_FIELDS] = SIM_GARBAGE,
	[HISTORY_EXTRA_FIELDS] = SIM_GARBAGE,
	[HISTORY_GARBAGE] = SIM_GARBAGE,
	[HISTORY_NO_EPOCH] = SIM_NO_SUBMIT,
	[HISTORY_NOT_STARTED] = SIM_NO_RUN_TIME,
	[HISTORY_NOT_ENDED] = SIM_NO_RUN_TIME,
	[HISTORY_NO_RUN_TIME] = SIM_NO_RUN_TIME,
	[HISTORY_NO_CORES] = SIM_NO_CORES,
	[HISTORY_ENDS_TOO_SOON] = SIM_NO_RUN_TIME,
	[HISTORY_NO_NAME] = SIM_GARBAGE,
	[HISTORY_TOO_LONG_SUSPENDED] = SIM_NO_RUN_TIME,
	[HISTORY_OUT_OF_RANGE] = SIM_OUT_OF_RANGE,
	[HISTORY_NO_PRICE] = SIM_GARBAGE,
	[HISTORY_PART] = SIM_PART,
};

/* Numbers a name; `ids` gets the number as its id, so that both kinds of traces have the same
 * tables. */
static int number_name(struct sim_names *names, struct sim_ids *ids, const char *name,
		       uint32_t *ret)
{
	int r = sim_names_number(names, name, ret);

	return r < 0 ? r : number_id(ids, *ret, ret);
}

int sim_trace_history(struct sim_trace *t, const struct history_job *h, enum history_why why)
{
	struct sim_job j = { .number = h->number,
			     .submit_s = h->submit_s,
			     .run_s = h->end_s - h->start_s - h->suspended_s,
			     .cores = (int32_t)h->ncpus,
			     .row = (uint32_t)t->n };
	int r = t->n < UINT32_MAX - 1 ? 0 : -E2BIG;

	t->lines++;
	t->begin_s = 0;
	if (why != HISTORY_OK)
		return count_rejected(t, why_of[why]);
	if (j.run_s <= 0)
		return count_rejected(t, SIM_NO_RUN_TIME);
	if (h->walltime_s > HISTORY_RUN_MAX)
		return count_rejected(t, SIM_OUT_OF_RANGE);
	j.estimate_s = h->walltime_s > j.run_s ? h->walltime_s : j.run_s;
	if (r == 0)
		r = number_name(&t->user_names, &t->users, h->user, &j.user);
	if (r == 0)
		r = number_name(&t->group_names, &t->groups, h->account, &j.group);
	if (r == 0 && *h->qos && (r = sim_names_number(&t->qos, h->qos, &j.qos)) == 0)
		j.qos++;
	if (r < 0)
		return r;
	t->with_gpus += h->ngpus > 0;
	return add_job(t, &j);
}

static const char *name_of(const struct sim_names *names, int64_t id, char letter,
			   char buf[static SIM_NAME_MAX])
{
	if (names->n)
		snprintf(buf, SIM_NAME_MAX, "%s", *names->texts[id] ? names->texts[id] : "-");
	else
		snprintf(buf, SIM_NAME_MAX, "%c%" PRId64, letter, id);
	return buf;
}

const char *sim_trace_group(const struct sim_trace *t, uint32_t group,
			    char buf[static SIM_NAME_MAX])
{
	return name_of(&t->group_names, t->groups.ids[group], 'g', buf);
}

const char *sim_trace_user(const struct sim_trace *t, uint32_t user,
			   char buf[static SIM_NAME_MAX])
{
	return name_of(&t->user_names, t->users.ids[user], 'u', buf);
}

/* ---- the whole ---- */

static int compare_jobs(const void *a, const void *b)
{
	const struct sim_job *x = a, *y = b;

	return is_before(y, x) - is_before(x, y);
}

void sim_trace_finish(struct sim_trace *t, int64_t cores)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->jobs[i].cores > cores) {
			t->rejected[SIM_TOO_LARGE]++;
			continue;
		}
		t->disordered += n && is_before(&t->jobs[i], &t->jobs[n - 1]);
		t->jobs[n++] = t->jobs[i];
	}
	t->n = n;
	if (t->disordered)
		qsort(t->jobs, n, sizeof(*t->jobs), compare_jobs);
}

int64_t sim_trace_rejected(const struct sim_trace *t)
{
	int64_t n = 0;

	for (int i = 0; i < _SIM_WHY_MAX; i++)
		n += t->rejected[i];
	return n;
}
