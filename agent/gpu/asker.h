/* SPDX-License-Identifier: GPL-2.0-or-later */
/* asker.h - a thread for calls into a driver that may never return. The caller waits until a
 * deadline, and can find out later whether the call has returned.
 *
 * One call at a time. Until it returns, the data it works on belongs to the thread: the caller
 * touches them again when asker_is_busy() is false. The only lock guards whose turn it is and is
 * never held during a call.
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
