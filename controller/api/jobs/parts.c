/* parts.c - see parts.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/jobs/parts.h"
#include "controller/ledger/attempts/parts.h"

/* ---- for people ---- */

static void set(json_t *j, const char *key, json_t *value)
{
	if (value)
		json_object_set_new(j, key, value);
}

static void set_document(json_t *j, const char *key, const char *text)
{
	if (text)
		set(j, key, json_loads(text, 0, NULL));
}

static json_t *encode_part(const struct store_part_row *p)
{
	const struct store_part *s = &p->share;
	json_t *j =
		json_pack("{s:i,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I}", "part", (int)p->part, "node",
			  s->node, "state", job_state_name(p->state), "cpus", p->cpus, "ncpus",
			  (json_int_t)s->ncpus, "vmem_bytes", (json_int_t)s->vmem_bytes,
			  "mem_bytes", (json_int_t)s->mem_bytes, "jobfs_bytes",
			  (json_int_t)s->jobfs_bytes, "ngpus", (json_int_t)s->ngpus);

	if (!j)
		return NULL;
	set(j, "started_ns", json_integer(p->started_ns));
	set(j, "ended_ns", json_integer(p->ended_ns));
	set(j, "running_ns", json_integer(p->running_ns));
	set(j, "suspended_ns", json_integer(p->suspended_ns));
	set(j, "note", wire_string(p->note));
	set_document(j, "usage", p->usage);
	set_document(j, "gpus", p->gpus);
	set_document(j, "end", p->end);
	return j;
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
	return store_parts(a->c.store, (struct store_whose){ row->job, row->attempt }, add_part,
			   list, err);
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

static void wake(void *ctx, const char *node)
{
	call_wake_node(ctx, node);
}

int parts_wake(struct api *a, int64_t job, struct err *err)
{
	return store_job_nodes(a->c.store, job, wake, a, err);
}
