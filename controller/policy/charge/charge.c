/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charge.c - exact fractions, the rate of a request and its charge over a running time; see
 * charge.h. Every product is formed in 128 bits and reduced before it is stored, so that
 * nothing is rounded but the final charge. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/time_units.h"
#include "controller/policy/charge/charge.h"

#define DECIMALS_MAX 18

static const char *const side_names[] = {
	[CHARGE_GPUS] = "gpus",
	[CHARGE_CORES] = "cores",
	[CHARGE_MEMORY] = "memory",
};
static const char *const pool_names[] = { "cpu", "gpu" };
static const char *const pool_units[] = { "core-equivalent", "gpu-equivalent" };

_Static_assert(ARRAY_LEN(side_names) == _CHARGE_SIDE_MAX, "a name a side");
_Static_assert(ARRAY_LEN(pool_names) == _CHARGE_POOL_MAX, "a name a pool");

const char *charge_side_name(enum charge_side s)
{
	return s < _CHARGE_SIDE_MAX ? side_names[s] : "none";
}

const char *charge_pool_name(enum charge_pool p)
{
	return p < _CHARGE_POOL_MAX ? pool_names[p] : "none";
}

const char *charge_pool_unit(enum charge_pool p)
{
	return p < _CHARGE_POOL_MAX ? pool_units[p] : "none";
}

static __int128 greatest_divisor(__int128 a, __int128 b)
{
	while (b) {
		__int128 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* num/den, both up to 2^126, in lowest terms. -ERANGE: either is still more than int64. */
static int make_lowest(__int128 num, __int128 den, struct fraction *ret)
{
	__int128 g = greatest_divisor(num, den);

	num /= g;
	den /= g;
	if (num > INT64_MAX || den > INT64_MAX)
		return -ERANGE;
	*ret = (struct fraction){ (int64_t)num, (int64_t)den };
	return 0;
}

int fraction_make(int64_t num, int64_t den, struct fraction *ret)
{
	if (num < 0 || den <= 0)
		return -EINVAL;
	return make_lowest(num, den, ret);
}

int fraction_multiply(struct fraction a, struct fraction b, struct fraction *ret)
{
	return make_lowest((__int128)a.num * b.num, (__int128)a.den * b.den, ret);
}

int fraction_divide(struct fraction a, struct fraction b, struct fraction *ret)
{
	if (b.num == 0)
		return -EINVAL;
	return make_lowest((__int128)a.num * b.den, (__int128)a.den * b.num, ret);
}

int fraction_add(struct fraction a, struct fraction b, struct fraction *ret)
{
	__int128 left = (__int128)a.num * b.den, right = (__int128)b.num * a.den, sum;

	if (__builtin_add_overflow(left, right, &sum))
		return -ERANGE;
	return make_lowest(sum, (__int128)a.den * b.den, ret);
}

/* A decimal of `size` bytes; zero is one. */
static bool parse_decimal(const char *text, size_t size, struct fraction *ret)
{
	int64_t num = 0, den = 1;
	int digits = 0;
	bool point = false;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '.' && !point && i > 0 && i + 1 < size) {
			point = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9' || ++digits > DECIMALS_MAX)
			return false;
		num = num * 10 + (text[i] - '0');
		den *= point ? 10 : 1;
	}
	return size && fraction_make(num, den, ret) == 0;
}

int fraction_parse_or_zero(const char *text, struct fraction *ret, struct err *err)
{
	size_t n = strlen(text);
	const char *slash = memchr(text, '/', n);
	struct fraction above, below = FRACTION_ONE;

	if (parse_decimal(text, slash ? (size_t)(slash - text) : n, &above) &&
	    (!slash || parse_decimal(slash + 1, strlen(slash + 1), &below)) &&
	    fraction_divide(above, below, ret) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "'%.40s' is not an amount; write it like 1, 3.5, 0.25 or 1/7", text);
}

int fraction_parse(const char *text, struct fraction *ret, struct err *err)
{
	struct fraction f;

	if (fraction_parse_or_zero(text, &f, NULL) < 0 || f.num == 0)
		return err_set(
			err, -EINVAL,
			"'%.40s' is not an amount above zero; write it like 1, 3.5 or 0.25",
			text);
	*ret = f;
	return 0;
}

/* The digits of rest/den after the point; true when they end within `max` places. */
static bool format_digits(int64_t rest, int64_t den, int max, char *buf)
{
	int n;

	for (n = 0; rest && n < max; n++) {
		__int128 ten = (__int128)rest * 10;

		buf[n] = (char)('0' + (int)(ten / den));
		rest = (int64_t)(ten % den);
	}
	buf[n] = '\0';
	return rest == 0;
}

const char *fraction_format(struct fraction f, char buf[static FRACTION_TEXT_MAX])
{
	char digits[DECIMALS_MAX + 1];
	long long whole = f.num / f.den;

	if (format_digits(f.num % f.den, f.den, DECIMALS_MAX, digits)) {
		snprintf(buf, FRACTION_TEXT_MAX, "%lld%s%s", whole, *digits ? "." : "", digits);
		return buf;
	}
	format_digits(f.num % f.den, f.den, 6, digits);
	snprintf(buf, FRACTION_TEXT_MAX, "%lld.%s... (%lld/%lld)", whole, digits,
		 (long long)f.num, (long long)f.den);
	return buf;
}

const char *fraction_format_decimal(struct fraction f, char buf[static FRACTION_TEXT_MAX])
{
	char digits[DECIMALS_MAX + 1];

	format_digits(f.num % f.den, f.den, DECIMALS_MAX, digits);
	snprintf(buf, FRACTION_TEXT_MAX, "%lld%s%s", (long long)(f.num / f.den),
		 *digits ? "." : "", digits);
	return buf;
}

int charge_ratio(const struct charge_bundle *b, const struct charge_amounts *a,
		 enum charge_side side, struct fraction *ret)
{
	struct fraction per = b->side[side];

	if (a->side[side] < 0)
		return -EINVAL;
	if (per.num == 0) {
		*ret = FRACTION_ZERO;
		return 0;
	}
	return make_lowest((__int128)a->side[side] * per.den, per.num, ret);
}

/* Both are within int64, so that the cross products fit in 128 bits. */
static bool is_larger(struct fraction a, struct fraction b)
{
	return (__int128)a.num * b.den > (__int128)b.num * a.den;
}

/* A tie goes to the side that comes first in enum charge_side: the comparison is strict. */
int charge_rate_of(const struct charge_bundle *b, const struct charge_amounts *a,
		   struct charge_rate *ret)
{
	struct charge_rate best = { .decided_by = _CHARGE_SIDE_MAX };
	struct fraction sum = FRACTION_ZERO;

	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++) {
		struct fraction ratio;
		int r = charge_ratio(b, a, s, &ratio);

		if (r < 0)
			return r;
		if (b->side[s].num == 0)
			continue;
		r = b->is_sum ? fraction_add(sum, ratio, &sum) : 0;
		if (r < 0)
			return r;
		if (best.decided_by == _CHARGE_SIDE_MAX || is_larger(ratio, best.rate))
			best = (struct charge_rate){ ratio, s };
	}
	if (best.decided_by == _CHARGE_SIDE_MAX)
		return -EINVAL;
	if (b->is_sum)
		best.rate = sum;
	*ret = best;
	return 0;
}

