/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import - the state of `reeve import`, and what it says at the end. */
#pragma once
#include <time.h>
#include "cli/cli.h"
#include "cli/import/file.h"
#include "cli/import/reader.h"
#include "cli/import/seen.h"
#include "cli/import/told.h"
#include "cli/import/unused.h"
#include "controller/ledger/import/import.h"

#define IMPORT_NO_NAME "unknown" /* account or user of a job that names none */

struct calendar;
struct config;
struct import_map;

struct import {
	struct cli *c;
	const char *path, *format, *cluster, *map_path, *zone;
	char *profile;			       /* its file */
	char profile_name[IMPORT_PROFILE_MAX]; /* "": none */
	struct import_reader *reader;
	struct store *store;
	struct store_import *to;
	struct import_map *map;
	struct config *config;
	struct calendar *clocks; /* of sacct's times; NULL: UTC's */
	const char *epoch;	 /* as typed; NULL: the file's header */
	int64_t epoch_s;
	struct store_import_count count;
	int64_t n_new, n_followed, n_pending, line; /* of this run; line: where it reads */
	int64_t batch;
	struct timespec start;
	struct import_unused unused;
	struct import_told told;
	struct import_seen seen;
	char no_price[256];  /* why the first one has none */
	char no_name[128];   /* likewise */
	const char *account; /* of jobs that name none */
	int64_t no_account, no_user;
	enum import_format kind;
	bool has_progress;
};

/* For people; returns 0. */
int import_summary_print(const struct import *i);
/* For --json. */
int import_summary_document(const struct import *i, struct err *err);
/* An import without a single job, new or known, is a failure: exit status 1. Returns 0. */
int import_summary_check(const struct import *i);
