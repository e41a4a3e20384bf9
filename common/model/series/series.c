/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series.c - points over the time of a job: adding samples, merging pairs, the compact encoding; see series.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/model/series/series.h"

#define VERSION 1

enum kind {
	KIND_TOTAL, /* adds up over time, and over nodes */
	KIND_MOST,  /* the largest of the interval; adds up over nodes */
	KIND_TIME,  /* adds up over time; of several nodes the longest counts */
};

static const enum kind kinds[_SERIES_METRIC_MAX] = {
	[SERIES_CPU_MS] = KIND_TOTAL,	   [SERIES_MEM_KIB] = KIND_MOST,
	[SERIES_VMEM_KIB] = KIND_MOST,	   [SERIES_JOBFS_KIB] = KIND_MOST,
	[SERIES_GPU_BUSY_MS] = KIND_TOTAL, [SERIES_GPU_MEM_KIB] = KIND_MOST,
	[SERIES_SUSPENDED_MS] = KIND_TIME,
};

bool series_is_total(enum series_metric m)
{
	return kinds[m] != KIND_MOST;
}

void series_init(struct series *s, int64_t interval_ms)
{
	*s = (struct series){ .interval_ms = interval_ms < 1 ? 1 : interval_ms };
}

void series_done(struct series *s)
{
	for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
		free(s->of[m]);
		s->of[m] = NULL;
	}
}

static int64_t clip_value(int64_t v)
{
	return v < 0 ? 0 : v > SERIES_VALUE_MAX ? SERIES_VALUE_MAX : v;
}

/* The point to which the moment `at_ms` > 0 belongs. */
static int64_t point_at(const struct series *s, int64_t at_ms)
{
	return (at_ms - 1) / s->interval_ms;
}

int series_points(const struct series *s)
{
	return s->elapsed_ms > 0 ? (int)point_at(s, s->elapsed_ms) + 1 : 0;
}

int64_t series_length_ms(const struct series *s, int i)
{
	int64_t left = s->elapsed_ms - i * s->interval_ms;

	return left < s->interval_ms ? left : s->interval_ms;
}

int64_t series_total(const struct series *s, enum series_metric m)
{
	int64_t sum = 0;

	for (int i = 0; s->of[m] && i < SERIES_POINTS_MAX; i++)
		if (s->of[m][i] > 0)
			sum += s->of[m][i];
	return sum;
}

static int64_t *new_points(int64_t value)
{
	int64_t *p = malloc(SERIES_POINTS_MAX * sizeof(*p));

	for (int i = 0; p && i < SERIES_POINTS_MAX; i++)
		p[i] = value;
	return p;
}

static int64_t combine_values(enum kind kind, int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	if (kind == KIND_MOST)
		return a > b ? a : b;
	return clip_value(a + b);
}

/* Merges pairs of points; the interval doubles. */
static void merge_pairs(struct series *s)
{
	for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
		int64_t *p = s->of[m];

		for (int i = 0; p && i < SERIES_POINTS_MAX; i++)
			p[i] = i < SERIES_POINTS_MAX / 2
				       ? combine_values(kinds[m], p[2 * i], p[2 * i + 1])
				       : SERIES_NONE;
	}
	s->interval_ms *= 2;
}

/* Points of a job before its first suspension were measured: nothing. Later suspensions begin after the last sample. */
static int make_points(struct series *s, const struct series_sample *x)
{
	for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
		if (x->value[m] < 0 || s->of[m])
			continue;
		s->of[m] = new_points(SERIES_NONE);
		if (!s->of[m])
			return -ENOMEM;
		for (int i = 0; kinds[m] == KIND_TIME && i < series_points(s); i++)
			s->of[m][i] = 0;
	}
	return 0;
}

struct span {
	int64_t from_ms, to_ms;
};

/* Spreads `growth` over the points of a span by their share of it. What is rounded off one point goes to the next. */
static void spread_growth(struct series *s, int64_t *p, int64_t growth, struct span of)
{
	int64_t length = of.to_ms - of.from_ms, done = 0;
	int64_t last = point_at(s, of.to_ms), i = length ? of.from_ms / s->interval_ms : last;

	for (; i <= last; i++) {
		int64_t end = (i + 1) * s->interval_ms, until = growth;

		if (i < last)
			until = (int64_t)((__int128)growth * (end - of.from_ms) / length);
		p[i] = combine_values(KIND_TOTAL, p[i], until - done);
		done = until;
	}
}

/* Samples that are taken each interval come a little early or late: the point between two of them is not a gap, nor
 * the one before the first. */
