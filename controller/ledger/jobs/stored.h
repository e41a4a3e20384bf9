/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored - how many bytes of the ledger a user fills, and what is deleted of jobs that ended long ago.
 * Part of the contract of store.h.
 *
 * These count: scripts, environments and commands of steps (each text once for a user), output
 * that is stored, and a constant for each step and each dependency. Jobs and attempts are removed only by the archive
 * (archive/archive.h), which keeps what is needed to recompute the sums at any time.
 */
#pragma once
#include "controller/ledger/store.h"

#define STORE_DEPEND_BYTES 64 /* the bytes that a dependency's row counts as */

/* How many bytes a user may fill with what counts; 0, as at first: no bound. */
void store_set_max_stored(struct store *s, int64_t bytes);
/* What the user fills now, in bytes. */
int store_stored(struct store *s, const char *user, int64_t *ret, struct err *err);

/* How long it is kept: of jobs since their end, of nodes since the event. */
struct store_retention {
	int64_t now_ns;
	int64_t output_ns; /* output, steps, scripts and environments */
	int64_t events_ns; /* the journal; not before the output */
};
/* Deletes a small batch, in one transaction of some milliseconds. 1: there is more; 0: not now. */
int store_prune(struct store *s, const struct store_retention *keep, struct err *err);
