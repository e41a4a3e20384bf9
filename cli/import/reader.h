/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader - the rows of a history file in any of its formats, one after the other. */
#pragma once
#include "common/cleanup.h"
#include "controller/history/history.h"
#include "controller/history/sacct.h"

struct err;
struct import_reader;

enum import_format { IMPORT_SWF, IMPORT_SACCT, IMPORT_PBS, _IMPORT_FORMAT_MAX };
extern const char *const import_format_names[_IMPORT_FORMAT_MAX];
/* _IMPORT_FORMAT_MAX: none has this name. */
enum import_format import_format_find(const char *name);

struct import_how {
	enum import_format format;
	struct sacct sacct; /* its zone */
	int64_t epoch_s;    /* of SWF without a header; -1: none */
	bool has_phases;    /* of PBS: a job that released nodes is one run for each phase */
};

/* -EBADMSG: the file has another form, which the words name; -ENOENT, ... */
int import_reader_open(const char *path, const struct import_how *how,
		       struct import_reader **ret, struct err *err);
struct import_reader *import_reader_close(struct import_reader *r);
DEFINE_CLEANUP(struct import_reader *, import_reader_close)

/* 1: a row that should be a job; *ret_why: HISTORY_OK, or why it is none. What *ret has of the row is
 * valid until the next call. 0: the end. -EBADMSG: no row can be one (a column is missing), or the
 * file is damaged. */
int import_reader_next(struct import_reader *r, struct history_job *ret, int *ret_why,
		       struct err *err);
/* Of the row read last: its line, from 1; of a JSON document its place in the list of jobs. */
int64_t import_reader_place(const struct import_reader *r);
const char *import_reader_unit(const struct import_reader *r); /* "line", "job" */
int import_reader_percent(const struct import_reader *r);