/* n/d rounded half up; n >= 0, d > 0. Written so that 2 x rest cannot overflow. -ERANGE. */
static int divide_half_up(__int128 n, __int128 d, int64_t *ret)
{
	__int128 q = n / d, rest = n % d;

	if (rest >= d - rest)
		q++;
	if (q > INT64_MAX)
		return -ERANGE;
	*ret = (int64_t)q;
	return 0;
}

int charge_requested(struct fraction rate, int64_t running_ns, int64_t *ret_ms)
{
	if (running_ns < 0)
		return -EINVAL;
	return divide_half_up((__int128)rate.num * running_ns, (__int128)rate.den * MS_NS,
			      ret_ms);
}

/* amount_ns (an amount times nanoseconds) per `per`, in milli-equivalent-seconds. */
static int side_used(__int128 amount_ns, struct fraction per, bool is_sum, int64_t *ret_ms)
{
	__int128 n, d = (__int128)per.num * MS_NS;

	if (__builtin_mul_overflow(amount_ns, (__int128)per.den, &n))
		return -ERANGE;
	return divide_half_up(is_sum ? n - n % d : n, d, ret_ms);
}

/* Amounts are multiplied with the running time before they are divided by the bundle: one
 * rounding a side. */
int charge_used(const struct charge_bundle *b, const struct charge_use *u, int64_t *ret_ms)
{
	const __int128 amounts[] = {
		[CHARGE_GPUS] = u->ngpus < 0 ? -1 : (__int128)u->ngpus * u->running_ns,
		[CHARGE_CORES] = u->cpu_ns,
		[CHARGE_MEMORY] = u->mem_peak_bytes < 0
					  ? -1
					  : (__int128)u->mem_peak_bytes * u->running_ns,
	};
	int64_t all = 0;

	if (u->running_ns < 0)
		return -EINVAL;
	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++) {
		int64_t ms;
		int r;

		if (b->side[s].num == 0 || amounts[s] < 0)
			continue;
		r = side_used(amounts[s], b->side[s], b->is_sum, &ms);
		if (r < 0)
			return r;
		if (b->is_sum && __builtin_add_overflow(all, ms, &all))
			return -ERANGE;
		if (!b->is_sum && ms > all)
			all = ms;
	}
	*ret_ms = all;
	return 0;
}

int64_t charge_part(int64_t total_ms, int64_t part_ns, int64_t whole_ns)
{
	if (part_ns < 0 || whole_ns <= 0 || part_ns >= whole_ns)
		return total_ms;
	return (int64_t)((__int128)total_ms * part_ns / whole_ns);
}