static void fill_jitter(struct series *s, int64_t *p, int64_t value, struct span of)
{
	int64_t i = of.from_ms ? point_at(s, of.from_ms) : 0;

	if (of.to_ms - of.from_ms > 2 * s->interval_ms || (of.from_ms && p[i] < 0))
		return;
	for (; i < point_at(s, of.to_ms); i++)
		if (p[i] < 0)
			p[i] = value;
}

/* `of`: since when the counter can have grown. */
static void add_value(struct series *s, enum series_metric m, int64_t value, struct span of)
{
	int64_t *p = s->of[m], at = point_at(s, of.to_ms), before;

	value = clip_value(value);
	if (kinds[m] == KIND_MOST) {
		fill_jitter(s, p, value, of);
		p[at] = combine_values(KIND_MOST, p[at], value);
		return;
	}
	before = series_total(s, m);
	spread_growth(s, p, value > before ? value - before : 0, of);
}

/* GPUs have a meter with a pace of its own, which reports late: what a point has above `gpus` x its length was in the points
 * before. The sum stays. */
static void move_excess_back(const struct series *s, int64_t *p, int gpus)
{
	for (int i = series_points(s) - 1; i > 0; i--) {
		int64_t most;

		if (__builtin_mul_overflow(series_length_ms(s, i), gpus, &most) || p[i] <= most)
			continue;
		p[i - 1] = combine_values(KIND_TOTAL, p[i - 1], p[i] - most);
		p[i] = most;
	}
}

int series_add(struct series *s, const struct series_sample *x)
{
	bool had[_SERIES_METRIC_MAX];
	struct span of = { s->elapsed_ms, clip_value(x->elapsed_ms) };

	if (of.to_ms < of.from_ms)
		of.to_ms = of.from_ms;
	if (of.to_ms == 0)
		return 0;
	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		had[m] = s->of[m] || kinds[m] == KIND_TIME;
	if (make_points(s, x) < 0)
		return -ENOMEM;
	while (point_at(s, of.to_ms) >= SERIES_POINTS_MAX)
		merge_pairs(s);
	s->elapsed_ms = of.to_ms;
	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		if (x->value[m] >= 0)
			add_value(s, (enum series_metric)m, x->value[m],
				  (struct span){ had[m] ? of.from_ms : 0, of.to_ms });
	if (x->gpus > 0 && x->value[SERIES_GPU_BUSY_MS] >= 0)
		move_excess_back(s, s->of[SERIES_GPU_BUSY_MS], x->gpus);
	return 0;
}

/* ---- several nodes ---- */

static int copy_series(const struct series *from, struct series *ret)
{
	*ret = (struct series){ from->interval_ms, from->elapsed_ms, { NULL } };
	for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
		if (!from->of[m])
			continue;
		ret->of[m] = new_points(0);
		if (!ret->of[m]) {
			series_done(ret);
			return -ENOMEM;
		}
		memcpy(ret->of[m], from->of[m], SERIES_POINTS_MAX * sizeof(*from->of[m]));
	}
	return 0;
}

/* Point i as an addend: 0 behind the end of its series. */
static int64_t read_addend(const struct series *s, int m, int i)
{
	return i < series_points(s) ? s->of[m][i] : 0;
}

static void sum_metric(struct series *sum, const struct series *more, int m, int n_points)
{
	for (int i = 0; i < n_points; i++) {
		int64_t a = read_addend(sum, m, i), b = read_addend(more, m, i),
			*to = &sum->of[m][i];

		if (a < 0 || b < 0)
			*to = SERIES_NONE;
		else if (kinds[m] == KIND_TIME)
			*to = a > b ? a : b;
		else
			*to = clip_value(a + b);
	}
}

/* Of a metric that one of both has: behind the end of its series it counts as 0. */
static void end_with_zeros(int64_t *p, int n_points)
{
	for (int i = n_points; p && i < SERIES_POINTS_MAX; i++)
		p[i] = 0;
}

/* Both have the same interval. */
static void sum_points(struct series *sum, struct series *more)
{
	int n_sum = series_points(sum), n_more = series_points(more);

	for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
		if (sum->of[m] && more->of[m]) {
			sum_metric(sum, more, m, n_sum > n_more ? n_sum : n_more);
			continue;
		}
		end_with_zeros(sum->of[m], n_sum);
		end_with_zeros(more->of[m], n_more);
		if (!sum->of[m])
			sum->of[m] = TAKE_PTR(more->of[m]);
	}
	if (more->elapsed_ms > sum->elapsed_ms)
		sum->elapsed_ms = more->elapsed_ms;
}

