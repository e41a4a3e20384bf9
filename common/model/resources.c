/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resources.c - the table of resources and its text form; see request.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/model/request.h"

#define RES(f) offsetof(struct resources, f)
#define TB (1000LL * 1000 * 1000 * 1000)

const struct resource_def request_resources[] = {
	{ "ncpus", RESOURCE_COUNT, RES(ncpus), 1, 1 << 20, "whole cores, held alone",
	  "ncpus=4" },
	{ "vmem", RESOURCE_BYTES, RES(vmem_bytes), 1000000, 1000 * TB,
	  "sum of the virtual sizes of the job's processes", "vmem=2GB" },
	{ "mem", RESOURCE_BYTES, RES(mem_bytes), 1000000, 1000 * TB,
	  "resident memory (not stated: by the site's rule from vmem)", "mem=1GB" },
	{ "jobfs", RESOURCE_BYTES, RES(jobfs_bytes), 1000000, 1000 * TB,
	  "node-local disk, in $REEVE_JOBFS and $TMPDIR", "jobfs=500MB" },
	{ "walltime", RESOURCE_SECONDS, RES(walltime_s), 1, 10LL * 366 * 86400,
	  "wall clock while running, suspension not counted", "walltime=0:10:00" },
	{ "ngpus", RESOURCE_COUNT, RES(ngpus), 1, 4096,
	  "GPUs, held alone; of one model: ngpus=a100:2", "ngpus=1" },
	{ "pids", RESOURCE_COUNT, RES(pids), 2, 4 << 20, "processes and threads at once",
	  "pids=1024" },
	{ NULL, 0, 0, 0, 0, NULL, NULL },
};

#define ITEM_MAX 128

static int64_t *value_of(struct resources *res, const struct resource_def *d)
{
	return (int64_t *)(void *)((char *)res + d->offset);
}

/* Items that are no amounts: of which kind the node must be. */
enum word { WORD_NODE_TYPE, WORD_FEATURES };
static const char *const words[] = {
	[WORD_NODE_TYPE] = "nodetype",
	[WORD_FEATURES] = "features",
};

static int unknown_resource(const char *name, struct err *err)
{
	char known[128] = "";

	for (const struct resource_def *d = request_resources; d->name; d++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 known[0] ? ", " : "", d->name);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), ", %s",
			 words[i]);
	return err_set(err, -EINVAL, "unknown resource '%.32s'; the known ones are %s", name,
		       known);
}

bool resources_is_gpu_model(const char *model)
{
	size_t n = strnlen(model, REQUEST_NAME_MAX);

	return n < REQUEST_NAME_MAX && *model >= 'a' && *model <= 'z' &&
	       strspn(model, "abcdefghijklmnopqrstuvwxyz0123456789._+-") == n;
}

/* Moves *value behind "a100:" of "a100:2" and sets *ret to "a100", in small letters; "" where no model
 * is named. */
static int take_model(const char **value, char ret[static REQUEST_NAME_MAX], struct err *err)
{
	const char *colon = strrchr(*value, ':');
	size_t n = colon ? (size_t)(colon - *value) : 0;

	memset(ret, 0, REQUEST_NAME_MAX);
	if (!colon && isalpha((unsigned char)**value))
		return err_set(err, -EINVAL,
			       "ngpus=%.64s has no number; write e.g. ngpus=%.64s:1", *value,
			       *value);
	if (!colon)
		return 0;
	for (size_t i = 0; i < n && n < REQUEST_NAME_MAX; i++)
		ret[i] = (char)tolower((unsigned char)(*value)[i]);
	if (n >= REQUEST_NAME_MAX || !resources_is_gpu_model(ret))
		return err_set(err, -EINVAL,
			       "ngpus: '%.*s' is not a GPU model; write MODEL:NUMBER, e.g. "
			       "ngpus=a100:2",
			       n < REQUEST_NAME_MAX ? (int)n : REQUEST_NAME_MAX, *value);
	*value = colon + 1;
	return 0;
}

static int parse_amount(const struct resource_def *d, const char *text, enum amount_units units,
			int64_t *ret, struct err *err)
{
	switch (d->kind) {
	case RESOURCE_COUNT:
		return amount_parse_count(text, ret, err);
	case RESOURCE_BYTES:
		return amount_parse_bytes_in(text, units, ret, err);
	default:
		return amount_parse_seconds(text, ret, err);
	}
}

static void format_amount(const struct resource_def *d, int64_t v,
			  char buf[static AMOUNT_TEXT_MAX])
{
	switch (d->kind) {
	case RESOURCE_COUNT:
		snprintf(buf, AMOUNT_TEXT_MAX, "%lld", (long long)v);
		break;
	case RESOURCE_BYTES:
		amount_format_bytes_exact(v, buf);
		break;
	default:
		amount_format_seconds(v, buf);
	}
}

static int check_bounds(const struct resource_def *d, int64_t v, struct err *err)
{
	char buf[AMOUNT_TEXT_MAX];

	if (v >= d->min && v <= d->max)
		return 0;
	format_amount(d, v < d->min ? d->min : d->max, buf);
	return err_set(err, -EINVAL, "%s must be at %s %s%s, e.g. %s", d->name,
		       v < d->min ? "least" : "most", buf,
		       d->kind == RESOURCE_BYTES && v < d->min ? " (was a unit forgotten?)"
							       : "",
		       d->example);
}

/* A list while it is parsed. */
struct parsing {
	struct resources res;
	unsigned seen;	  /* bits: the table's, then those of words */
	bool in_features; /* an item without '=' is one more feature */
	enum amount_units units;
};

