/* asker - a thread for questions that may never be answered. Who asks waits for so long and no
 * longer, and learns later that the answer is there.
 *
 * One question at a time. While it stands, what it works on belongs to the thread: the asking
 * side touches it again when asker_is_busy() says no. The only lock guards who has the turn and
 * is never held during a question.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"

struct asker;
struct err;
typedef void (*asker_fn)(void *ctx);

/* Starts the thread; it takes no signals. A negative errno. */
int asker_open(struct asker **ret, struct err *err);
/* Ends it, waiting so long for a question that stands. 0: done; -EBUSY: not answered: the
 * thread and all it works on are left behind, and nothing of it may be freed. */
int asker_close(struct asker *a, int64_t wait_ns);

/* 0: answered. -ETIMEDOUT: not within that time; the thread goes on with it. -EBUSY: an earlier
 * question still stands, and this one was not asked. */
int asker_ask(struct asker *a, asker_fn fn, void *ctx, int64_t wait_ns);
bool asker_is_busy(struct asker *a);
/* CLOCK_REALTIME when the question that stands was asked; 0: none does. */
int64_t asker_since_ns(struct asker *a);
