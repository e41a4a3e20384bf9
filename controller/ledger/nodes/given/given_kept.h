/* SPDX-License-Identifier: GPL-2.0-or-later */
/* given_kept - the lists of given.h, kept in memory by node until something of them changes: a node sends two exchanges for each report, and
 * nearly all of them find what the one before found. For the ledger's own files.
 *
 * Whatever writes a column that given.c reads forgets the lists of its job or its node: store_announce_job() does so, and those that
 * allocate something to a node name it. A build with sanitizers compares each list that it uses again with the ledger, and aborts where they
 * differ.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/db/db.h"

struct store;
struct store_given_list;

/* Its own reference, to be dropped with store_given_put(); NULL: none is kept. */
struct store_given_list *store_given_kept_find(struct store *s, const char *node);
bool store_given_is_kept(const struct store *s, const char *node);
/* The query of the node's list is sent ahead: what is forgotten between this and store_given_kept_add() makes its answer too old to be kept. */
void store_given_kept_ask(struct store *s, const char *node);
/* What a query found. Where it cannot be kept (no memory, or too old) it is not. */
void store_given_kept_add(struct store *s, struct store_given_list *l);

/* The node has been allocated something. */
void store_forget_given(struct store *s, const char *node);
/* Of every node that has the job. */
void store_forget_given_job(struct store *s, int64_t job);
/* A report shows the attempt, and changes nothing else of it: what is kept stays where it was shown before. */
void store_given_kept_show(struct store *s, int64_t job, int32_t attempt);
/* At the end of a transaction. One that was rolled back leaves what was kept before it and did not change in it. */
void store_given_kept_end(struct store *s, enum db_end how);
void store_forget_all_given(struct store *s);
