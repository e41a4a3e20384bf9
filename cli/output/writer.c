/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer.c - writes output as it comes, or line by line behind a label; see writer.h.
 * The descriptor may be nonblocking (a terminal shared with another program). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/output/writer.h"
#include "common/cleanup.h"
#include "common/err.h"

static int write_all(int fd, const char *data, size_t size, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	while (size) {
		n = write(fd, data, size);
		if (n < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (n < 0 && errno != EINTR)
			return err_set(err, -EIO, "cannot write the job's output: %m");
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* In one write(), so that lines of several nodes do not mix. */
static int write_line(const struct writer *s, const char *data, size_t size, struct err *err)
{
	size_t before = strlen(s->label) + 2;
	_cleanup_free_ char *line = malloc(before + size + 2);

	if (!line)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(line, s->label, before - 2);
	memcpy(line + before - 2, ": ", 2);
	memcpy(line + before, data, size);
	line[before + size] = '\n';
	return write_all(s->fd, line, before + size + 1, err);
}

/* Writes the incomplete line as a line; nothing where there is none. */
static int put_rest(struct writer *s, struct err *err)
{
	size_t size = s->n_rest;

	s->n_rest = 0;
	return size ? write_line(s, s->rest, size, err) : 0;
}

/* Bytes are kept until their line is complete, or WRITER_LINE_MAX long. */
static int put_labelled(struct writer *s, const char *data, size_t size, struct err *err)
{
	int r = 0;

	if (!s->rest)
		s->rest = malloc(WRITER_LINE_MAX);
	if (!s->rest)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < size && r == 0; i++) {
		if (data[i] == '\n' && s->n_rest == 0)
			r = write_line(s, "", 0, err);
		else if (data[i] == '\n' || s->n_rest == WRITER_LINE_MAX)
			r = put_rest(s, err);
		if (data[i] != '\n')
			s->rest[s->n_rest++] = data[i];
	}
	return r;
}

int writer_write(struct writer *s, const uint8_t *data, size_t size, struct err *err)
{
	if (s->label)
		return put_labelled(s, (const char *)data, size, err);
	return write_all(s->fd, (const char *)data, size, err);
}

int writer_finish(struct writer *s, struct err *err)
{
	return put_rest(s, err);
}

void writer_done(struct writer *s)
{
	free(s->rest);
	s->rest = NULL;
}
