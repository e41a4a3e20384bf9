/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer - writes output of a job or a step to a file descriptor: bytes as they come, or whole
 * lines behind a label.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

#define WRITER_LINE_MAX (64 << 10) /* labelled, a longer line is cut into several */

struct writer {
	int fd;
	const char *label; /* "n1": lines begin with "n1: "; NULL: bytes as they come */
	char *rest;	   /* the line that is not complete yet */
	size_t n_rest;
};

/* -EIO: it could not be written. */
int writer_write(struct writer *s, const uint8_t *data, size_t size, struct err *err);
/* Writes an incomplete last line as a line; only with a label. */
int writer_finish(struct writer *s, struct err *err);
void writer_done(struct writer *s);
