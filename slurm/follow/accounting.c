/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounting.c - windows of time before the mark, and single jobs that the controller misses; see accounting.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "common/log.h"
#include "slurm/follow/accounting.h"
#include "slurm/follow/batch.h"
#include "slurm/follow/read/dbd.h"
#include "slurm/follow/loop.h"

#define WINDOW_FIRST_S 900
#define ROWS_MANY 50000 /* of one answer: the next window is half as long */
#define ROWS_FEW 10000	/* below this the next one is twice as long */

struct accounting {
	bool is_asked;	/* the controller has said what its mark is */
	int64_t mark_s; /* 0: it has none */
	int64_t window_s;
	struct slurm_batch_present wanted[SLURM_BATCH_WANTED_MAX];
	size_t n_wanted;
};

int accounting_open(struct accounting **ret, struct err *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return err_set(err, -ENOMEM, "out of memory");
	(*ret)->window_s = WINDOW_FIRST_S;
	return 0;
}

struct accounting *accounting_close(struct accounting *a)
{
	free(a);
	return NULL;
}

int64_t accounting_interval_s(const struct follow *f)
{
	return f->config.accounting_s;
}

void accounting_set_wanted(struct follow *f, const struct slurm_batch_answer *answer)
{
	struct accounting *a = f->accounting;

	a->n_wanted = answer->n_wanted;
	memcpy(a->wanted, answer->wanted, answer->n_wanted * sizeof(*a->wanted));
}

/* `mark_s` 0: the mark stays. The controller answers with its mark, which is the only copy that counts. */
static int send_rows(struct follow *f, const struct dbd_rows *rows, int64_t mark_s,
		     struct err *err)
{
	struct slurm_batch b = { .source = SLURM_BATCH_SLURMDBD,
				 .at_s = time(NULL),
				 .mark_s = mark_s,
				 .jobs = rows->of,
				 .n_jobs = rows->n };
	struct slurm_batch_answer answer;
	int r;

	snprintf(b.cluster, sizeof(b.cluster), "%s", f->config.cluster);
	r = batch_send(f, &b, &answer, err);
	if (r < 0)
		return r;
	f->accounting->mark_s = answer.mark_s;
	f->accounting->is_asked = true;
	slurm_batch_answer_done(&answer);
	return 0;
}

/* The controller's mark; where it has none the first one is set: Since, or now. */
static int find_mark(struct follow *f, struct err *err)
{
	const struct dbd_rows none = { NULL, 0 };
	struct accounting *a = f->accounting;
	int r = 0;

	if (!a->is_asked)
		r = send_rows(f, &none, 0, err);
	if (r >= 0 && !a->mark_s)
		r = send_rows(f, &none, f->config.since_s ? f->config.since_s : time(NULL),
			      err);
	return r;
}

/* For the next run: `n` rows came in this one. slurmdbd holds all rows of an answer in memory. */
static void choose_window(struct accounting *a, const struct follow_config *c, size_t n)
{
	if (n > ROWS_MANY && a->window_s > 60)
		a->window_s /= 2;
	else if (n < ROWS_FEW)
		a->window_s *= 2;
	if (a->window_s > c->window_s)
		a->window_s = c->window_s;
}

/* slurmdbd makes the row of a job from the message of its end where that of its start is still under way: without a partition.
 * Such a row is left to a later window, which overlaps this one; an older one is taken as it is. */
static void drop_incomplete(struct dbd_rows *rows, int64_t after_s)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (*rows->of[i].queue || rows->of[i].end_s <= after_s)
			rows->of[kept++] = rows->of[i];
	rows->n = kept;
}

/* LOOP_AGAIN: the window did not reach the present. */
static int read_window(struct follow *f, struct dbd *d, struct err *err)
{
	struct accounting *a = f->accounting;
	int64_t now_s = time(NULL), from_s = a->mark_s - f->config.overlap_s;
	int64_t to_s = a->mark_s + a->window_s < now_s ? a->mark_s + a->window_s : now_s;
	struct dbd_rows rows;
	int r = dbd_ended(d, from_s, to_s, &rows, err);

	if (r < 0)
		return r;
	log_line(LOG_DEBUG, "slurmdbd: %zu rows ended in %lld s before %lld", rows.n,
		 (long long)(to_s - from_s), (long long)to_s);
	choose_window(a, &f->config, rows.n);
	drop_incomplete(&rows, now_s - f->config.overlap_s / 2);
	r = send_rows(f, &rows, to_s, err);
	free(rows.of);
	return r < 0 ? r : to_s < now_s ? LOOP_AGAIN : 0;
}

/* Rows that slurmdbd does not have yet stay away: the controller names their attempts again. */
static int read_wanted(struct follow *f, struct dbd *d, struct err *err)
{
	struct accounting *a = f->accounting;
	struct dbd_rows rows;
	int r;

	if (!a->n_wanted)
		return 0;
	r = dbd_jobs(d, a->wanted, a->n_wanted, &rows, err);
	if (r < 0)
		return r;
	r = rows.n ? send_rows(f, &rows, 0, err) : 0;
	free(rows.of);
	if (r >= 0)
		a->n_wanted = 0;
	return r;
}

int accounting_run(struct follow *f, struct err *err)
{
	_cleanup_(dbd_closep) struct dbd *d = NULL;
	int r = find_mark(f, err);

	if (r >= 0)
		r = dbd_open(follow_config_slurm_cluster(&f->config), &d, err);
	if (r >= 0)
		r = read_wanted(f, d, err);
	return r < 0 ? r : read_window(f, d, err);
}
