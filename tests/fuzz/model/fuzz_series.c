/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_series.c - any bytes as a series: refused, or within its bounds, with one encoding: the same bytes. What is decoded
 * goes on with hostile samples, and adds up with itself.
 *
 * links: common/model/series/series
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/model/series/series.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_points(const struct series *s)
{
	if (series_points(s) < 0 || series_points(s) > SERIES_POINTS_MAX)
		abort();
	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		for (int i = 0; s->of[m] && i < SERIES_POINTS_MAX; i++)
			if (s->of[m][i] < SERIES_NONE || s->of[m][i] > SERIES_VALUE_MAX)
				abort();
}

static void add_sample(struct series *s, const uint8_t *data, size_t size)
{
	struct series_sample x = { 0 };

	memcpy(&x, data, size < sizeof(x) ? size : sizeof(x));
	if (series_add(s, &x) < 0)
		abort();
	check_points(s);
}

/* Metrics that are not known are left out: then it is shorter. */
static bool is_encoded_again(const struct series *s, const uint8_t *data, size_t size)
{
	uint8_t buf[SERIES_BYTES_MAX];
	size_t n = series_encode(s, buf);

	return n < size || (n == size && !memcmp(buf, data, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t buf[SERIES_BYTES_MAX];
	struct series s, sum = { 0 };

	if (series_decode(data, size, &s) < 0)
		return 0;
	check_points(&s);
	if (series_points(&s) < 1 || !is_encoded_again(&s, data, size))
		abort();
	if (series_sum(&sum, &s) < 0 || series_sum(&sum, &s) < 0)
		abort();
	check_points(&sum);
	add_sample(&s, data + size / 2, size - size / 2);
	if (series_encode(&s, buf) > SERIES_BYTES_MAX)
		abort();
	series_done(&s);
	series_done(&sum);
	return 0;
}
