/* store_sqlite - what the files of the SQLite store share; nobody else includes it. */
#pragma once
#include "common/db/db.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/rollup.h"
#include "controller/ledger/store.h"

struct store {
	struct db *db;
	struct calendar *calendar; /* of the zone that the ledger is kept in */
	int64_t gpu_idle_after_ns; /* store_gpus.h */
};

extern const char *const store_migrations[];

/* In the place of a day: see schema_2. */
#define STORE_NO_DAY (-1000000)
#define STORE_BASE_DAY (-1000001)

struct store_event {
	int64_t at_ns, job; /* job 0: about a node */
	const char *node, *what, *text;
};
/* The journal of what happened, in the transaction under way. */
int store_event(struct store *s, const struct store_event *e, struct err *err);

/* One report of one attempt, in the transaction under way. */
struct store_report_case {
	const struct report *report;
	const char *node;
	int64_t now_ns;
	struct sync_ack ack;	     /* filled when accepted or known */
	struct sync_gain gain;	     /* filled when something ran: running_ns is not 0 */
	struct sync_refusal refusal; /* filled when refused */
	bool is_new, has_freed;
};
enum store_report_outcome { STORE_REPORT_ACK = 1, STORE_REPORT_REFUSED = 2 };
/* An outcome above, or < 0. */
int store_report(struct store *s, struct store_report_case *c, struct err *err);

/* Adds the new part of a chunk; *ret_have: everything before this offset is kept or dropped
 * by intent. -ENOENT: the attempt was not given to this node. */
int store_output_add(struct store *s, const char *node, const struct sync_output *o,
		     int64_t *ret_have, struct err *err);

/* Ends an attempt by the controller's decision. */
struct store_loss {
	int64_t job, now_ns;
	int32_t attempt;
	const char *node, *text;
};
int store_end_lost(struct store *s, const struct store_loss *l, struct err *err);

/* Where an attempt's figures fall: the attempt's columns of these names. */
struct store_days {
	int64_t job;
	int32_t attempt;
	int64_t usage_day;
	bool is_sliced;
	struct rollup so_far; /* the attempt's figures: moved on by store_slice() */
};
/* A day gained `gained` on top of what there is so far: keeps the one day of the attempt, or
 * slices it from now on. Both in the transaction under way. */
int store_slice(struct store *s, struct store_days *d, int64_t day, const struct rollup *gained,
		struct err *err);
/* The attempt was counted as started, or ended, on that day. */
enum store_mark { STORE_MARK_STARTED, STORE_MARK_ENDED };
int store_mark(struct store *s, const struct store_days *d, enum store_mark which, int64_t day,
	       struct err *err);

/* Text column, "" for NULL. */
const char *store_text(struct db_row *st, int column);
