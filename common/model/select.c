/* SPDX-License-Identifier: GPL-2.0-or-later */
/* select.c - parses and formats chunks, and sums them up; see select.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/request.h"
#include "common/model/amount.h"

#define ITEM_MAX 128

/* The amounts of a chunk, in the order in which they are written. */
static const struct item {
	const char *name;
	size_t in_chunk, in_resources;
} items[] = {
	{ "ncpus", offsetof(struct select_chunk, ncpus), offsetof(struct resources, ncpus) },
	{ "vmem", offsetof(struct select_chunk, vmem_bytes),
	  offsetof(struct resources, vmem_bytes) },
	{ "mem", offsetof(struct select_chunk, mem_bytes),
	  offsetof(struct resources, mem_bytes) },
	{ "jobfs", offsetof(struct select_chunk, jobfs_bytes),
	  offsetof(struct resources, jobfs_bytes) },
	{ "ngpus", offsetof(struct select_chunk, ngpus), offsetof(struct resources, ngpus) },
};

static int64_t *in_chunk(struct select_chunk *c, const struct item *i)
{
	return (int64_t *)(void *)((char *)c + i->in_chunk);
}

static int64_t of_chunk(const struct select_chunk *c, const struct item *i)
{
	return *(const int64_t *)(const void *)((const char *)c + i->in_chunk);
}

static int64_t *in_resources(struct resources *r, const struct item *i)
{
	return (int64_t *)(void *)((char *)r + i->in_resources);
}

static int64_t of_resources(const struct resources *r, const struct item *i)
{
	return *(const int64_t *)(const void *)((const char *)r + i->in_resources);
}

static const struct item *find_item(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		if (!strcmp(items[i].name, name))
			return &items[i];
	return NULL;
}

/* ---- as typed ---- */

/* Copies up to the next `end` into buf; *text then stands behind it, NULL at the end of the text. */
static int cut_item(const char **text, char end, char buf[static ITEM_MAX], struct err *err)
{
	const char ends[2] = { end, '\0' };
	size_t n = strcspn(*text, ends);

	if (!n || n >= ITEM_MAX)
		return err_set(err, -EINVAL,
			       "select: %s; write e.g. select=2:ncpus=16:vmem=32GB",
			       n ? "an item is too long" : "an item is empty");
	memcpy(buf, *text, n);
	buf[n] = '\0';
	*text = (*text)[n] ? *text + n + 1 : NULL;
	return 0;
}

/* Joins what the separator split: "ngpus=a100" and its number "2" become "ngpus=a100:2". */
static int join_model(char item[static ITEM_MAX], const char **text, struct err *err)
{
	char number[ITEM_MAX];
	size_t n = strlen(item);
	int r;

	if (strncmp(item, "ngpus=", 6) != 0 || !*text || strchr("0123456789", **text) == NULL)
		return 0;
	r = cut_item(text, ':', number, err);
	if (r < 0)
		return r;
	if (n + 1 + strlen(number) >= ITEM_MAX)
		return err_set(err, -EINVAL, "select: an item is too long");
	snprintf(item + n, ITEM_MAX - n, ":%s", number);
	return 0;
}

static int set_model(char model[static REQUEST_NAME_MAX], const struct resources *one,
		     struct err *err)
{
	if (!*one->gpu_model)
		return 0;
	if (*model && strcmp(model, one->gpu_model) != 0)
		return err_set(err, -EINVAL,
			       "select: GPUs of two models, %s and %s; one job has GPUs of one",
			       model, one->gpu_model);
	memcpy(model, one->gpu_model, REQUEST_NAME_MAX);
	return 0;
}

/* A chunk while it is parsed. */
struct parsing {
	struct select_chunk *c;
	char *model; /* REQUEST_NAME_MAX bytes */
	enum amount_units units;
};

