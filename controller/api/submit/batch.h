/* SPDX-License-Identifier: GPL-2.0-or-later */
/* batch - stores submissions in batches: many in one transaction, round robin by user.
 *
 * A submission is queued for its user when it arrives. A batch takes one of
 * each waiting user in turn until it is full or its time is up, and commits them together: a
 * disk that takes 5 ms for a commit takes them once for all that arrived meanwhile. A user
 * who submits thousands delays only their own; another user's job is in the next batch. Each
 * call is answered when its job is on disk.
 */
#pragma once
#include "controller/api/call.h"

/* The server drops the exchanges of submissions that still wait. */
struct submit_batches *submit_batches_close(struct submit_batches *b);
