/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files - judges owners and modes of files and directories, and what is left on disks. */
#pragma once
#include <stdint.h>
#include "cli/admin/doctor/judge/kernel.h"

enum judge_path_kind { JUDGE_PATH_FILE, JUDGE_PATH_DIRECTORY };

/* What a path must be, and what it is. */
struct judge_path {
	char path[JUDGE_PATH_MAX];
	enum judge_path_kind kind;
	uint32_t forbidden; /* bits of the mode that it must not have */
	int64_t owner;	    /* uid that must own it; < 0: any */
	bool may_lack;	    /* it need not be there */
	/* as found */
	char why[JUDGE_WHY_MAX]; /* it could not be looked at */
	bool is_there, is_of_kind;
	uint32_t mode, uid;
};
void judge_paths(struct judge_report *r, const struct judge_path *paths, size_t n);

/* The disk that a path lies on. */
struct judge_disk {
	const char *check, *what; /* "disk-spool", "the spool" */
	char path[JUDGE_PATH_MAX], why[JUDGE_WHY_MAX];
	int64_t free_bytes,
		free_files; /* free_files < 0: the file system does not count them */
	int64_t need_bytes; /* below it what is written there may fail */
	int64_t wish_bytes; /* below it the admin is warned */
	char remedy[JUDGE_REMEDY_MAX];
};
void judge_disk(struct judge_report *r, const struct judge_disk *d);
