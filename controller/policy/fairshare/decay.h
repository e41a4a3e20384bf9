/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decay - usage that decays: what a charge still counts after a time, in closed form.
 *
 * Pure. After t a charge counts 2^(-t/h), h being the half-life; h = 0: no decay. There
 * are no steps: exactly one half is left after one half-life. A charge that was made evenly
 * over [from, to) and is seen at t >= to counts the integral
 *	amount / (to - from) x h / ln 2 x (2^(-(t-to)/h) - 2^(-(t-from)/h))
 * (the factor above, integrated over the interval), so its tail is not decayed twice, and it
 * does not matter in how many parts a running job was charged. (Slurm multiplies by 1 - 0.693/h
 * each second, in steps of PriorityCalcPeriod, and has 0.500074 left after a half-life of 7
 * days.)
 *
 * A rule may have resets (the first of a year, of a month, ...) instead of a half-life, or
 * beside it: what was charged before the last reset that has passed counts nothing.
 *
 * Units: nanoseconds since the epoch; amounts are doubles of whatever is charged. Accuracy:
 * relative 1e-12 for times of up to 1000 half-lives, where nothing measurable is left.
 *
 * Clock steps: time never runs backwards here. A reading or charge from before the state's
 * moment leaves the moment where it is and decays nothing; an interval that ends after the
 * moment at which it is seen counts as if it ended then.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "controller/policy/charge/charge.h"

struct decay_rule {
	int64_t half_life_ns;	  /* 0: none */
	const int64_t *resets_ns; /* rising */
	size_t n_resets;
};

struct decay_charge {
	double amount;		/* >= 0 */
	int64_t from_ns, to_ns; /* to <= from: all of it at `to` */
};

/* The last reset that has passed; INT64_MIN when none has. */
int64_t decay_last_reset(const struct decay_rule *rule, int64_t now_ns);

/* What one unit counts after a time; 1 when the time is not above 0. */
double decay_factor(int64_t elapsed_ns, int64_t half_life_ns);

/* What the charge counts at a moment. -EINVAL: a negative half-life; an amount that is
 * negative, infinite or NaN. */
int decay_seen(const struct decay_rule *rule, const struct decay_charge *c, int64_t now_ns,
	       double *ret);

/* The decayed sum of many charges; decayed on reading, stored only when one is added. Zeroed:
 * nothing yet. */
struct decay {
	double value; /* at that moment */
	int64_t at_ns;
};

/* What it counts now; changes nothing. */
double decay_read(const struct decay *d, const struct decay_rule *rule, int64_t now_ns);
/* Brings it forward to now (never back) and adds the charge; a refund takes the same charge
 * away again, to no less than 0. On an error nothing is changed. -EINVAL as decay_seen();
 * -ERANGE: the sum is not finite. */
int decay_add(struct decay *d, const struct decay_rule *rule, const struct decay_charge *c,
	      int64_t now_ns);
int decay_refund(struct decay *d, const struct decay_rule *rule, const struct decay_charge *c,
		 int64_t now_ns);
