/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window_file - reads and checks the table `month,allowance,used` of one accounting period.
 *
 * One row a month, in order, none left out; the first and the last row are the period. Amounts
 * are core-hours with at most six decimal places.
 */
#pragma once
#include "controller/policy/quota/window.h"

struct err;

struct window_file {
	struct window_month *months;
	size_t n;
};

/* "-" is standard input. -EINVAL, with FILE:LINE: bad CSV, a bad month or amount, a month twice,
 * out of order or missing, no rows; -errno. */
int window_file_read(const char *path, struct window_file *ret, struct err *err);
void window_file_done(struct window_file *f);
