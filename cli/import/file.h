/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file - reads lines of a file, plain or gzip, and computes digests of files. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct import_file;

#define IMPORT_LINE_MAX (1 << 16) /* a longer line is cut there, and counts as garbage */

/* -ENOENT, -EACCES, ... */
int import_file_open(const char *path, struct import_file **ret, struct err *err);
struct import_file *import_file_close(struct import_file *f);
DEFINE_CLEANUP(struct import_file *, import_file_close)

/* 1: a line without its newline, valid until the next call, not 0-terminated; 0: the end;
 * -EBADMSG: the compressed data are damaged or end too soon; -EIO. */
struct import_line {
	const char *at;
	size_t size;
};
int import_file_line(struct import_file *f, struct import_line *ret, struct err *err);
/* Before all else: passes over a byte order mark of UTF-8, and returns how the file begins (up to
 * some lines of the longest kind), which import_file_line() and import_file_read() return again. */
int import_file_begin(struct import_file *f, struct import_line *ret, struct err *err);
/* The next bytes, whatever lines they have, valid until the next call; 0: the end; SIZE_MAX: it
 * cannot be read. */
size_t import_file_read(struct import_file *f, const char **ret, struct err *err);
/* Percent of the file (of the compressed bytes) that has been read. */
int import_file_percent(const struct import_file *f);

/* Names a profile by file name and digest: "bmrc@6f1ed002ab55". The ledger stores it with imported
 * jobs. Two profiles are the same if the digests behind the @ are. */
#define IMPORT_PROFILE_MAX 128
int import_profile_name(const char *path, char ret[static IMPORT_PROFILE_MAX], struct err *err);

/* SHA-256 over the content of files (compressed ones as they are) and over words, in order. */
#define IMPORT_DIGEST_MAX 65
struct import_digest_part {
	const char *path, *word; /* NULL: not this */
};
/* `parts` ends with an element that has neither. */
int import_file_digest(const struct import_digest_part *parts,
		       char ret[static IMPORT_DIGEST_MAX], struct err *err);