static int parse_item(char *text, const struct parsing *p, struct err *err)
{
	struct resources one = { 0 };
	struct select_chunk *c = p->c;
	char name[ITEM_MAX];
	const struct item *i;
	int r;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
	i = find_item(name);
	if (!i)
		return err_set(
			err, -EINVAL,
			"select: '%.32s' is no item of a chunk; the items are ncpus, vmem, "
			"mem, jobfs, ngpus%s",
			name,
			!strcmp(name, "walltime") ? "; walltime is the job's: write "
						    "-l select=...,walltime=..."
						  : "");
	if (of_chunk(c, i))
		return err_set(err, -EINVAL, "select: %s is given twice in one chunk", name);
	r = resources_parse_in(text, p->units, &one, err);
	if (r < 0)
		return err_prefix(err, r, "select");
	*in_chunk(c, i) = of_resources(&one, i);
	return set_model(p->model, &one, err);
}

static int parse_count(const char *text, int64_t *ret, struct err *err)
{
	int r = amount_parse_count(text, ret, err);

	if (r < 0)
		return err_prefix(err, r, "select: number of chunks");
	if (*ret < 1 || *ret > SELECT_CHUNKS_MAX)
		return err_set(err, -EINVAL, "select: %lld chunks; write 1 to %d",
			       (long long)*ret, SELECT_CHUNKS_MAX);
	return 0;
}

