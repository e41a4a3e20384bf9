/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_steps.c - which steps a node should run or end, from those open in the ledger and those it reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/hash.h"
#include "common/wire/json/load.h"
#include "controller/api/sync/sync_steps.h"
#include "controller/ledger/steps/steps.h"

/* Bytes of commands in one answer; the others follow in the next answers. */
#define COMMAND_BYTES_MAX (4 << 20)

struct open_step {
	struct sync_step_id key;
	enum store_step_state state;
	bool is_cancelled;
};

struct reading {
	struct store *store;
	const struct sync *in;
	struct sync_desired *ret;
	struct open_step *open;
	size_t n_open, size_open;
	size_t n_bytes; /* of what is to be run, so far */
};

static int keep_open(void *ctx, const struct store_step *t, struct err *err)
{
	struct reading *g = ctx;

	if (g->n_open == g->size_open) {
		size_t larger = g->size_open ? 2 * g->size_open : 16;
		struct open_step *more = realloc(g->open, larger * sizeof(*more));

		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		g->open = more;
		g->size_open = larger;
	}
	g->open[g->n_open++] = (struct open_step){
		.key = { .job = t->job, .step = t->step, .attempt = t->attempt },
		.state = t->state,
		.is_cancelled = t->is_cancelled,
	};
	return 0;
}

static void mix_digest(struct reading *g, const struct sync_step_id *t, uint64_t what)
{
	uint64_t d = hash_number(g->ret->digest, (uint64_t)t->job);

	d = hash_number(d, (uint64_t)t->step);
	g->ret->digest = hash_number(d, (uint64_t)t->attempt * 8 + what);
}

/* Becomes the owner of `command`, also after an error. */
static int append_step(struct reading *g, struct sync_step_id id, enum sync_step_want want,
		       json_t *command, struct err *err)
{
	struct sync_desired *d = g->ret;

	if (d->n_steps == d->size_steps) {
		size_t larger = d->size_steps ? 2 * d->size_steps : 16;
		struct sync_desired_step *more = realloc(d->steps, larger * sizeof(*more));

		if (!more) {
			json_decref(command);
			return err_set(err, -ENOMEM, "out of memory");
		}
		d->steps = more;
		d->size_steps = larger;
	}
	d->steps[d->n_steps++] = (struct sync_desired_step){ id, want, command };
	return 0;
}

static int add_command(struct reading *g, const struct open_step *o, enum sync_step_want want,
		       struct err *err)
{
	_cleanup_free_ char *text = NULL;
	json_t *command;
	int r;

	if (g->n_bytes > COMMAND_BYTES_MAX)
		return 0;
	r = store_steps_spec(g->store, o->key.job, o->key.step, &text, err);
	if (r < 0)
		return r;
	g->n_bytes += strlen(text);
	command = wire_load(text, 0, NULL);
	if (!command)
		return err_set(err, -ENOMEM, "out of memory");
	return append_step(g, o->key, want, command, err);
}

static bool is_reported(const struct sync *in, const struct sync_step_id *key)
{
	return in->n_steps &&
	       bsearch(key, in->steps, in->n_steps, sizeof(*in->steps), sync_step_compare);
}

/* A running step that the node does not list is not sent again: it would start twice. */
static int add_step(struct reading *g, const struct open_step *o, struct err *err)
{
	enum sync_step_want want = o->is_cancelled ? SYNC_STEP_CANCEL : SYNC_STEP_RUN;
	bool is_shown = is_reported(g->in, &o->key);

	if (!is_shown && o->state != STORE_STEP_WANTED)
		return 0;
	if (!is_shown || o->is_cancelled)
		mix_digest(g, &o->key, 2 * is_shown + o->is_cancelled);
	return is_shown ? append_step(g, o->key, want, NULL, err)
			: add_command(g, o, want, err);
}

static int compare_open(const void *a, const void *b)
{
	const struct open_step *x = a, *y = b;

	return sync_step_compare(&x->key, &y->key);
}

/* Steps that the node has and the ledger has not: cancelled meanwhile, or the ledger is an older
 * copy. */
static int cancel_unknown(struct reading *g, struct err *err)
{
	int r = 0;

	if (g->n_open)
		qsort(g->open, g->n_open, sizeof(*g->open), compare_open);
	for (size_t i = 0; i < g->in->n_steps && r >= 0; i++) {
		const struct open_step key = { .key = g->in->steps[i].id };

		if (g->in->steps[i].has_ended ||
		    (g->n_open && bsearch(&key, g->open, g->n_open, sizeof(key), compare_open)))
			continue;
		mix_digest(g, &key.key, 4);
		r = append_step(g, key.key, SYNC_STEP_CANCEL, NULL, err);
	}
	return r;
}

int sync_steps_read(struct store *s, const struct sync *in, struct sync_desired *ret,
		    struct err *err)
{
	struct reading g = { .store = s, .in = in, .ret = ret };
	int r = store_steps_open(s, in->node, keep_open, &g, err);

	for (size_t i = 0; i < g.n_open && r >= 0; i++)
		r = add_step(&g, &g.open[i], err);
	if (r >= 0)
		r = cancel_unknown(&g, err);
	free(g.open);
	return r;
}
