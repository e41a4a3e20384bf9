/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest - stores what a node said in one exchange, in steps, so that exchanges of many nodes can be stored in one transaction and a server's
 * database is asked for what a step needs of all of them at once (db_ask()). store_ingest() is all of it for one exchange.
 *
 * In a transaction, with each exchange: store_ingest_begin(), store_ingest_ask(), store_ingest_said(), store_ingest_ask_list(),
 * store_ingest_list(); what is asked for one may be sent long before it is used, so no two may be of the same node. After a failure the
 * transaction is to be rolled back.
 */
#pragma once
#include <stdbool.h>
#include "controller/ledger/nodes/given/given.h"
#include "controller/ledger/nodes/sync.h"

struct err;
struct store;
struct sync;

/* One exchange while it is stored. What it points at must live as long. */
struct store_ingest {
	struct store *s;
	const struct sync *in;
	const struct sync_from *from;
	struct sync_result
		*out; /* empty at first; freed with sync_result_done(), after a failure too */
	/* Filled by the steps: */
	bool has_rebooted;
	bool may_adopt; /* the ledger was restored, and the node had not sent it all that it has */
	bool is_told;			/* now it has */
	bool has_changed;		/* in what the queue reads of nodes */
	struct store_given_list *given; /* what the node has open, after its reports */
	int64_t n_touched;		/* store.n_touched, then */
};
void store_ingest_done(struct store_ingest *g);

/* Makes room in *g->out for one answer to each thing that the node said. After it, also where it fails: store_ingest_done(). -ENOMEM. */
int store_ingest_begin(struct store_ingest *g, struct err *err);
/* Sends ahead what store_ingest_said() will query first. */
int store_ingest_ask(struct store_ingest *g, struct err *err);
/* Writes the node's row, its steps, its reports and its output. Failures: as of store_ingest(). */
int store_ingest_said(struct store_ingest *g, struct err *err);
/* Sends ahead what store_ingest_list() will query first. */
int store_ingest_ask_list(struct store_ingest *g, struct err *err);
/* Compares the node's list of jobs with the ledger's: after its reports, as a job that ended is closed by its report before its absence
 * from the list could count as a loss. */
int store_ingest_list(struct store_ingest *g, struct err *err);
/* What the node has open, as the transaction leaves it; NULL: that is to be read again. */
const struct store_given_list *store_ingest_given(const struct store_ingest *g);