/* "2:ncpus=16:vmem=32GB" */
static int parse_chunk(const char *text, const struct parsing *p, struct err *err)
{
	char item[ITEM_MAX];
	int r = 0;

	*p->c = (struct select_chunk){ .n = 1 };
	for (bool is_first = true; text; is_first = false) {
		r = cut_item(&text, ':', item, err);
		if (r >= 0)
			r = join_model(item, &text, err);
		if (r < 0)
			return r;
		r = is_first && !strchr(item, '=') ? parse_count(item, &p->c->n, err)
						   : parse_item(item, p, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int select_parse(const char *text, struct select *ret, char *model, struct err *err)
{
	return select_parse_in(text, AMOUNT_AS_WRITTEN, ret, model, err);
}

int select_parse_in(const char *text, enum amount_units units, struct select *ret, char *model,
		    struct err *err)
{
	char m[REQUEST_NAME_MAX] = "", one[SELECT_TEXT_MAX];
	struct select s = { .is_scattered = ret->is_scattered };
	int64_t chunks = 0;

	while (text) {
		size_t n = strcspn(text, "+");
		int r;

		if (s.n == SELECT_MAX)
			return err_set(err, -EINVAL, "select: more than %d kinds of chunks",
				       SELECT_MAX);
		if (n >= sizeof(one))
			return err_set(err, -EINVAL, "select: a chunk is too long");
		memcpy(one, text, n);
		one[n] = '\0';
		text = text[n] ? text + n + 1 : NULL;
		r = parse_chunk(one, &(struct parsing){ &s.of[s.n], m, units }, err);
		if (r < 0)
			return r;
		chunks += s.of[s.n++].n;
	}
	if (chunks > SELECT_CHUNKS_MAX)
		return err_set(err, -EINVAL, "select: %lld chunks; %d is the most of one job",
			       (long long)chunks, SELECT_CHUNKS_MAX);
	*ret = s;
	memcpy(model, m, sizeof(m));
	return 0;
}

int select_parse_place(const char *text, struct select *ret, bool *ret_exclusive,
		       struct err *err)
{
	bool is_scattered = !strncmp(text, "scatter", 7);
	const char *rest = text;

	if (is_scattered)
		rest += 7;
	else if (!strncmp(text, "free", 4))
		rest += 4;
	if (rest > text && *rest == ':')
		rest++;
	else if (rest > text && *rest)
		rest = "?";
	if (*rest && strcmp(rest, "excl") != 0)
		return err_set(err, -EINVAL,
			       "place '%.32s': write free (chunks may share a node), scatter "
			       "(each on its own), excl (whole nodes) or scatter:excl",
			       text);
	if (!*text)
		return err_set(err, -EINVAL, "place is empty; write free, scatter or excl");
	ret->is_scattered = is_scattered;
	*ret_exclusive = *rest != '\0';
	return 0;
}

/* ---- and back ---- */

static size_t add_item(char *buf, size_t used, const struct item *i,
		       const struct select_chunk *c)
{
	int64_t v = of_chunk(c, i);
	char amount[AMOUNT_TEXT_MAX];

	if (!v)
		return used;
	if (strstr(i->name, "mem") || !strcmp(i->name, "jobfs"))
		amount_format_bytes_exact(v, amount);
	else
		snprintf(amount, sizeof(amount), "%lld", (long long)v);
	return used +
	       (size_t)snprintf(buf + used, SELECT_TEXT_MAX - used, ":%s=%s", i->name, amount);
}

const char *select_format(const struct select *s, const char *model,
			  char buf[static SELECT_TEXT_MAX])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int32_t k = 0; k < s->n; k++) {
		const struct select_chunk *c = &s->of[k];

		used += (size_t)snprintf(buf + used, SELECT_TEXT_MAX - used, "%s%lld",
					 k ? "+" : "", (long long)c->n);
		for (size_t i = 0; i < ARRAY_LEN(items); i++) {
			if (!strcmp(items[i].name, "ngpus") && c->ngpus && *model)
				used += (size_t)snprintf(buf + used, SELECT_TEXT_MAX - used,
							 ":ngpus=%s:%lld", model,
							 (long long)c->ngpus);
			else
				used = add_item(buf, used, &items[i], c);
		}
	}
	return buf;
}

/* ---- amounts ---- */

void select_fill(struct select *s, const struct resources *from)
{
	for (int32_t k = 0; k < s->n; k++)
		for (size_t i = 0; i < ARRAY_LEN(items); i++)
			if (!of_chunk(&s->of[k], &items[i]))
				*in_chunk(&s->of[k], &items[i]) = of_resources(from, &items[i]);
}

static const struct resource_def *def_of(const struct item *i)
{
	const struct resource_def *d = request_resources;

	while (strcmp(d->name, i->name) != 0)
		d++;
	return d;
}

/* The sum over all chunks. Of mem it is 0 where one chunk does not state it: all of it is then derived
 * from vmem. */
static int sum_of(const struct select *s, const struct item *i, int64_t *ret, struct err *err)
{
	bool is_mem = i->in_chunk == offsetof(struct select_chunk, mem_bytes);
	int64_t sum = 0, v;

	for (int32_t k = 0; k < s->n; k++) {
		int64_t one = of_chunk(&s->of[k], i);

		if (is_mem && !one) {
			*ret = 0;
			return 0;
		}
		if (__builtin_mul_overflow(one, s->of[k].n, &v) ||
		    __builtin_add_overflow(sum, v, &sum))
			sum = INT64_MAX;
		if (sum > def_of(i)->max)
			return err_set(err, -ERANGE,
				       "select: its chunks have more %s in all than one job "
				       "may have",
				       i->name);
	}
	*ret = sum;
	return 0;
}

int select_total(const struct select *s, struct resources *res, struct err *err)
{
	int64_t sums[ARRAY_LEN(items)];

	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		int r = sum_of(s, &items[i], &sums[i], err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		*in_resources(res, &items[i]) = sums[i];
	return 0;
}

int64_t select_chunks(const struct select *s)
{
	int64_t n = 0;

	for (int32_t k = 0; k < s->n; k++)
		n += s->of[k].n;
	return n ? n : 1;
}

void select_chunk(const struct select_chunk *c, const struct resources *whole,
		  struct resources *ret)
{
	*ret = *whole;
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		*in_resources(ret, &items[i]) = of_chunk(c, &items[i]);
	if (!ret->ngpus)
		ret->gpu_model[0] = '\0';
}

bool select_split(const struct resources *whole, int64_t n, struct select *ret)
{
	struct select_chunk *c = &ret->of[0];

	if (n < 1 || n > SELECT_CHUNKS_MAX || whole->ncpus % n || whole->ngpus % n)
		return false;
	*ret = (struct select){ .n = 1 };
	c->n = n;
	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		int64_t v = of_resources(whole, &items[i]);

		*in_chunk(c, &items[i]) = v / n + (v % n != 0);
	}
	return true;
}
