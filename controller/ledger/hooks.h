/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks - reads the journal of events in order, for the site's hooks, which are run for each of them.
 *
 * An event is written in the transaction of the change that it names. The hooks' reader keeps its
 * position in the ledger, so that no event is missed over a restart; an event whose hook had not ended
 * by then is passed once more.
 */
#pragma once
#include "controller/ledger/store.h"

/* One event, with the state of its job that its meaning depends on. `what` is as it was written:
 * "submit" "give" "running" "suspended" "ended" "cancel" "gpu-idle" ...; "node-lost" is the end
 * of a job by its node's loss, "lost" the node's own. */
struct store_happening {
	int64_t id, at_ns;
	int64_t job;  /* 0: about a node, or an account */
	uint32_t uid; /* whose job it is */
	const char *node, *what;
	const char *text; /* as it was written; of "allocation" the document of the hook */
	bool is_queued;	  /* the job was in the queue just before */
	bool has_run;	  /* "running" had been said of the attempt before */
	bool has_started, was_killed; /* the attempt, by now: ran; ended for a limit */
};
typedef int (*store_happening_fn)(void *ctx, const struct store_happening *h, struct err *err);
/* The events after number `after`, oldest first, at most `max`. Returns how many. */
struct store_happenings {
	int64_t after, max;
};
int store_happenings(struct store *s, struct store_happenings which, store_happening_fn fn,
		     void *ctx, struct err *err);

/* The reader's position: the number of the last event whose hook has ended. -ENOENT: it has none. */
int store_load_place(struct store *s, int64_t *ret, struct err *err);
int store_save_place(struct store *s, int64_t place, struct err *err);
/* The number of the newest event; 0: there is none. */
int store_last_place(struct store *s, int64_t *ret, struct err *err);
int store_forget_place(struct store *s, struct err *err);
