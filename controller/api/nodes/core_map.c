/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_map.c - GET /v1/nodes/jobs: which job has which cores of which node. Callers get the jobs that they may see by
 * number; of others they get the cores alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/authz.h"
#include "controller/api/call.h"
#include "controller/api/nodes/nodes.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/nodes/running.h"

#define ROWS_MAX 1000 /* of an answer */
#define SPANS_MAX 64  /* of a job on a node */
#define CPU_MAX 65535

struct core_map {
	struct call *c;
	struct doc rows;
	int64_t limit, n;
	char next[REQUEST_NAME_MAX];
};

/* One span, "4-7" or "9", of a list that a node sent. NULL: the rest is no list. */
static const char *read_span(const char *at, long *ret_first, long *ret_last)
{
	char *end;

	*ret_first = strtol(at, &end, 10);
	if (end == at || *ret_first < 0 || *ret_first > CPU_MAX)
		return NULL;
	*ret_last = *ret_first;
	if (*end == '-') {
		at = end + 1;
		*ret_last = strtol(at, &end, 10);
	}
	if (end == at || *ret_last < *ret_first || *ret_last > CPU_MAX)
		return NULL;
	return *end == ',' ? end + 1 : *end == '\0' ? end : NULL;
}

static json_t *encode_spans(const char *cpus)
{
	_cleanup_doc_ struct doc a = doc_array();
	long first, last;

	for (int n = 0; cpus && *cpus && n < SPANS_MAX; n++) {
		cpus = read_span(cpus, &first, &last);
		if (cpus)
			doc_add(&a, json_pack("{s:I,s:I}", "first", (json_int_t)first, "n",
					      (json_int_t)(last - first + 1)));
	}
	return doc_take(&a);
}

static json_t *encode_running(const struct core_map *m, const struct store_running *r)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "node", r->node);
	doc_text(&d, "cluster", r->cluster);
	if (authz_sees_job(m->c, r->uid, r->account)) {
		if (store_is_slurm(r->job))
			doc_int(&d, "slurm_job", store_slurm_id(r->job));
		doc_int(&d, "job", r->job);
		doc_text(&d, "name", r->name);
		doc_text(&d, "user", r->user);
		doc_text(&d, "account", r->account);
		if (r->gpu_idle_ns)
			doc_int(&d, "gpu_idle_ns", r->gpu_idle_ns);
	}
	doc_int(&d, "ncpus", r->ncpus);
	doc_int(&d, "ngpus", r->ngpus);
	doc_flag(&d, "suspended", r->is_suspended);
	doc_text(&d, "cpus", r->cpus);
	doc_set(&d, "spans", encode_spans(r->cpus));
	return doc_take(&d);
}

/* One row more than the limit is read: its node is where the next answer begins. */
static int add_running(void *ctx, const struct store_running *r, struct err *err)
{
	struct core_map *m = ctx;

	(void)err;
	if (m->n++ < m->limit)
		doc_add(&m->rows, encode_running(m, r));
	else
		snprintf(m->next, sizeof(m->next), "%s", r->node);
	return 0;
}

int route_core_map(struct call *c, struct err *err)
{
	static const int64_t limit = ROWS_MAX;
	_cleanup_doc_ struct doc d = doc_message();
	struct core_map m = { .c = c, .rows = doc_array() };
	struct store_running_filter f = { .node = call_query_text(c, "node"),
					  .from = call_query_text(c, "from") };
	int r = call_query_int(c, "limit", (struct wire_int){ 1, ROWS_MAX, &limit }, &m.limit,
			       err);

	f.limit = m.limit + 1;
	if (r >= 0)
		r = store_running(c->api->c.store, &f, add_running, &m, err);
	doc_set(&d, "rows", doc_take(&m.rows));
	doc_text_if(&d, "next", m.next);
	return r < 0 ? r : doc_finish(&d, &c->answer, err);
}
