/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_fields - rows that both documents of a sync have; for sync.c and sync_answer.c alone. */
#pragma once
#include "common/wire/fields.h"
#include "common/wire/sync.h"

#define SYNC_ATTEMPT_ROWS(s) WIRE_INT(s, job, 1, INT64_MAX), WIRE_INT(s, attempt, 0, INT32_MAX)

#define SYNC_ID_ROW(s, of, name, lo, hi)                                                       \
	{                                                                                      \
		.key = #name, .type = WIRE_T_INT, WIRE_MEMBER(s, of.name), .min = (lo),        \
		.max = (hi)                                                                    \
	}
#define SYNC_STEP_ID_ROWS(s, of)                                                               \
	SYNC_ID_ROW(s, of, job, 1, INT64_MAX), SYNC_ID_ROW(s, of, attempt, 0, INT32_MAX),      \
		SYNC_ID_ROW(s, of, step, 1, SYNC_STEP_MAX)

/* A wire_word_fn: the names of streams. */
const char *sync_stream_word(int i);
