/* SPDX-License-Identifier: GPL-2.0-or-later */
/* given_kept.c - a hash table of nodes with their lists, and one of the jobs in them. See given_kept.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/hash.h"
#include "controller/ledger/nodes/given/given.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/store_sqlite.h"

/* Powers of two: a node or two, and some jobs, in a bucket. */
#define NODE_BUCKETS 16384
#define JOB_BUCKETS 65536

struct kept_node;

/* A row of a list. */
struct kept_row {
	const struct store_given *row;
	struct kept_node *of;
	struct kept_row *next; /* in its bucket */
};

struct kept_node {
	struct kept_node *next;	       /* in its bucket */
	struct store_given_list *list; /* NULL: not kept */
	struct kept_row *rows;	       /* of the list */
	int64_t transaction;	       /* in which it was read, or before it */
	bool is_asked;		       /* its query was sent ahead */
	int64_t n_forgotten;	       /* of the table, then */
	char node[REQUEST_NAME_MAX];
};

struct store_given_kept {
	struct kept_node *nodes[NODE_BUCKETS];
	struct kept_row *jobs[JOB_BUCKETS];
	int64_t n_forgotten; /* how often something was */
	int64_t transaction; /* counts them */
};

static struct kept_row **bucket_of_job(struct store_given_kept *t, int64_t job)
{
	return &t->jobs[hash_fold(hash_number(HASH_BEGIN, (uint64_t)job)) & (JOB_BUCKETS - 1)];
}

static struct kept_node **bucket_of_node(struct store_given_kept *t, const char *node)
{
	return &t->nodes[hash_fold(hash_text(HASH_BEGIN, node)) & (NODE_BUCKETS - 1)];
}

static struct kept_node *find_node(const struct store *s, const char *node)
{
	struct kept_node *k = s->given_kept ? *bucket_of_node(s->given_kept, node) : NULL;

	while (k && strcmp(k->node, node) != 0)
		k = k->next;
	return k;
}

/* NULL: out of memory. */
static struct kept_node *make_node(struct store *s, const char *node)
{
	struct kept_node *k = find_node(s, node), **bucket;

	if (k)
		return k;
	if (!s->given_kept)
		s->given_kept = calloc(1, sizeof(*s->given_kept));
	k = s->given_kept ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return NULL;
	snprintf(k->node, sizeof(k->node), "%s", node);
	bucket = bucket_of_node(s->given_kept, node);
	k->next = *bucket;
	*bucket = k;
	return k;
}

/* ---- lists ---- */

static void remove_rows(struct store_given_kept *t, struct kept_node *k)
{
	for (size_t i = 0; i < k->list->n; i++) {
		struct kept_row **at = bucket_of_job(t, k->rows[i].row->desired.job);

		while (*at != &k->rows[i])
			at = &(*at)->next;
		*at = k->rows[i].next;
	}
}

static void drop_list(struct store_given_kept *t, struct kept_node *k)
{
	if (!k->list)
		return;
	remove_rows(t, k);
	free(k->rows);
	k->rows = NULL;
	k->list = store_given_put(k->list);
}

struct store_given_list *store_given_kept_find(struct store *s, const char *node)
{
	struct kept_node *k = find_node(s, node);

	return k && k->list ? store_given_ref(k->list) : NULL;
}

bool store_given_is_kept(const struct store *s, const char *node)
{
	const struct kept_node *k = find_node(s, node);

	return k && k->list;
}

void store_given_kept_ask(struct store *s, const char *node)
{
	struct kept_node *k = make_node(s, node);

	if (!k)
		return;
	k->is_asked = true;
	k->n_forgotten = s->given_kept->n_forgotten;
}

static bool is_too_old(const struct store *s, const struct kept_node *k)
{
	return k->is_asked && k->n_forgotten != s->given_kept->n_forgotten;
}

void store_given_kept_add(struct store *s, struct store_given_list *l)
{
	struct kept_node *k = make_node(s, l->node);
	bool is_old = !k || is_too_old(s, k);

	if (k)
		k->is_asked = false;
	if (is_old)
		return;
	drop_list(s->given_kept, k);
	k->rows = calloc(l->n + 1, sizeof(*k->rows));
	if (!k->rows)
		return;
	k->list = store_given_ref(l);
	k->transaction = s->given_kept->transaction;
	for (size_t i = 0; i < l->n; i++) {
		struct kept_row **bucket = bucket_of_job(s->given_kept, l->rows[i].desired.job);

		k->rows[i] = (struct kept_row){ .row = &l->rows[i], .of = k, .next = *bucket };
		*bucket = &k->rows[i];
	}
}

/* ---- what changes ---- */

void store_forget_given(struct store *s, const char *node)
{
	struct kept_node *k = find_node(s, node);

	if (!s->given_kept)
		return;
	s->given_kept->n_forgotten++;
	if (k)
		drop_list(s->given_kept, k);
}

/* The first row of the job from `r` on. */
static struct kept_row *find_row(struct kept_row *r, int64_t job)
{
	while (r && r->row->desired.job != job)
		r = r->next;
	return r;
}

void store_forget_given_job(struct store *s, int64_t job)
{
	struct store_given_kept *t = s->given_kept;
	struct kept_row *r;

	if (!t)
		return;
	t->n_forgotten++;
	while ((r = find_row(*bucket_of_job(t, job), job)))
		drop_list(t, r->of);
}

void store_given_kept_show(struct store *s, int64_t job, int32_t attempt)
{
	struct store_given_kept *t = s->given_kept;
	struct kept_row *r = t ? find_row(*bucket_of_job(t, job), job) : NULL;

	for (; r; r = find_row(r->next, job))
		if (r->row->desired.attempt != attempt || !r->row->is_shown ||
		    r->row->missing_ns) {
			store_forget_given_job(s, job);
			return;
		}
}

/* What was read in this transaction, or since the one before. */
static void drop_latest(struct store_given_kept *t)
{
	t->n_forgotten++;
	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (struct kept_node *k = t->nodes[i]; k; k = k->next)
			if (k->transaction == t->transaction)
				drop_list(t, k);
}

void store_given_kept_end(struct store *s, enum db_end how)
{
	if (how == DB_UNKNOWN)
		store_forget_all_given(s);
	if (!s->given_kept)
		return;
	if (how == DB_ROLLED_BACK)
		drop_latest(s->given_kept);
	s->given_kept->transaction++;
}

void store_forget_all_given(struct store *s)
{
	struct store_given_kept *t = s->given_kept;

	for (size_t i = 0; t && i < NODE_BUCKETS; i++)
		while (t->nodes[i]) {
			struct kept_node *gone = t->nodes[i];

			t->nodes[i] = gone->next;
			drop_list(t, gone);
			free(gone);
		}
	free(t);
	s->given_kept = NULL;
}
