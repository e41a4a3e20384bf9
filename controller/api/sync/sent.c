/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent.c - a hash table of nodes with what each was last sent; see sent.h. A lookup or more for each exchange, of ten thousand nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/hash.h"
#include "controller/api/sync/sent.h"

#define BUCKETS 16384 /* a power of two: one node in a bucket or two */

struct sync_sent_table {
	struct sync_sent *at[BUCKETS];
};

static struct sync_sent **bucket_of(struct sync_sent_table *t, const char *node)
{
	return &t->at[hash_fold(hash_text(HASH_BEGIN, node)) & (BUCKETS - 1)];
}

struct sync_sent *sync_sent_find(struct sync_sent_table **t, const char *node)
{
	struct sync_sent **bucket, *one;

	if (!*t)
		*t = calloc(1, sizeof(**t));
	if (!*t)
		return NULL;
	bucket = bucket_of(*t, node);
	for (one = *bucket; one; one = one->next)
		if (!strcmp(one->node, node))
			return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	snprintf(one->node, sizeof(one->node), "%s", node);
	one->next = *bucket;
	*bucket = one;
	return one;
}

void sync_sent_free(struct sync_sent_table *t)
{
	for (size_t i = 0; t && i < BUCKETS; i++)
		while (t->at[i]) {
			struct sync_sent *gone = t->at[i];

			t->at[i] = gone->next;
			free(gone);
		}
	free(t);
}
