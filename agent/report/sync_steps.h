/* sync_steps - what `reeve exec` starts, in the documents of sync.h (docs/protocol.md,
 * 'Steps').
 *
 * No time, no files. One bad step does not hold up the rest of an answer: it is given to the
 * handler as such, to be told as ended.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct sync_step_id {
	int64_t job, step; /* both from 1 */
	int32_t attempt;
};

/* What the node has of one. */
struct sync_step {
	struct sync_step_id id;
	bool has_ended;
	int32_t exit_status; /* -1: none, it was ended by `signal` or never started */
	int32_t signal;	     /* 0: none */
	const char *text;    /* why it could not be started; NULL or "": it was */
};

enum sync_step_want { SYNC_STEP_RUN, SYNC_STEP_CANCEL };

struct sync_step_order {
	struct sync_step_id id;
	enum sync_step_want want;
	char **argv;		/* NULL-terminated; NULL: the node is known to have it */
	char **env;		/* NULL: the job's */
	const char *workdir;	/* absolute; NULL: the job's */
	const char *credential; /* what its user signed of it; NULL: nothing */
	const char *bad;	/* it cannot be read: why; else NULL */
};

/* Both may come again and again. Pointers are valid during the call only. */
struct sync_step_handlers {
	void (*on_step)(void *ctx, const struct sync_step_order *order);
	void (*on_step_ack)(void *ctx, struct sync_step_id id);
};

/* Adds "steps" to a request document; nothing when n is 0. < 0: out of memory. */
int sync_steps_encode(json_t *doc, const struct sync_step *steps, size_t n);

/* Are "steps" and "step_acks" of an answer such that sync_steps_act() can act on them? -EINVAL
 * with the path of what is wrong. */
int sync_steps_check(const json_t *answer, struct err *err);
/* Acks first. Returns how many there were. */
int sync_steps_act(const json_t *answer, const struct sync_step_handlers *h, void *ctx);
