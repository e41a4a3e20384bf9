/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packed.c - packs sums as variable-length integers, and adds them up again. See packed.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/ledger/usage/ranks/packed.h"

#define VARINT_MAX 10 /* bytes of 64 bits */
#define ROW_MAX ((1 + _ROLLUP_MAX) * VARINT_MAX)

/* ---- integers ---- */

static uint8_t *put_varint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

/* What packed_make() wrote: complete. */
static inline const uint8_t *get_varint(const uint8_t *at, uint64_t *ret)
{
	uint64_t v = *at & 0x7f;

	for (int shift = 7; *at++ & 0x80; shift += 7)
		v |= (uint64_t)(*at & 0x7f) << shift;
	*ret = v;
	return at;
}

/* Small numbers of either sign are small. */
static uint64_t fold_sign(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t unfold_sign(uint64_t v)
{
	return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

/* ---- rows ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct packed_row *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->pool > y->pool) - (x->pool < y->pool);
}

/* Of sorted rows: how many are left. */
static size_t merge_rows(struct packed_row *rows, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++)
		if (to > 0 && compare_rows(&rows[to - 1], &rows[i]) == 0)
			rollup_add(&rows[to - 1].sum, &rows[i].sum);
		else
			rows[to++] = rows[i];
	return to;
}

static uint8_t *put_row(uint8_t *at, const struct packed_row *row, int32_t before)
{
	uint64_t name = (uint64_t)(row->name - before);

	at = put_varint(at, name * _CHARGE_POOL_MAX + (uint64_t)row->pool);
	for (int i = 0; i < _ROLLUP_MAX; i++)
		at = put_varint(at, fold_sign(row->sum.figure[i]));
	return at;
}

int packed_make(struct packed_row *rows, size_t n, struct packed *ret)
{
	uint8_t *data, *at, *exact;

	*ret = (struct packed){ NULL, 0 };
	if (n == 0)
		return 0;
	qsort(rows, n, sizeof(*rows), compare_rows);
	n = merge_rows(rows, n);
	at = data = reallocarray(NULL, n, ROW_MAX);
	if (!data)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		at = put_row(at, &rows[i], i ? rows[i - 1].name : 0);
	ret->size = (size_t)(at - data);
	exact = realloc(data, ret->size);
	ret->data = exact ? exact : data;
	return 0;
}

void packed_done(struct packed *p)
{
	free(p->data);
	*p = (struct packed){ NULL, 0 };
}

/* ---- sums ---- */

static int grow_pool(struct packed_sums *s, int pool, size_t was, size_t n)
{
	struct rollup *sum = reallocarray(s->pool[pool].sum, n, sizeof(*sum));
	uint8_t *has;

	if (!sum)
		return -ENOMEM;
	s->pool[pool].sum = sum;
	has = realloc(s->pool[pool].has, n);
	if (!has)
		return -ENOMEM;
	s->pool[pool].has = has;
	memset(sum + was, 0, (n - was) * sizeof(*sum));
	memset(has + was, 0, n - was);
	return 0;
}

static int grow_sums(struct packed_sums *s, size_t n_names)
{
	int r = 0;

	for (int pool = 0; pool < _CHARGE_POOL_MAX && n_names > s->n_names && r >= 0; pool++)
		if (s->pool[pool].sum)
			r = grow_pool(s, pool, s->n_names, n_names);
	if (r >= 0 && n_names > s->n_names)
		s->n_names = n_names;
	return r;
}

int packed_add(const struct packed *p, struct packed_sums *to, size_t n_names)
{
	const uint8_t *at = p->data, *end = p->data + p->size;
	uint64_t name = 0, v;
	int r = grow_sums(to, n_names);

	while (r >= 0 && at < end) {
		struct rollup *sum;
		uint64_t pool;

		at = get_varint(at, &v);
		name += v / _CHARGE_POOL_MAX;
		pool = v % _CHARGE_POOL_MAX;
		if (!to->pool[pool].sum && (r = grow_pool(to, (int)pool, 0, to->n_names)) < 0)
			break;
		sum = &to->pool[pool].sum[name];
		to->pool[pool].has[name] = 1;
		for (int i = 0; i < _ROLLUP_MAX; i++) {
			at = get_varint(at, &v);
			sum->figure[i] += unfold_sign(v);
		}
	}
	return r;
}

void packed_sums_done(struct packed_sums *s)
{
	for (int pool = 0; pool < _CHARGE_POOL_MAX; pool++) {
		free(s->pool[pool].sum);
		free(s->pool[pool].has);
	}
	*s = (struct packed_sums){ .n_names = 0 };
}

const struct rollup *packed_sum(const struct packed_sums *s, int32_t name, int pool)
{
	if (name < 0 || (size_t)name >= s->n_names || !s->pool[pool].sum ||
	    !s->pool[pool].has[name])
		return NULL;
	return &s->pool[pool].sum[name];
}
