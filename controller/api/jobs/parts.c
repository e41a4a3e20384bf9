/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts.c - encodes the parts of a job and wakes the nodes that have them; see parts.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/jobs/parts.h"
#include "controller/ledger/attempts/multinode.h"

/* ---- the document ---- */

static json_t *encode_part(const struct store_part_row *p)
{
	_cleanup_doc_ struct doc d = doc_object();
	const struct store_part *s = &p->share;

	doc_int(&d, "part", p->part);
	doc_text(&d, "node", s->node);
	doc_text(&d, "state", job_state_name(p->state));
	doc_text(&d, "cpus", p->cpus);
	doc_int(&d, "ncpus", s->ncpus);
	doc_int(&d, "vmem_bytes", s->vmem_bytes);
	doc_int(&d, "mem_bytes", s->mem_bytes);
	doc_int(&d, "jobfs_bytes", s->jobfs_bytes);
	doc_int(&d, "ngpus", s->ngpus);
	doc_int(&d, "started_ns", p->started_ns);
	doc_int(&d, "ended_ns", p->ended_ns);
	doc_int(&d, "running_ns", p->running_ns);
	doc_int(&d, "suspended_ns", p->suspended_ns);
	doc_text(&d, "note", p->note);
	doc_stored(&d, "usage", p->usage);
	doc_stored(&d, "gpus", p->gpus);
	doc_stored(&d, "end", p->end);
	return doc_take(&d);
}

static int add_part(void *ctx, const struct store_part_row *p, struct err *err)
{
	if (json_array_append_new(ctx, encode_part(p)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int parts_describe(const struct api *a, const struct store_job *row, json_t *doc,
		   struct err *err)
{
	json_t *list = *row->hosts ? json_array() : NULL;

	if (!*row->hosts)
		return 0;
	if (json_object_set_new(doc, "parts", list) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return store_list_parts(a->c.store, (struct store_whose){ row->job, row->attempt },
				add_part, list, err);
}

char *parts_nodes(const char *hosts)
{
	char *names = strdup(hosts), *to = names;

	for (const char *at = hosts; names && *at; at += *at == ',') {
		size_t name = strcspn(at, "=,"), item = strcspn(at, ",");

		if (to > names)
			*to++ = ',';
		memmove(to, at, name);
		to += name;
		at += item;
	}
	if (names)
		*to = '\0';
	return names;
}

/* ---- waking ---- */

static void wake_node(void *ctx, const char *node)
{
	api_wake_node(ctx, node);
}

int parts_wake(struct api *a, int64_t job, struct err *err)
{
	return store_job_nodes(a->c.store, job, wake_node, a, err);
}
