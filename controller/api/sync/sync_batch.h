/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_batch - stores exchanges with nodes in batches, many in one transaction.
 *
 * An exchange is queued when its request is whole. A batch stores those that have arrived while the one before was stored and
 * committed, and where many come for some times as long as its commit took, in their order, and commits them together; each is answered after that. So
 * ten thousand nodes cost one commit for all that are there at a time, and the sums of accounts, users and clusters are written once for
 * all of them. Where one fails the batch is rolled back and each is stored alone: the fault of a node is not its neighbours'.
 */
#pragma once
#include "controller/api/sync/talk.h"

/* Becomes the owner of *t unless it fails. */
int sync_batch_add(struct talk *t, struct err *err);
/* The server drops the exchanges that still wait. */
struct sync_batches *sync_batches_close(struct sync_batches *b);
