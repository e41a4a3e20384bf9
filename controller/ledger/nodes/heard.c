/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heard.c - see heard.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/nodes/heard.h"
#include "controller/ledger/nodes/sync.h"
#include "controller/ledger/store_sqlite.h"

#define TEXTS 5 /* of a node's row, which are made for it */

struct store_heard {
	struct db_rows nodes, numbers;
	char **texts; /* in `nodes` */
	size_t n_texts, size_texts;
};

/* An operator's drain that has begun stays, whatever the node says of itself. */
static const char node_sql[] =
	"INSERT INTO nodes(node, cluster, boot, version, address, topology, notes,"
	" tier, draining, lost, ncpus, mem_bytes, jobfs_bytes, ngpus,"
	" free_ncpus, free_mem_bytes, free_jobfs_bytes, free_ngpus,"
	" first_ns, last_ns, gpus, gpu_models, free_gpu_models,"
	" drained_gpu_models, node_type, features, pids)"
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
	" ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,"
	" ?22, ?23, ?24, ?25, ?26, ?27) ON CONFLICT(node) DO UPDATE SET"
	" cluster = excluded.cluster, boot = excluded.boot,"
	" version = excluded.version, address = excluded.address,"
	" topology = excluded.topology, notes = excluded.notes,"
	" tier = excluded.tier, draining = CASE WHEN EXISTS("
	"SELECT 1 FROM drains d WHERE d.node = excluded.node"
	" AND d.from_ns <= excluded.last_ns)"
	" THEN 1 ELSE excluded.draining END, lost = 0,"
	" ncpus = excluded.ncpus, mem_bytes = excluded.mem_bytes,"
	" jobfs_bytes = excluded.jobfs_bytes, ngpus = excluded.ngpus,"
	" free_ncpus = excluded.free_ncpus,"
	" free_mem_bytes = excluded.free_mem_bytes,"
	" free_jobfs_bytes = excluded.free_jobfs_bytes,"
	" free_ngpus = excluded.free_ngpus, last_ns = excluded.last_ns,"
	" gpus = excluded.gpus, gpu_models = excluded.gpu_models,"
	" free_gpu_models = excluded.free_gpu_models,"
	" drained_gpu_models = excluded.drained_gpu_models,"
	" node_type = excluded.node_type, features = excluded.features,"
	" pids = excluded.pids";
#define NODE_FORMAT                                                                            \
	"ttttttt"                                                                              \
	"iii"                                                                                  \
	"iiii"                                                                                 \
	"iiii"                                                                                 \
	"ii"                                                                                   \
	"tttttti"
#define NODE_VALUES(in, from, texts)                                                           \
	(in)->node, (from)->cluster, (in)->boot, (in)->version, (from)->address,               \
		(in)->topology, (texts)[0], (int64_t)(in)->tier, (int64_t)(in)->draining,      \
		INT64_C(0), (in)->capacity.ncpus, (in)->capacity.mem_bytes,                    \
		(in)->capacity.jobfs_bytes, (in)->capacity.ngpus, (in)->free.ncpus,            \
		(in)->free.mem_bytes, (in)->free.jobfs_bytes, (in)->free.ngpus,                \
		(from)->now_ns, (from)->now_ns, (texts)[1], (texts)[2], (texts)[3],            \
		(texts)[4], (in)->node_type, (in)->features, (in)->pids

#define NUMBER_FORMAT "tti"
static const char number_sql[] = "UPDATE boots SET number = ?3 WHERE node = ?1 AND boot = ?2";

/* ---- the texts of a row ---- */

static void free_texts(char *texts[static TEXTS])
{
	for (size_t i = 0; i < TEXTS; i++)
		free(texts[i]);
}

static char *copy_gpus(const struct gpus *g)
{
	char text[GPUS_TEXT_MAX];

	return strdup(gpus_format(g, text));
}

static int make_texts(const struct sync *in, char *ret[static TEXTS], struct err *err)
{
	ret[0] = sync_format_notes(in);
	ret[1] = sync_format_gpus(in);
	ret[2] = copy_gpus(&in->gpu_models);
	ret[3] = copy_gpus(&in->free_gpu_models);
	ret[4] = copy_gpus(&in->drained_gpu_models);
	for (size_t i = 0; i < TEXTS; i++)
		if (!ret[i]) {
			free_texts(ret);
			return err_set(err, -ENOMEM, "out of memory");
		}
	return 0;
}

/* ---- what is gathered ---- */

static struct store_heard *find_heard(struct store *s)
{
	if (s->heard)
		return s->heard;
	s->heard = calloc(1, sizeof(*s->heard));
	if (s->heard) {
		s->heard->nodes = (struct db_rows){ .sql = node_sql, .format = NODE_FORMAT };
		s->heard->numbers =
			(struct db_rows){ .sql = number_sql, .format = NUMBER_FORMAT };
	}
	return s->heard;
}

static bool has_room(struct store_heard *h)
{
	size_t larger = h->size_texts ? 2 * h->size_texts : 16 * TEXTS;
	char **more;

	if (h->n_texts + TEXTS <= h->size_texts)
		return true;
	more = reallocarray(h->texts, larger, sizeof(*more));
	if (!more)
		return false;
	h->texts = more;
	h->size_texts = larger;
	return true;
}

/* Becomes the owner of the texts, also after a failure. */
static int gather_node(struct store *s, const struct sync *in, const struct sync_from *from,
		       char *texts[static TEXTS], struct err *err)
{
	struct store_heard *h = find_heard(s);

	if (!h || !has_room(h)) {
		free_texts(texts);
		return err_set(err, -ENOMEM, "out of memory");
	}
	memcpy(h->texts + h->n_texts, texts, TEXTS * sizeof(*texts));
	h->n_texts += TEXTS;
	return db_rows_add(&h->nodes, err, NODE_VALUES(in, from, texts));
}

int store_heard(struct store *s, const struct sync *in, const struct sync_from *from,
		bool can_wait, struct err *err)
{
	char *texts[TEXTS];
	int r = make_texts(in, texts, err);

	if (r < 0)
		return r;
	if (can_wait)
		return gather_node(s, in, from, texts, err);
	r = db_run_later(s->db, err, node_sql, NODE_FORMAT, NODE_VALUES(in, from, texts));
	free_texts(texts);
	return r;
}

int store_heard_number(struct store *s, const struct sync *in, struct err *err)
{
	struct store_heard *h = find_heard(s);

	return h ? db_rows_add(&h->numbers, err, in->node, in->boot, in->number)
		 : err_set(err, -ENOMEM, "out of memory");
}

int store_heard_write(struct store *s, struct err *err)
{
	struct store_heard *h = s->heard;
	int r;

	if (!h)
		return 0;
	r = db_rows_write(s->db, &h->nodes, err);
	return r < 0 ? r : db_rows_write(s->db, &h->numbers, err);
}

void store_heard_forget(struct store *s)
{
	struct store_heard *h = s->heard;

	if (!h)
		return;
	h->nodes.n = h->numbers.n = 0;
	while (h->n_texts)
		free(h->texts[--h->n_texts]);
}

void store_heard_done(struct store *s)
{
	store_heard_forget(s);
	if (!s->heard)
		return;
	db_rows_done(&s->heard->nodes);
	db_rows_done(&s->heard->numbers);
	free(s->heard->texts);
	free(s->heard);
	s->heard = NULL;
}
