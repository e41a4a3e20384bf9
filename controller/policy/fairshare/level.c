/* SPDX-License-Identifier: GPL-2.0-or-later */
/* level.c - compares LevelFS exactly and sorts the rows of a level; see fairshare/level.h. */
#include <math.h>
#include <string.h>
#include "controller/policy/fairshare/level.h"

/* ---- products of up to 384 bits ---- */

#define LIMBS 6

struct wide {
	uint64_t limb[LIMBS]; /* lowest first */
};

static struct wide wide_times(struct wide a, uint64_t by)
{
	unsigned __int128 sum = 0;

	for (int i = 0; i < LIMBS; i++) {
		sum += (unsigned __int128)a.limb[i] * by;
		a.limb[i] = (uint64_t)sum;
		sum >>= 64;
	}
	return a;
}

static struct wide wide_add_shifted(struct wide a, struct wide high)
{
	unsigned __int128 sum = 0;

	for (int i = 0; i < LIMBS; i++) {
		sum += (unsigned __int128)a.limb[i] + (i ? high.limb[i - 1] : 0);
		a.limb[i] = (uint64_t)sum;
		sum >>= 64;
	}
	return a;
}

static struct wide wide_times_usage(struct wide a, fairshare_usage by)
{
	struct wide low = wide_times(a, (uint64_t)by);

	return by >> 64 ? wide_add_shifted(low, wide_times(a, (uint64_t)(by >> 64))) : low;
}

static int wide_compare(const struct wide *a, const struct wide *b)
{
	for (int i = LIMBS - 1; i >= 0; i--)
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

/* a's numerator times b's denominator: 31 + 48 + 128 + 128 bits, which six limbs hold. */
static struct wide cross_product(const struct fairshare_tree *t, int32_t a, int32_t b)
{
	struct wide w = { { (uint64_t)t->rows[a].raw_shares } };

	w = wide_times(w, t->level_sum[t->share_parent[b]]);
	w = wide_times_usage(w, t->usage[t->share_parent[a]]);
	return wide_times_usage(w, t->usage[b]);
}

/* Equal terms make equal fractions: most ties need no products. */
static bool is_same_fraction(const struct fairshare_tree *t, int32_t a, int32_t b)
{
	int32_t x = t->share_parent[a], y = t->share_parent[b];

	return t->rows[a].raw_shares == t->rows[b].raw_shares && t->usage[a] == t->usage[b] &&
	       t->level_sum[x] == t->level_sum[y] && t->usage[x] == t->usage[y];
}

/* ---- comparing ---- */

long double fairshare_level_fs(const struct fairshare_tree *t, int32_t row)
{
	const struct fairshare_row *r = &t->rows[row];

	if (fairshare_is_parent(r))
		return INFINITY;
	if (!r->raw_shares)
		return 0;
	if (!t->usage[row])
		return INFINITY;
	return fairshare_part(t, row) /
	       fairshare_ratio(t->usage[row], t->usage[t->share_parent[row]]);
}

/* Doubles that differ by more are different fractions: the relative error of one is a few
 * 2^-53. */
#define SURE 1e-14

int fairshare_compare_exact(const struct fairshare_tree *t, const struct fairshare_entry *a,
			    const struct fairshare_entry *b)
{
	struct wide ab, ba;

	if (isinf(a->level_fs) || isinf(b->level_fs) || a->level_fs == 0 || b->level_fs == 0 ||
	    fabs(a->level_fs - b->level_fs) > SURE * a->level_fs)
		return (a->level_fs < b->level_fs) - (a->level_fs > b->level_fs);
	if (is_same_fraction(t, a->row, b->row))
		return 0;
	ab = cross_product(t, a->row, b->row);
	ba = cross_product(t, b->row, a->row);
	return wide_compare(&ba, &ab);
}

int fairshare_compare_long(const struct fairshare_tree *t, const struct fairshare_entry *a,
			   const struct fairshare_entry *b)
{
	long double x, y;

	if (a->level_fs != b->level_fs)
		return a->level_fs < b->level_fs ? 1 : -1;
	x = fairshare_level_fs(t, a->row);
	y = fairshare_level_fs(t, b->row);
	return (x < y) - (x > y);
}

/* ---- sorting ---- */

/* Does a belong behind b? Equal rows keep their place: the sort is stable. */
static inline bool goes_after(const struct fairshare_tree *t, const struct fairshare_entry *a,
			      const struct fairshare_entry *b, fairshare_compare_fn compare)
{
	int r = compare(t, a, b);

	if (r == 0 && a->user == b->user)
		return t->rows[a->row].order > t->rows[b->row].order;
	return r > 0 || (r == 0 && b->user);
}

/* Merges from[0 ... bounds[0]) and from[bounds[0] ... bounds[1]), each sorted, into `to`. Two
 * runs that are in order already cost one comparison. */
static void merge_runs(const struct fairshare_tree *t, const struct fairshare_entry *from,
		       const size_t bounds[2], struct fairshare_entry *to,
		       fairshare_compare_fn compare)
{
	size_t a = 0, b = bounds[0];

	if (b == bounds[1] || !goes_after(t, &from[b - 1], &from[b], compare)) {
		memcpy(to, from, bounds[1] * sizeof(*to));
		return;
	}
	for (size_t i = 0; i < bounds[1]; i++) {
		bool second = a == bounds[0] ||
			      (b < bounds[1] && goes_after(t, &from[a], &from[b], compare));

		to[i] = from[second ? b++ : a++];
	}
}

/* From this size on comparing costs more than moving: a radix sort first puts the rows in the
 * order of their doubles; the merge sort then has one comparison a run, and the near-ties. */
#define DIGITS_FROM 2048
#define DIGIT_BITS 11
#define N_DIGITS 6 /* of 64 bits */

/* Non-negative IEEE doubles order as their bits do; inverted, the highest comes first. */
static inline uint64_t key_of(const struct fairshare_entry *e)
{
	uint64_t bits;

	memcpy(&bits, &e->level_fs, sizeof(bits));
	return ~bits;
}

static inline unsigned digit_of(uint64_t key, int d)
{
	return (unsigned)(key >> (d * DIGIT_BITS)) & ((1U << DIGIT_BITS) - 1);
}

struct digits {
	uint32_t count[N_DIGITS][1U << DIGIT_BITS];
};

static void count_digits(struct digits *c, const struct fairshare_entry *e, size_t n)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < n; i++) {
		uint64_t key = key_of(&e[i]);

		for (int d = 0; d < N_DIGITS; d++)
			c->count[d][digit_of(key, d)]++;
	}
}

