/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest_impl - what the files of this folder share. */
#pragma once
#include "controller/ledger/attempts/ingest/ingest.h"
#include "controller/ledger/store_sqlite.h"

/* Sends ahead what the first of the reports need. */
int ingest_ask_reports(struct store_ingest *g, struct err *err);
/* Every report of the exchange, in its order. */
int ingest_reports(struct store_ingest *g, struct err *err);
/* Adds the job to those whose other nodes get a new desired state. */
int ingest_wake_others(struct store_ingest *g, int64_t job, struct err *err);
/* To be called where something is written that is not of this node alone: what was sent ahead for other exchanges may be out of date. */
void ingest_touch_others(struct store_ingest *g);
