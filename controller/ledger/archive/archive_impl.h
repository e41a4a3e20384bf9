/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive_impl - a month that is being archived; shared by the files of this folder. */
#pragma once
#include "common/time_units.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup/rollup_set.h"

enum archive_table {
	ARCHIVE_JOBS,
	ARCHIVE_ATTEMPTS,
	ARCHIVE_PARTS,
	ARCHIVE_SLICES,
	ARCHIVE_RUNS,
	ARCHIVE_SLURM, /* what Slurm said of each attempt */
	_ARCHIVE_MAX
};
#define ARCHIVE_DIGEST_MAX 65 /* SHA-256 in hex */
#define ARCHIVE_BATCH 1024    /* jobs in one transaction */
/* slurmdbd may correct a row of a job that has ended, above all after it was away. */
#define ARCHIVE_SLURM_SETTLED_NS (7 * DAY_NS)

struct archive_file {
	int fd;	       /* -1: not open */
	char *path;    /* when it is complete */
	char *part;    /* until then */
	int64_t bytes; /* as recorded: what is behind them is not archived */
	int64_t rows;
	char *lines;	/* of the batch; open_memstream()'s */
	size_t n_lines; /* bytes */
};
struct archive {
	struct store *s;
	const struct store_archive *how;
	struct store_archive_month m;
	int64_t id; /* archives.id */
	int64_t first_job, last_job;
	struct archive_file files[_ARCHIVE_MAX];
	int64_t new_runs;	 /* run intervals that the batch wrote */
	struct rollup_set *sums; /* what the batch moves to rollups_base */
};

/* ---- rows.c: of a batch, in the transaction under way ---- */

extern const char *const archive_names[_ARCHIVE_MAX]; /* "jobs" */
extern const char
	*const archive_headers[_ARCHIVE_MAX]; /* the first line of the file, without its end */

/* The numbers of `jobs` that may be archived now, in the same order. Returns how many. */
int archive_select(struct archive *a, const int64_t *jobs, size_t n, int64_t *ret,
		   struct err *err);
/* Writes the rows of the jobs as lines to files[].lines, and counts them. */
int archive_write_rows(struct archive *a, const struct store_these *jobs, struct err *err);
/* Moves what is counted of them to rollups_base, archived_runs and archive_sums. */
int archive_keep_sums(struct archive *a, const struct store_these *jobs, struct err *err);
int archive_delete(struct archive *a, const struct store_these *jobs, struct err *err);

/* ---- slurm.c ---- */

/* What stays of the attempts of jobs of Slurm: archived_slurm. */
int archive_keep_slurm(struct archive *a, const struct db_ints *some, struct err *err);

/* ---- files.c ---- */

/* Opens the files of a month, cut to files[].bytes; *ret_is_named: they have their names already. */
int archive_files_open(struct archive *a, bool *ret_is_named, struct err *err);
void archive_files_close(struct archive *a);
/* Appends the lines of the batch and syncs the files. */
int archive_files_append(struct archive *a, struct err *err);
/* Gives the files their names. */
int archive_files_name(struct archive *a, struct err *err);
/* The SHA-256 of a file, and its size. */
int archive_digest(const char *path, char ret[static ARCHIVE_DIGEST_MAX], int64_t *ret_bytes,
		   struct err *err);
/* "DIR/jobs-2024-03.csv", part 2 and later "DIR/jobs-2024-03.2.csv"; malloc()ed, NULL: out of memory. */
char *archive_path(const char *dir, enum archive_table t, int64_t month, int64_t part);
