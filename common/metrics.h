/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics - the text that Prometheus reads: its format 0.0.4, or OpenMetrics 1.0.0 for clients that ask for it.
 *
 * They differ in the names of counters in HELP and TYPE (OpenMetrics: without _total), in the line UNIT, and in
 * the last line. https://prometheus.io/docs/instrumenting/exposition_formats/,
 * https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct metrics_text {
	FILE *f;
	bool is_openmetrics;
};

/* By the client's Accept header (NULL: none): of the media types that it lists, the first that can be served. */
bool metrics_wants_open(const char *accept);
const char *metrics_type(const struct metrics_text *t); /* the Content-Type */

/* What begins a metric. `type`: "counter", "gauge" or "info" (as "gauge" in the format 0.0.4; the name ends with
 * _info). The unit is the last word of the name, where that is one. */
void metrics_head(struct metrics_text *t, const char *name, const char *type, const char *help);
/* NAME="VALUE", escaped: any bytes that are UTF-8. */
void metrics_label(struct metrics_text *t, const char *name, const char *value);
/* "1.500", and the end of the line. */
void metrics_seconds(const struct metrics_text *t, int64_t ms);
/* "1.500000000", and the end of the line. */
void metrics_seconds_ns(const struct metrics_text *t, int64_t ns);
void metrics_end(const struct metrics_text *t);
