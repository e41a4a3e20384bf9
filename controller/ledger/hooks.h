/* hooks - reads the journal of events in order, for the hooks that report each of them.
 *
 * Events are written in the transaction of what they tell. A reader keeps its place in the
 * ledger, so that nothing that happened is missed over a restart; what had not been finished by
 * then is reported once more.
 */
#pragma once
#include "controller/ledger/store.h"

/* One event, with what must be known to say what it means. `what` is as it was written:
 * "submit" "give" "running" "suspended" "ended" "cancel" "gpu-idle" ...; "node-lost" is the end
 * of a job by its node's loss, "lost" the node's own. */
struct store_happening {
	int64_t id, at_ns;
	int64_t job; /* 0: about a node */
	const char *node, *what;
	bool is_queued;		      /* the job was in the queue just before */
	bool has_run;		      /* "running" had been said of the attempt before */
	bool has_started, was_killed; /* the attempt, by now: ran; ended for a limit */
};
typedef int (*store_happening_fn)(void *ctx, const struct store_happening *h, struct err *err);
/* Those behind `after`, first one first, at most `max`. Returns how many. */
struct store_happenings {
	int64_t after, max;
};
int store_happenings(struct store *s, struct store_happenings which, store_happening_fn fn,
		     void *ctx, struct err *err);

/* The reader's place: all events up to it have been told. -ENOENT: it has none. */
int store_load_place(struct store *s, int64_t *ret, struct err *err);
int store_save_place(struct store *s, int64_t place, struct err *err);
/* The place behind the newest event; one who is no longer there to hear has none. */
int store_last_place(struct store *s, int64_t *ret, struct err *err);
int store_forget_place(struct store *s, struct err *err);
