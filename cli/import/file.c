/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.c - reads lines of plain and gzip files, and hashes their content; see file.h. */
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "cli/import/file.h"
#include "common/err.h"
#include "common/utf8.h"

#define ROOM (4 * IMPORT_LINE_MAX)

struct import_file {
	gzFile gz;
	int64_t size; /* on disk */
	char *path;
	char buf[ROOM];
	size_t from, to;
	bool is_end, is_cut; /* cut: the next call skips the rest of a line that was too long */
};

int import_file_open(const char *path, struct import_file **ret, struct err *err)
{
	_cleanup_(import_file_closep) struct import_file *f = calloc(1, sizeof(*f));
	struct stat st;

	if (!f || !(f->path = strdup(path)))
		return err_set(err, -ENOMEM, "out of memory");
	if (stat(path, &st) < 0)
		return err_set(err, -errno, "cannot read %.200s: %m", path);
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "cannot read %.200s: it is a directory", path);
	f->gz = gzopen(path, "rbe");
	if (!f->gz)
		return err_set(err, errno ? -errno : -ENOMEM, "cannot open %.200s: %m", path);
	gzbuffer(f->gz, 1 << 17);
	f->size = st.st_size;
	*ret = TAKE_PTR(f);
	return 0;
}

struct import_file *import_file_close(struct import_file *f)
{
	if (!f)
		return NULL;
	if (f->gz)
		gzclose(f->gz);
	free(f->path);
	free(f);
	return NULL;
}

/* Moves the unread bytes to the front, and reads more behind them. */
static int refill_buffer(struct import_file *f, struct err *err)
{
	const char *why;
	int n, code;

	memmove(f->buf, f->buf + f->from, f->to - f->from);
	f->to -= f->from;
	f->from = 0;
	n = gzread(f->gz, f->buf + f->to, (unsigned)(sizeof(f->buf) - f->to));
	why = gzerror(f->gz, &code);
	/* zlib returns the data of a truncated file first, then 0 with Z_BUF_ERROR. */
	if (n < 0 || (n == 0 && code != Z_OK && code != Z_STREAM_END))
		return err_set(err, code == Z_ERRNO ? -EIO : -EBADMSG,
			       "cannot read %.200s: %.200s", f->path, why);
	f->to += (size_t)n;
	f->is_end = n == 0;
	return 0;
}

/* Returns `size` bytes as a line, and skips `with_end` of the buffer. */
static int return_line(struct import_file *f, size_t size, size_t with_end,
		       struct import_line *ret)
{
	*ret = (struct import_line){ f->buf + f->from, size };
	f->from += with_end;
	return 1;
}

/* Skips the rest of a line that was too long. */
static int skip_rest(struct import_file *f, struct err *err)
{
	while (f->is_cut) {
		const char *end = memchr(f->buf + f->from, '\n', f->to - f->from);
		int r = 0;

		f->is_cut = !end && !f->is_end;
		f->from = end ? (size_t)(end - f->buf) + 1 : f->to;
		if (f->is_cut)
			r = refill_buffer(f, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int import_file_line(struct import_file *f, struct import_line *ret, struct err *err)
{
	int r = skip_rest(f, err);

	while (r == 0) {
		size_t have = f->to - f->from;
		const char *end = memchr(f->buf + f->from, '\n', have);
		size_t size = end ? (size_t)(end - f->buf) - f->from : have;

		if (size >= IMPORT_LINE_MAX) {
			f->is_cut = !end;
			return return_line(f, IMPORT_LINE_MAX, size + (end != NULL), ret);
		}
		if (end)
			return return_line(f, size, size + 1, ret);
		if (f->is_end)
			return have ? return_line(f, have, have, ret) : 0;
		r = refill_buffer(f, err);
	}
	return r;
}

int import_file_begin(struct import_file *f, struct import_line *ret, struct err *err)
{
	int r = 0;

	while (r == 0 && !f->is_end && f->to < IMPORT_LINE_MAX)
		r = refill_buffer(f, err);
	if (r < 0)
		return r;
	f->from += utf8_mark_size(f->buf + f->from, f->to - f->from);
	*ret = (struct import_line){ f->buf + f->from, f->to - f->from };
	return 0;
}

size_t import_file_read(struct import_file *f, const char **ret, struct err *err)
{
	size_t n = f->to - f->from;

	if (!n && !f->is_end && refill_buffer(f, err) < 0)
		return SIZE_MAX;
	n = f->to - f->from;
	*ret = f->buf + f->from;
	f->from = f->to;
	return n;
}

int import_file_percent(const struct import_file *f)
{
	int64_t at = gzoffset(f->gz);

	return f->size > 0 && at < f->size ? (int)(at * 100 / f->size) : 100;
}

/* The bytes as they are on disk: compressed files are not unpacked for their digest. */
static int add_file(struct sha256_ctx *sha, const char *path, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t buf[1 << 16];
	ssize_t n = -1;

	if (fd < 0)
		return err_set(err, -errno, "cannot open %.200s: %m", path);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sha256_update(sha, (size_t)n, buf);
	return n < 0 ? err_set(err, -errno, "cannot read %.200s: %m", path) : 0;
}

int import_file_digest(const struct import_digest_part *parts,
		       char ret[static IMPORT_DIGEST_MAX], struct err *err)
{
	uint8_t sum[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	int r = 0;

	sha256_init(&sha);
	for (; (parts->path || parts->word) && r >= 0; parts++) {
		if (parts->path)
			r = add_file(&sha, parts->path, err);
		else
			sha256_update(&sha, strlen(parts->word) + 1,
				      (const uint8_t *)parts->word);
	}
	sha256_digest(&sha, sizeof(sum), sum);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(ret + 2 * i, 3, "%02x", sum[i]);
	return r;
}

int import_profile_name(const char *path, char ret[static IMPORT_PROFILE_MAX], struct err *err)
{
	const struct import_digest_part parts[] = { { .path = path }, { 0 } };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char digest[IMPORT_DIGEST_MAX];
	size_t n = strlen(name);
	int r = import_file_digest(parts, digest, err);

	if (r < 0)
		return r;
	if (n > 5 && !strcmp(name + n - 5, ".conf"))
		n -= 5;
	snprintf(ret, IMPORT_PROFILE_MAX, "%.*s@%.12s", (int)(n < 80 ? n : 80), name, digest);
	return 0;
}
