/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows - the table slurm_attempts: what Slurm said of each attempt. For the ledger's own files, in the transaction under way. */
#pragma once
#include "common/wire/slurm_batch.h"
#include "controller/ledger/store_sqlite.h"

struct rows_attempt {
	int64_t origin;
	int64_t job; /* number of the ledger; 0: it has none yet */
	int32_t attempt;
	bool is_another; /* the last job on record by this id is another one */
	/* Its texts and amounts are filled only as far as the table has them; walltime and memory are the job's. */
	struct slurm_batch_job row;
	enum slurm_batch_source source;
	int64_t at_s, gone_ns, due_ns;
};

/* slurm_attempts.source of it. */
int64_t rows_source_number(enum slurm_batch_source source);
/* The attempt of this id and time of submission. 1; 0: there is none. */
int rows_load(struct store *s, int64_t origin, const struct slurm_batch_job *key,
	      struct rows_attempt *ret, struct err *err);
/* Inserts it, or replaces what is there, with the job that it is of. */
int rows_save(struct store *s, const struct rows_attempt *a, struct err *err);
int rows_set_due(struct store *s, const struct rows_attempt *a, int64_t due_ns,
		 struct err *err);
int rows_set_gone(struct store *s, const struct rows_attempt *a, int64_t gone_ns,
		  struct err *err);

/* An agent has reported a run of `attempt` as that of job `from`, and then the next run of the same attempt, which job `to` is made for: it takes the row
 * along where Slurm's start is not before the end of the run before. */
int rows_move_later(struct store *s, int64_t from, int32_t attempt, int64_t to,
		    struct err *err);
/* 1: there is such a row. */
int rows_has_later(struct store *s, int64_t from, int32_t attempt, struct err *err);

struct rows_list {
	struct rows_attempt *of; /* malloc()ed */
	size_t n;
};
/* All attempts of an id, the last generation first, in the order of their attempts. */
int rows_of_id(struct store *s, int64_t origin, int64_t id, struct rows_list *ret,
	       struct err *err);
/* At most 1,000 whose due_ns has come. */
int rows_due(struct store *s, int64_t origin, int64_t now_ns, struct rows_list *ret,
	     struct err *err);
/* All that have not ended, by id. */
int rows_open(struct store *s, int64_t origin, struct rows_list *ret, struct err *err);
void rows_list_done(struct rows_list *l);

/* *ret_mark_s 0: there is none. */
int rows_load_mark(struct store *s, int64_t origin, int64_t *ret_mark_s, struct err *err);
/* Moves the mark forward; never back. */
int rows_set_mark(struct store *s, int64_t origin, int64_t mark_s, struct err *err);
int rows_set_live(struct store *s, int64_t origin, int64_t now_ns, struct err *err);
