/* SPDX-License-Identifier: GPL-2.0-or-later */
/* talk - one exchange with a node, from its decoded request until it is answered; for sync.c and sync_batch.c alone. */
#pragma once
#include "common/err.h"
#include "controller/api/call.h"
#include "controller/api/sync/desired.h"
#include "controller/ledger/attempts/ingest/ingest.h"

/* How long the node waits: for anything new, and with what it has reported for what follows that. */
struct talk_patience {
	int64_t wait_s, linger_ms;
};

struct talk {
	struct talk *next; /* in the queue of those to be stored */
	struct api *api;
	struct exchange *x;
	struct call call; /* for a refusal; its body is gone */
	struct sync *in;
	char cluster
		[REQUEST_NAME_MAX]; /* of the node; a copy, as the configuration may be read again before it is stored */
	struct talk_patience patience;
	/* Called once the exchange is stored, or `r` says why it is not. Wakes those who wait for what it has changed. Answers the node and
	 * frees the talk, or makes it wait. */
	void (*finish)(struct talk *t);
	int r; /* of storing it */
	struct err err;
	/* While it is stored: */
	struct sync_from from;
	struct store_ingest ingest;
	struct sync_result result;
	struct sync_desired desired; /* read at the end of the transaction that stored it */
	char credential[AUTH_HEADER_MAX];
	int64_t deadline_ns;
};

static inline struct talk *talk_free(struct talk *t)
{
	if (!t)
		return NULL;
	store_ingest_done(&t->ingest);
	sync_free(t->in);
	sync_result_done(&t->result);
	sync_desired_done(&t->desired);
	free(t);
	return NULL;
}
DEFINE_CLEANUP(struct talk *, talk_free)
