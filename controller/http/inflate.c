/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inflate.c - inflates in growing steps, so that a small input that expands to gigabytes ("zip
 * bomb") is refused before it costs memory; see inflate.h. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <zlib.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/http/inflate.h"

#define GZIP_ONLY (15 + 16) /* zlib: largest window, gzip header expected */
#define FIRST_SIZE 16384

static void end_stream(z_stream *z)
{
	inflateEnd(z);
}

/* No document that a client of Reeve makes is denser than this, beyond the first MiB: lists of
 * attempts are some 15 times as large as their gzip. */
#define RATIO_MAX 100
#define RATIO_FROM (1 << 20)

static size_t max_output(size_t size, size_t max)
{
	size_t most = size * RATIO_MAX;

	if (most < RATIO_FROM)
		most = RATIO_FROM;
	return most < max ? most : max;
}

/* Room for twice as much, but never more than max + 1 (the byte that proves an excess). */
static int grow_buffer(char **buf, size_t *size, size_t max, struct err *err)
{
	size_t larger = *size ? *size * 2 : FIRST_SIZE;
	char *p;

	if (*size > max)
		return err_set(err, -EMSGSIZE, "the body inflates to more than %zu bytes", max);
	if (larger > max)
		larger = max + 1;
	p = realloc(*buf, larger);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	*buf = p;
	*size = larger;
	return 0;
}

int inflate_body(const void *data, size_t size, size_t max, struct inflate_text *ret,
		 struct err *err)
{
	_cleanup_(end_stream) z_stream z = { .next_in = (void *)(uintptr_t)data };
	_cleanup_free_ char *buf = NULL;
	size_t room = 0, made = 0;
	int rc = Z_OK;

	if (size > UINT_MAX || max > UINT_MAX / 2)
		return err_set(err, -EMSGSIZE, "the body is too large");
	max = max_output(size, max);
	if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	z.avail_in = (unsigned)size;
	while (rc == Z_OK) {
		int r = made == room ? grow_buffer(&buf, &room, max, err) : 0;

		if (r < 0)
			return r;
		z.next_out = (unsigned char *)buf + made;
		z.avail_out = (unsigned)(room - made);
		rc = inflate(&z, Z_NO_FLUSH);
		made = room - z.avail_out;
		/* No progress for want of room only: goes on with a larger buffer. */
		if (rc == Z_BUF_ERROR && z.avail_out == 0)
			rc = Z_OK;
	}
	if (made > max)
		return err_set(err, -EMSGSIZE, "the body inflates to more than %zu bytes", max);
	if (rc != Z_STREAM_END || z.avail_in != 0)
		return err_set(err, -EINVAL, "the body is not one whole gzip member");
	*ret = (struct inflate_text){ TAKE_PTR(buf), made };
	return 0;
}
