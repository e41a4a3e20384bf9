/* sync_steps.c - which steps a node should run or end, from those open in the ledger and those it reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/api/sync/sync_steps.h"

/* Commands of so many bytes go into one answer; the rest into the next ones. */
#define COMMAND_BYTES_MAX (4 << 20)

struct open_step {
	struct sync_step key;
	enum store_step_state state;
	bool is_cancelled;
};

struct answer {
	struct store *store;
	const struct sync *in;
	json_t *to;
	uint64_t *digest;
	struct open_step *open;
	size_t n_open, size_open;
	size_t n_bytes; /* of what is to be run, so far */
};

static int keep_open(void *ctx, const struct store_step *t, struct err *err)
{
	struct answer *g = ctx;

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

static void mix_digest(struct answer *g, const struct sync_step *t, uint64_t what)
{
	static const uint64_t prime = 1099511628211ULL;
	uint64_t d = *g->digest;

	d = (d ^ (uint64_t)t->job) * prime;
	d = (d ^ (uint64_t)t->step) * prime;
	*g->digest = (d ^ ((uint64_t)t->attempt * 8 + what)) * prime;
}

static json_t *encode_step(const struct sync_step *t, const char *want)
{
	return json_pack("{s:I,s:i,s:I,s:s}", "job", (json_int_t)t->job, "attempt",
			 (int)t->attempt, "step", (json_int_t)t->step, "want", want);
}

static int append_item(struct answer *g, json_t *j, struct err *err)
{
	if (!j || json_array_append_new(g->to, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_command(struct answer *g, const struct open_step *o, const char *want,
		       struct err *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *j = NULL, *spec = NULL;
	int r;

	if (g->n_bytes > COMMAND_BYTES_MAX)
		return 0;
	r = store_steps_spec(g->store, o->key.job, o->key.step, &text, err);
	if (r < 0)
		return r;
	g->n_bytes += strlen(text);
	spec = json_loads(text, 0, NULL);
	j = encode_step(&o->key, want);
	if (!spec || !j || json_object_update(j, spec) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return append_item(g, TAKE_PTR(j), err);
}

static const struct sync_step *find_step(const struct sync *in, const struct sync_step *key)
{
	if (!in->n_steps)
		return NULL;
	return bsearch(key, in->steps, in->n_steps, sizeof(*key), sync_step_compare);
}

/* A step that runs and that the node does not list is not sent again: it would start twice. */
static int add_step(struct answer *g, const struct open_step *o, struct err *err)
{
	const char *want = o->is_cancelled ? "cancel" : "run";
	bool is_shown = find_step(g->in, &o->key);

	if (!is_shown && o->state != STORE_STEP_WANTED)
		return 0;
	if (!is_shown || o->is_cancelled)
		mix_digest(g, &o->key, 2 * is_shown + o->is_cancelled);
	return is_shown ? append_item(g, encode_step(&o->key, want), err)
			: add_command(g, o, want, err);
}

static int compare_open(const void *a, const void *b)
{
	const struct open_step *x = a, *y = b;

	return sync_step_compare(&x->key, &y->key);
}

/* Steps that the node has and the ledger has not: cancelled meanwhile, or the ledger is an older
 * copy. */
static int cancel_unknown(struct answer *g, struct err *err)
{
	int r = 0;

	if (g->n_open)
		qsort(g->open, g->n_open, sizeof(*g->open), compare_open);
	for (size_t i = 0; i < g->in->n_steps && r >= 0; i++) {
		const struct open_step key = { .key = g->in->steps[i] };

		if (key.key.has_ended ||
		    (g->n_open && bsearch(&key, g->open, g->n_open, sizeof(key), compare_open)))
			continue;
		mix_digest(g, &key.key, 4);
		r = append_item(g, encode_step(&key.key, "cancel"), err);
	}
	return r;
}

int sync_steps_tell(struct store *s, const struct sync *in, json_t *to, uint64_t *digest,
		    struct err *err)
{
	struct answer g = { .store = s, .in = in, .to = to, .digest = digest };
	int r = store_steps_open(s, in->node, keep_open, &g, err);

	for (size_t i = 0; i < g.n_open && r >= 0; i++)
		r = add_step(&g, &g.open[i], err);
	if (r >= 0)
		r = cancel_unknown(&g, err);
	free(g.open);
	return r;
}

json_t *sync_steps_acks(const struct sync_result *r)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < r->n_step_acks; i++) {
		const struct sync_step_ack *t = &r->step_acks[i];

		json_array_append_new(a, json_pack("{s:I,s:i,s:I}", "job", (json_int_t)t->job,
						   "attempt", (int)t->attempt, "step",
						   (json_int_t)t->step));
	}
	return TAKE_PTR(a);
}
