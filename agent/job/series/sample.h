/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.h - which figures of a job's usage become the points of its series, and how often the series is sent.
 *
 * Pure. `sampled` is what one sample measured, `all` the usage of the job so far (state_usage_get()).
 */
#pragma once
#include "common/model/series/series.h"
#include "common/model/usage.h"

#define SERIES_SEND_NS (60 * INT64_C(1000000000))

/* Fills ret->value. Memory is that of the sample; where the peak so far is above every point it was reached since the last
 * sample, and is the value: of a job that ended before it was sampled, or of a spike between two samples. Suspended time is
 * SERIES_NONE. */
void series_sample_fill(const struct series *s, const struct usage *all,
			const struct usage *sampled, struct series_sample *ret);
/* How long after it was sent a series of such intervals is sent again: 60 s, or one interval where that is longer. */
int64_t series_sample_send_ns(int64_t interval_ms);
