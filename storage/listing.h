/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listing - reads what lfs quota, mmrepquota -Y and repquota print, line by line, and recognises which of them it is; several
 * outputs may follow each other. Pure.
 *
 * All count in KiB. Forms that round (lfs quota -h, repquota -s) are refused. The forms, and the values that are taken:
 *   lfs quota -g|-p|-u ID FS	"Disk quotas for grp physics (gid 1234):", a heading, one row; the row's name may stand on a
 *				line of its own; a figure in [] lacks a server's part
 *   mmrepquota -Y		fields by colons, named by the line HEADER, with %XX for what would separate them
 *   repquota -g|-P|-u		"*** Report for group quotas on device /dev/sda1", headings, rows up to an empty line
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

enum listing_kind {
	LISTING_USER,
	LISTING_GROUP,
	LISTING_PROJECT,
	LISTING_FILESET,
	_LISTING_KIND_MAX
};
const char *listing_kind_name(enum listing_kind k);

#define LISTING_NAME_MAX 256 /* bytes, with the NUL */
#define LISTING_NO_ID (-1)

struct listing_row {
	enum listing_kind kind;
	int64_t id;		     /* LISTING_NO_ID: not said */
	char name[LISTING_NAME_MAX]; /* "": the id alone is known */
	char filesystem[LISTING_NAME_MAX];
	int64_t bytes, files;
	int64_t limit_bytes, limit_files; /* the hard limits, else the soft ones; 0: none */
	bool is_partial;		  /* some server did not say its part of the figures */
};

enum listing_form { LISTING_UNKNOWN, LISTING_LFS, LISTING_MMREPQUOTA, LISTING_REPQUOTA };
enum listing_state { LISTING_IDLE, LISTING_HEADING, LISTING_ROWS };
/* The columns of mmrepquota that are read. */
enum listing_column {
	LISTING_FS,
	LISTING_TYPE,
	LISTING_ID,
	LISTING_NAME,
	LISTING_KIB,
	LISTING_KIB_SOFT,
	LISTING_KIB_HARD,
	LISTING_FILES,
	LISTING_FILES_SOFT,
	LISTING_FILES_HARD,
	LISTING_WITHIN,
	_LISTING_COLUMN_MAX
};
#define LISTING_FIELDS_MAX 64

/* Begins as { 0 }. */
struct listing {
	enum listing_form form;		 /* of the report that was begun last */
	enum listing_state state;	 /* of lfs and repquota */
	struct listing_row row;		 /* known facts of the rows to come */
	int column[_LISTING_COLUMN_MAX]; /* of mmrepquota: which field each is; -1: none */
	int n_columns;			 /* 0: no HEADER yet */
};

/* One line, without its end. 1: *ret is a row; 0: none; -EINVAL: the line is damaged, or of a form that rounds. */
int listing_line(struct listing *p, const char *line, struct listing_row *ret, struct err *err);
/* After the last line. -EINVAL: no report was recognised, or the last one is cut off. */
int listing_end(const struct listing *p, struct err *err);
