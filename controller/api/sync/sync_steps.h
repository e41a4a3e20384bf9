/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_steps - which steps a node should run or end (docs/protocol.md, Steps). */
#pragma once
#include "controller/api/sync/desired.h"

/* Appends to ret->steps those that the node which sent `in` should run or end. What it has not
 * carried out yet is mixed into ret->digest. *ret is the caller's to free, also after an error. */
int sync_steps_read(struct store *s, const struct sync *in, struct sync_desired *ret,
		    struct err *err);
