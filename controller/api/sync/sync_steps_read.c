/* sync_steps_read.c - decodes the steps that a node reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/api/sync/sync_steps.h"

#define TEXT_MAX 1024

static int decode_key(const json_t *j, struct sync_step *t, struct err *err)
{
	int r = sync_get_attempt(j, &t->job, &t->attempt, err);

	return r < 0 ? r
		     : wire_get_int(j, "step", (struct wire_int){ 1, STORE_STEPS_MAX, NULL },
				    &t->step, err);
}

static int decode_end(const json_t *j, struct sync_step *t, struct err *err)
{
	static const int64_t unknown = -1, none = 0;
	const struct wire_int statuses = { -1, 255, &unknown }, signals = { 0, 128, &none };
	int64_t status, number;
	char text[TEXT_MAX];
	int r = wire_get_int(j, "exit_status", statuses, &status, err);

	if (r >= 0)
		r = wire_get_int(j, "signal", signals, &number, err);
	if (r >= 0)
		r = wire_get_text(j, "text", (struct wire_text){ text, sizeof(text), true },
				  err);
	if (r < 0)
		return r;
	t->exit_status = (int)status;
	t->signal = (int)number;
	t->text = *text ? strdup(text) : NULL;
	return *text && !t->text ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int decode_one(const json_t *j, struct sync_step *t, struct err *err)
{
	char state[16];
	int r = decode_key(j, t, err);

	if (r >= 0)
		r = wire_get_text(j, "state", (struct wire_text){ state, sizeof(state), false },
				  err);
	if (r < 0)
		return r;
	t->has_ended = strcmp(state, "ended") == 0;
	if (!t->has_ended && strcmp(state, "running") != 0)
		return err_set(err, -EINVAL, "state: '%s' is neither running nor ended", state);
	return t->has_ended ? decode_end(j, t, err) : 0;
}

static int check_once(const struct sync *s, struct err *err)
{
	for (size_t i = 1; i < s->n_steps; i++)
		if (sync_step_compare(&s->steps[i - 1], &s->steps[i]) == 0)
			return err_set(err, -EINVAL,
				       "steps: job %lld, step %lld is there twice",
				       (long long)s->steps[i].job, (long long)s->steps[i].step);
	return 0;
}

int sync_steps_decode(const json_t *doc, struct sync *s, struct err *err)
{
	const json_t *a = json_object_get(doc, "steps");
	size_t n = json_array_size(a);

	if (!a)
		return 0;
	if (!json_is_array(a) || n > SYNC_STEPS_MAX)
		return err_set(err, -EINVAL, "steps: not an array of at most %d",
			       SYNC_STEPS_MAX);
	s->steps = calloc(n + 1, sizeof(*s->steps));
	if (!s->steps)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int r;

		s->n_steps++;
		r = decode_one(json_array_get(a, i), &s->steps[i], err);
		if (r < 0)
			return err_prefix(err, r, "steps[%zu]", i);
	}
	qsort(s->steps, s->n_steps, sizeof(*s->steps), sync_step_compare);
	return check_once(s, err);
}
