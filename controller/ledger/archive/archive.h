/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive - moves the jobs of whole months out of the ledger into CSV files; part of store.h's contract.
 *
 * A job is archived with the month of its end, when it ran under Reeve or ended in the queue, when its
 * output, steps, script and events have been removed (jobs/prune.c), and when nothing waits for it. What
 * is counted stays in the ledger and answers as before: rollups and months are not changed; what the job
 * added to them moves to rollups_base, so that store_verify() still recomputes them; its run intervals
 * move to archived_runs, from which the share tree reads them. Of jobs of Slurm a row for each attempt stays in
 * archived_slurm, so that what Slurm or an agent says of one later is recognised (slurm/counted.h); they are archived a
 * week after their end. Imported jobs stay: a row of theirs is not
 * larger than what would have to be kept of it.
 *
 * A batch of jobs is written to the files, which are synced, and then deleted, in one transaction, which
 * also records how long each file is. An archive that was interrupted at any point is cut to the recorded
 * length and goes on. When a month is complete its files get their names (jobs-2024-03.csv) and digests.
 */
#pragma once
#include "controller/ledger/store.h"

struct store_archive_month {
	int64_t month; /* of calendar.h */
	int64_t part;  /* 1; jobs that could be archived only later come with part 2, ... */
	int64_t jobs, bytes;
	bool has_continued; /* an earlier run had begun it */
};
struct store_archive {
	int64_t before;	 /* months before this one */
	const char *dir; /* absolute; made where it does not exist */
	bool is_dry_run; /* only counts; dir may be NULL */
	int64_t now_ns;
	int (*on_month)(void *ctx, const struct store_archive_month *m, struct err *err);
	void (*on_progress)(void *ctx, const struct store_archive_month *m); /* or NULL */
	void *ctx;
};
struct store_archived {
	int64_t months, jobs, bytes;
	int64_t staying; /* ended before, but their output or events are still kept */
};
/* -EINVAL: a month that has not ended yet; -EEXIST: a file of that name is there, or an unfinished month
 * belongs to another directory; -EBADMSG: an unfinished file is shorter than recorded. */
int store_archive(struct store *s, const struct store_archive *how, struct store_archived *ret,
		  struct err *err);

/* Compares the files of a directory with what the ledger recorded of them: size, digest, and the sums of
 * the attempts by account, user and pool. Calls fn with a line of text for each difference. */
struct store_archive_checked {
	int64_t months, files, differences;
};
typedef int (*store_archive_line_fn)(void *ctx, const char *line, struct err *err);
struct store_archive_check {
	const char *dir;
	store_archive_line_fn fn;
	void *ctx;
};
int store_archive_check(struct store *s, const struct store_archive_check *how,
			struct store_archive_checked *ret, struct err *err);

/* Sets err to "no job N", with the archives that may have it, by the numbers of their jobs: for the owner
 * and for others alike. Returns -ENOENT, or < 0. */
int store_no_job(struct store *s, int64_t job, struct err *err);
