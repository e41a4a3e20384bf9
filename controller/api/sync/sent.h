/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent - remembers the desired states that each node was last sent and has not carried out yet.
 */
#pragma once
#include <stdint.h>
#include "common/model/request.h"

struct sync_sent_table;

struct sync_sent {
	struct sync_sent *next; /* in its bucket */
	char node[REQUEST_NAME_MAX];
	uint64_t digest; /* of the desired states that were open in the last answer; 0: none */
	int64_t at_ns;	 /* CLOCK_MONOTONIC */
};

/* Finds or adds the node's entry; *t is NULL at first. NULL: out of memory. */
struct sync_sent *sync_sent_find(struct sync_sent_table **t, const char *node);
void sync_sent_free(struct sync_sent_table *t);
