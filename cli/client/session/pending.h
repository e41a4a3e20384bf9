/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pending.h - output of a step that standard output or error has not taken yet. */
#pragma once
#include "common/model/console/console.h"

struct pending {
	uint8_t *data;
	size_t size, done;
	int fd;
	int64_t written; /* of the stream: all before this is written */
	bool is_over;	 /* and nothing follows */
};

/* Keeps the part of a chunk that was not written yet. *ret_lost: the number of lost bytes before it. -ENOMEM. */
int pending_keep(struct pending *p, const struct console_chunk *c, int64_t *ret_lost,
		 struct err *err);
/* Writes as much as the descriptor takes without blocking. 1: all of it; 0: not yet; < 0. */
int pending_flush(struct pending *p, struct err *err);
