/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series_rig.h - series for tests. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "common/model/series/series.h"

#define NONE SERIES_NONE

static struct series_sample sample_at(int64_t elapsed_ms)
{
	struct series_sample x = { .elapsed_ms = elapsed_ms };

	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		x.value[m] = NONE;
	return x;
}

static void assert_same(const struct series *a, const struct series *b)
{
	assert_int_equal(a->interval_ms, b->interval_ms);
	assert_int_equal(a->elapsed_ms, b->elapsed_ms);
	for (int m = 0; m < _SERIES_METRIC_MAX; m++) {
		assert_int_equal(a->of[m] != NULL, b->of[m] != NULL);
		if (a->of[m])
			assert_memory_equal(a->of[m], b->of[m],
					    SERIES_POINTS_MAX * sizeof(*a->of[m]));
	}
}

static void fill_randomly(struct series *s)
{
	int metrics = 1 + (int)(random() % ((1 << _SERIES_METRIC_MAX) - 1));
	int64_t t = 0;

	series_init(s, 1000 << random() % 3);
	for (int i = random() % 200; i >= 0; i--) {
		struct series_sample x = sample_at(t += 1 + random() % 3000);

		for (int m = 0; m < _SERIES_METRIC_MAX; m++)
			x.value[m] = metrics >> m & 1 ? t + random() % 100 : NONE;
		assert_int_equal(series_add(s, &x), 0);
	}
}
