/* SPDX-License-Identifier: GPL-2.0-or-later */
/* append.h - `reeve-launch --append SECONDS`: append the end message to a job's error file with the user's rights.
 *
 * A program of its own and no copy of the agent, since the user may stop, end and look at what runs as that user: its memory has nothing
 * but the message, it makes no core file, cannot be traced, and ends after SECONDS even when it is stopped.
 */
#pragma once
#include <stdint.h>

#define APPEND_VERSION 1
#define APPEND_PATH_MAX 4096
#define APPEND_TEXT_MAX 2048

/* The agent writes it to standard input, at once: less than a pipe holds. The texts end with a NUL. */
struct append_order {
	uint32_t version;
	uint32_t uid, gid;
	uint32_t pad;
	uint64_t dev,
		ino; /* of the file that the launcher opened: nothing is written to another one */
	char path[APPEND_PATH_MAX];
	char text[APPEND_TEXT_MAX];
};
_Static_assert(sizeof(struct append_order) == 32 + APPEND_PATH_MAX + APPEND_TEXT_MAX, "layout");

/* 0: written; 1: not, without words: the final report carries the same message. */
int append_main(const char *limit_s);