int series_sum(struct series *sum, const struct series *more)
{
	_cleanup_(series_done) struct series a = { 0 }, b = { 0 };

	if (!sum->interval_ms)
		return copy_series(more, sum);
	if (copy_series(sum, &a) < 0 || copy_series(more, &b) < 0)
		return -ENOMEM;
	while (a.interval_ms < b.interval_ms)
		merge_pairs(&a);
	while (b.interval_ms < a.interval_ms)
		merge_pairs(&b);
	if (a.interval_ms != b.interval_ms)
		return -EDOM;
	sum_points(&a, &b);
	series_done(sum);
	*sum = a;
	a = (struct series){ 0 };
	return 0;
}

/* ---- the encoding ---- */

static size_t put_varint(uint8_t *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

/* 0: not measured; else the difference, folded so that small ones of both signs are short, and 1. */
static size_t put_points(uint8_t *to, const int64_t *p, int n_points)
{
	int64_t before = 0;
	size_t n = 0;

	for (int i = 0; i < n_points; i++) {
		uint64_t fold = (uint64_t)(p[i] - before) << 1;

		if (p[i] < 0) {
			to[n++] = 0;
			continue;
		}
		n += put_varint(to + n, (p[i] < before ? ~fold : fold) + 1);
		before = p[i];
	}
	return n;
}

size_t series_encode(const struct series *s, uint8_t buf[static SERIES_BYTES_MAX])
{
	uint64_t bits = 0;
	size_t n = 0;

	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		bits |= (uint64_t)(s->of[m] != NULL) << m;
	buf[n++] = VERSION;
	n += put_varint(buf + n, (uint64_t)s->interval_ms);
	n += put_varint(buf + n, (uint64_t)s->elapsed_ms);
	n += put_varint(buf + n, bits);
	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		if (s->of[m])
			n += put_points(buf + n, s->of[m], series_points(s));
	return n;
}

struct reader {
	const uint8_t *at, *end;
};

/* At most 8 bytes, and none more than needed: of one number there is one encoding. */
static int read_varint(struct reader *r, uint64_t *ret)
{
	uint64_t v = 0;

	for (int i = 0; i < 8 && r->at < r->end; i++) {
		uint8_t byte = *r->at++;

		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte & 0x80)
			continue;
		*ret = v;
		return byte || !i ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int read_ms(struct reader *r, int64_t *ret)
{
	uint64_t v;

	if (read_varint(r, &v) < 0 || v < 1 || v > SERIES_VALUE_MAX)
		return -EINVAL;
	*ret = (int64_t)v;
	return 0;
}

/* ret NULL: of a metric that is not known, which is skipped. */
static int read_points(struct reader *r, int n_points, int64_t *ret)
{
	int64_t before = 0;

	for (int i = 0; i < n_points; i++) {
		uint64_t v;

		if (read_varint(r, &v) < 0)
			return -EINVAL;
		if (v-- == 0)
			continue;
		before += v & 1 ? -(int64_t)(v >> 1) - 1 : (int64_t)(v >> 1);
		if (before < 0 || before > SERIES_VALUE_MAX)
			return -EINVAL;
		if (ret)
			ret[i] = before;
	}
	return 0;
}

static int read_metric(struct reader *r, int m, struct series *to)
{
	if (m >= _SERIES_METRIC_MAX)
		return read_points(r, series_points(to), NULL);
	to->of[m] = new_points(SERIES_NONE);
	return to->of[m] ? read_points(r, series_points(to), to->of[m]) : -ENOMEM;
}

static int read_metrics(struct reader *r, struct series *to)
{
	uint64_t bits;
	int e = read_varint(r, &bits);

	if (e < 0 || bits >> SERIES_METRICS_ACCEPTED)
		return -EINVAL;
	for (int m = 0; bits >> m && e >= 0; m++)
		if (bits >> m & 1)
			e = read_metric(r, m, to);
	return e < 0 ? e : r->at == r->end ? 0 : -EINVAL;
}

int series_decode(const void *data, size_t size, struct series *ret)
{
	_cleanup_(series_done) struct series s = { 0 };
	struct reader r = { data, (const uint8_t *)data + size };
	int e;

	if (size < 4 || size > SERIES_BYTES_ACCEPTED || *r.at++ != VERSION)
		return -EINVAL;
	if (read_ms(&r, &s.interval_ms) < 0 || read_ms(&r, &s.elapsed_ms) < 0 ||
	    point_at(&s, s.elapsed_ms) >= SERIES_POINTS_MAX)
		return -EINVAL;
	e = read_metrics(&r, &s);
	if (e < 0)
		return e;
	*ret = s;
	s = (struct series){ 0 };
	return 0;
}
