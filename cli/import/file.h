/* file - lines of a file, plain or gzip, and a name for its content. */
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

/* 1: a line without its newline, good until the next call, not 0-terminated; 0: the end;
 * -EBADMSG: the compressed data are damaged or end too soon; -EIO. */
struct import_line {
	const char *at;
	size_t size;
};
int import_file_line(struct import_file *f, struct import_line *ret, struct err *err);
/* How much of the file, as it lies on disk, has been read, in percent. */
int import_file_percent(const struct import_file *f);

/* "bmrc@6f1ed002ab55": a profile's file by name and content, as the ledger records by which one
 * imported jobs were priced. Two are the same where what follows the @ is. */
#define IMPORT_PROFILE_MAX 128
int import_profile_name(const char *path, char ret[static IMPORT_PROFILE_MAX], struct err *err);

/* SHA-256 over the content of files, as they lie on disk, and over words, in order. */
#define IMPORT_DIGEST_MAX 65
struct import_digest_part {
	const char *path, *word; /* NULL: not this */
};
/* `parts` ends with one that is neither. */
int import_file_digest(const struct import_digest_part *parts,
		       char ret[static IMPORT_DIGEST_MAX], struct err *err);