/* One stable pass over entries[0 ... n); the counts of the digit become places. */
struct pass {
	const struct fairshare_entry *from;
	struct fairshare_entry *to;
	size_t n;
};

static void sort_by_digit(const struct pass *p, uint32_t *count, int d)
{
	uint32_t place = 0;

	for (unsigned i = 0; i < 1U << DIGIT_BITS; i++) {
		uint32_t here = count[i];

		count[i] = place;
		place += here;
	}
	for (size_t i = 0; i < p->n; i++)
		p->to[count[digit_of(key_of(&p->from[i]), d)]++] = p->from[i];
}

static void sort_doubles(struct fairshare_entry *entries, size_t n,
			 struct fairshare_entry *spare)
{
	struct pass p = { entries, spare, n };
	struct digits c;

	count_digits(&c, entries, n);
	for (int d = 0; d < N_DIGITS; d++) {
		if (c.count[d][digit_of(key_of(&p.from[0]), d)] == n)
			continue; /* the same in all */
		sort_by_digit(&p, c.count[d], d);
		p = p.to == spare ? (struct pass){ spare, entries, n }
				  : (struct pass){ entries, spare, n };
	}
	if (p.from != entries)
		memcpy(entries, spare, n * sizeof(*entries));
}

void fairshare_sort(const struct fairshare_tree *t, struct fairshare_entry *entries, size_t n,
		    struct fairshare_entry *spare, fairshare_compare_fn compare)
{
	struct fairshare_entry *from = entries, *to = spare, *was;
	size_t bounds[2];

	if (n >= DIGITS_FROM)
		sort_doubles(entries, n, spare);
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t i = 0; i < n; i += 2 * width) {
			bounds[0] = n - i < width ? n - i : width;
			bounds[1] = n - i < 2 * width ? n - i : 2 * width;
			merge_runs(t, from + i, bounds, to + i, compare);
		}
		was = from;
		from = to;
		to = was;
	}
	if (from != entries)
		memcpy(entries, from, n * sizeof(*entries));
}
