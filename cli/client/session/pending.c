/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pending.c - output that waits to be written; see pending.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/client/session/pending.h"
#include "cli/client/session/terminal.h"
#include "common/err.h"

#define WRITE_MAX 4096 /* a pipe that is writable takes as much without blocking */

int pending_keep(struct pending *p, const struct console_chunk *c, int64_t *ret_lost,
		 struct err *err)
{
	int64_t skip = p->written - c->offset;

	*ret_lost = skip < 0 ? -skip : 0;
	if (skip < 0) {
		p->written = c->offset;
		skip = 0;
	}
	if (skip > (int64_t)c->size)
		return 0;
	p->is_over = c->is_end;
	if (skip == (int64_t)c->size)
		return 0;
	p->size = c->size - (size_t)skip;
	p->data = malloc(p->size);
	if (!p->data)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(p->data, (const uint8_t *)c->data + skip, p->size);
	return 0;
}

int pending_flush(struct pending *p, struct err *err)
{
	while (p->done < p->size) {
		size_t left = p->size - p->done;
		ssize_t n;

		if (!terminal_may_write(p->fd))
			return 0;
		n = write(p->fd, p->data + p->done, left < WRITE_MAX ? left : WRITE_MAX);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return 0;
		if (n < 0)
			return err_set(err, -EIO, "cannot write the output: %m");
		p->done += (size_t)n;
		p->written += n;
	}
	free(p->data);
	p->data = NULL;
	p->size = p->done = 0;
	return 1;
}