static int parse_value(const struct resource_def *d, const char *value, struct parsing *p,
		       struct err *err)
{
	struct resources *res = &p->res;
	char model[REQUEST_NAME_MAX];
	bool is_gpus = d->offset == RES(ngpus);
	int64_t v;
	int r = is_gpus ? take_model(&value, model, err) : 0;

	if (r < 0)
		return r;
	r = parse_amount(d, value, p->units, &v, err);
	if (r < 0)
		return err_prefix(err, r, "%s", d->name);
	r = check_bounds(d, v, err);
	if (r < 0)
		return r;
	*value_of(res, d) = v;
	if (is_gpus)
		memcpy(res->gpu_model, model, sizeof(model));
	return 0;
}

static int note_seen(struct parsing *p, size_t which, const char *name, struct err *err)
{
	if (p->seen & 1U << which)
		return err_set(err, -EINVAL, "%s is given twice in one list", name);
	p->seen |= 1U << which;
	return 0;
}

static int parse_word(struct parsing *p, enum word w, const char *value, struct err *err)
{
	struct resources *res = &p->res;
	int r = note_seen(p, ARRAY_LEN(request_resources) + w, words[w], err);

	if (r < 0)
		return r;
	p->in_features = w == WORD_FEATURES;
	if (w == WORD_NODE_TYPE) {
		r = features_lower(value, res->node_type, sizeof(res->node_type), err);
	} else {
		res->features[0] = '\0';
		r = features_add(res->features, value, err);
	}
	return r < 0 ? err_prefix(err, r, "%s", words[w]) : 0;
}

static int parse_named(struct parsing *p, const char *name, const char *value, struct err *err)
{
	const struct resource_def *d = request_resources;
	int r;

	for (size_t w = 0; w < ARRAY_LEN(words); w++)
		if (!strcmp(words[w], name))
			return parse_word(p, (enum word)w, value, err);
	while (d->name && strcmp(d->name, name) != 0)
		d++;
	if (!d->name)
		return unknown_resource(name, err);
	p->in_features = false;
	r = note_seen(p, (size_t)(d - request_resources), d->name, err);
	return r < 0 ? r : parse_value(d, value, p, err);
}

static int parse_item(struct parsing *p, char *item, struct err *err)
{
	char *eq = strchr(item, '='), *value;

	if (!eq && p->in_features)
		return features_add(p->res.features, item, err);
	if (!eq)
		return err_set(err, -EINVAL, "'%s' is not NAME=AMOUNT, e.g. ncpus=4", item);
	value = eq + 1 + strspn(eq + 1, " \t");
	while (eq > item && (eq[-1] == ' ' || eq[-1] == '\t'))
		eq--;
	*eq = '\0';
	return parse_named(p, item, value, err);
}

/* The next item of a comma list, trimmed, into buf; the rest in *text. */
static int next_item(const char **text, char buf[static ITEM_MAX], struct err *err)
{
	const char *p = *text + strspn(*text, " \t");
	size_t n = strcspn(p, ",");

	*text = p[n] ? p + n + 1 : NULL;
	while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
		n--;
	if (!n)
		return err_set(err, -EINVAL,
			       "an empty item in the resource list; write e.g. "
			       "ncpus=4,vmem=2GB,jobfs=500MB,walltime=0:10:00");
	if (n >= ITEM_MAX)
		return err_set(err, -EINVAL, "'%.32s...' is too long for a resource", p);
	memcpy(buf, p, n);
	buf[n] = '\0';
	return 0;
}

int resources_parse(const char *text, struct resources *res, struct err *err)
{
	return resources_parse_in(text, AMOUNT_AS_WRITTEN, res, err);
}

int resources_parse_in(const char *text, enum amount_units units, struct resources *res,
		       struct err *err)
{
	struct parsing p = { .res = *res, .units = units };
	char item[ITEM_MAX];
	int r;

	while (text) {
		r = next_item(&text, item, err);
		if (r < 0)
			return r;
		r = parse_item(&p, item, err);
		if (r < 0)
			return r;
	}
	*res = p.res;
	return 0;
}

static size_t add_word(char *buf, size_t size, size_t used, const char *name, const char *text)
{
	if (!*text || used >= size)
		return used;
	return used + (size_t)snprintf(buf + used, size - used, "%s%s=%s", used ? "," : "",
				       name, text);
}

const char *resources_format(const struct resources *res, char *buf, size_t size)
{
	char amount[AMOUNT_TEXT_MAX];
	size_t used = 0;

	buf[0] = '\0';
	for (const struct resource_def *d = request_resources; d->name; d++) {
		int64_t v = *value_of((struct resources *)res, d);
		const char *model = d->offset == RES(ngpus) ? res->gpu_model : "";

		if (!v || used >= size)
			continue;
		format_amount(d, v, amount);
		used += (size_t)snprintf(buf + used, size - used, "%s%s=%s%s%s",
					 used ? "," : "", d->name, model, *model ? ":" : "",
					 amount);
	}
	used = add_word(buf, size, used, words[WORD_NODE_TYPE], res->node_type);
	add_word(buf, size, used, words[WORD_FEATURES], res->features);
	return buf;
}

int64_t resources_like(const struct resources *res, int64_t requested)
{
	if (requested)
		return requested;
	if (res->vmem_bytes)
		return res->vmem_bytes;
	return res->mem_bytes ? res->mem_bytes : res->jobfs_bytes;
}
