/* sink - where the output of a job or a step goes: bytes as they come, or whole lines behind a
 * label.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

#define SINK_LINE_MAX (64 << 10) /* labelled, a longer line is cut into several */

struct sink {
	int fd;
	const char *label; /* "n1": lines begin with "n1: "; NULL: bytes as they come */
	char *rest;	   /* the line that is not complete yet */
	size_t n_rest;
};

/* < 0: it could not be written. */
int sink_put(struct sink *s, const uint8_t *data, size_t size, struct err *err);
/* Nothing more will come: what is left of a line is one. */
int sink_end(struct sink *s, struct err *err);
void sink_done(struct sink *s);
