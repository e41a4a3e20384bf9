/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run - runs a program without a shell and keeps what it prints. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct passwd;

#define GATHER_OUTPUT_MAX 65536

struct gather_run {
	const char *const *argv; /* ends with NULL; argv[0] is looked for in PATH */
	int64_t limit_ms;	 /* it is killed after so long; 0: 30 s */
	const struct passwd
		*as;	 /* run as this user (by root, or that user), with nothing of the
				    caller's: environment, terminal, descriptors; NULL: as the caller */
	bool has_errors; /* standard error is kept too, mixed with the rest */
};
struct gather_output {
	char text[GATHER_OUTPUT_MAX]; /* valid UTF-8 */
	int status;		      /* exit status; 128 + the signal */
};
/* In a session of its own, without a terminal. It ends with the caller at the latest.
 * -ENOENT: there is no such program; -ETIMEDOUT: it was killed; err says which. */
int gather_run(const struct gather_run *run, struct gather_output *ret, struct err *err);
/* Cuts the text after its first line, for messages. */
void gather_first_line(char *text);
