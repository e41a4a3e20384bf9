/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decay.c - exponential decay of charges, evaluated when it is read; see decay.h. */
#include <errno.h>
#include <math.h>
#include "controller/policy/fairshare/decay.h"

#define LN2 0.693147180559945309417232121458

double decay_factor(int64_t elapsed_ns, int64_t half_life_ns)
{
	if (elapsed_ns <= 0 || half_life_ns <= 0)
		return 1;
	return exp2(-(double)elapsed_ns / (double)half_life_ns);
}

/* The mean of 2^-s for s from 0 to x: (1 - 2^-x) / (x ln 2). Near 0 the difference would lose
 * its digits; there the series 1 - y/2! + y^2/3! - ... with y = x ln 2. */
static double mean_factor(double x)
{
	double y = x * LN2, sum = 1;

	if (y > 0.25)
		return (1 - exp2(-x)) / y;
	for (int k = 14; k > 1; k--)
		sum = 1 - sum * y / k;
	return sum;
}

/* to - from, at least 0, at most INT64_MAX (292 years): nothing is left by then. */
static int64_t elapsed_ns(int64_t from_ns, int64_t to_ns)
{
	int64_t ns;

	if (__builtin_sub_overflow(to_ns, from_ns, &ns))
		return to_ns > from_ns ? INT64_MAX : 0;
	return ns > 0 ? ns : 0;
}

int64_t decay_last_reset(const struct decay_rule *rule, int64_t now_ns)
{
	size_t low = 0, high = rule->n_resets;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rule->resets_ns[mid] <= now_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? rule->resets_ns[low - 1] : INT64_MIN;
}

int decay_seen(const struct decay_rule *rule, const struct decay_charge *c, int64_t now_ns,
	       double *ret)
{
	int64_t reset = decay_last_reset(rule, now_ns), from = c->from_ns;
	double amount = c->amount, mean = 1;

	if (!isfinite(amount) || amount < 0 || rule->half_life_ns < 0)
		return -EINVAL;
	if (c->to_ns < reset) {
		*ret = 0;
		return 0;
	}
	/* Only the part after the reset counts: its share of the interval is its share of the
	 * amount. */
	if (from < reset) {
		amount *= (double)elapsed_ns(reset, c->to_ns) /
			  (double)elapsed_ns(from, c->to_ns);
		from = reset;
	}
	if (rule->half_life_ns)
		mean = mean_factor((double)elapsed_ns(from, c->to_ns) /
				   (double)rule->half_life_ns);
	*ret = amount * mean * decay_factor(elapsed_ns(c->to_ns, now_ns), rule->half_life_ns);
	return 0;
}

double decay_read(const struct decay *d, const struct decay_rule *rule, int64_t now_ns)
{
	if (decay_last_reset(rule, now_ns) > d->at_ns)
		return 0;
	return d->value * decay_factor(elapsed_ns(d->at_ns, now_ns), rule->half_life_ns);
}

/* Decays the sum to now and adds the charge (sign 1) or takes it away (sign -1). A refund
 * larger than the rest, by rounding or by hand, leaves 0. */
static int add_signed(struct decay *d, const struct decay_rule *rule,
		      const struct decay_charge *c, int64_t now_ns, double sign)
{
	struct decay next = { .at_ns = now_ns > d->at_ns ? now_ns : d->at_ns };
	double seen;
	int r = decay_seen(rule, c, next.at_ns, &seen);

	if (r < 0)
		return r;
	next.value = decay_read(d, rule, next.at_ns) + sign * seen;
	if (!isfinite(next.value))
		return -ERANGE;
	if (next.value < 0)
		next.value = 0;
	*d = next;
	return 0;
}

int decay_add(struct decay *d, const struct decay_rule *rule, const struct decay_charge *c,
	      int64_t now_ns)
{
	return add_signed(d, rule, c, now_ns, 1);
}

int decay_refund(struct decay *d, const struct decay_rule *rule, const struct decay_charge *c,
		 int64_t now_ns)
{
	return add_signed(d, rule, c, now_ns, -1);
}
