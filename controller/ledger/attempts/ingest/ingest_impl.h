/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest_impl - what ingest.c and ingest_reports.c share: one exchange while it is written. */
#pragma once
#include "controller/ledger/store_sqlite.h"

struct ingest {
	struct store *s;
	const struct sync *in;
	const struct sync_from *from;
	struct sync_result *out;
	bool has_rebooted;
	bool may_adopt; /* the ledger was restored, and the node had not sent it all that it has */
	bool is_told;	  /* now it has */
	bool has_changed; /* in what the queue reads of nodes */
};

/* Every report of the exchange, in its order. */
int ingest_reports(struct ingest *g, struct err *err);
/* Adds the job to those whose other nodes get a new desired state. */
int ingest_wake_others(struct ingest *g, int64_t job, struct err *err);
