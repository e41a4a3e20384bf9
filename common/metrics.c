/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.c - writes metrics as Prometheus or OpenMetrics text; see common/metrics.h. */
#include <string.h>
#include "common/cleanup.h"
#include "common/metrics.h"

#define OPENMETRICS "application/openmetrics-text"

bool metrics_wants_open(const char *accept)
{
	const char *open = accept ? strstr(accept, OPENMETRICS) : NULL,
		   *text = accept ? strstr(accept, "text/plain") : NULL;

	return open && (!text || open < text);
}

const char *metrics_type(const struct metrics_text *t)
{
	return t->is_openmetrics ? OPENMETRICS "; version=1.0.0; charset=utf-8"
				 : "text/plain; version=0.0.4; charset=utf-8";
}

static bool ends_with(const char *name, size_t n, const char *word)
{
	size_t size = strlen(word);

	return n > size && !memcmp(name + n - size, word, size);
}

/* The unit in `name`, whose first n bytes are the metric's; NULL: it has none. */
static const char *find_unit(const char *name, size_t n)
{
	static const char *const units[] = { "_seconds", "_bytes", "_joules" };

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (ends_with(name, n, units[i]))
			return units[i] + 1;
	return NULL;
}

void metrics_head(struct metrics_text *t, const char *name, const char *type, const char *help)
{
	bool is_open = t->is_openmetrics, is_info = !strcmp(type, "info");
	int n = (int)strlen(name);
	const char *unit;

	if (is_open && !strcmp(type, "counter"))
		n -= (int)strlen("_total");
	if (is_open && is_info)
		n -= (int)strlen("_info");
	fprintf(t->f, "# HELP %.*s %s\n# TYPE %.*s %s\n", n, name, help, n, name,
		is_info && !is_open ? "gauge" : type);
	unit = is_open ? find_unit(name, (size_t)n) : NULL;
	if (unit)
		fprintf(t->f, "# UNIT %.*s %s\n", n, name, unit);
}

/* Names are of letters, digits and . _ + - (users by NSS may have more): escape anyway. */
void metrics_label(struct metrics_text *t, const char *name, const char *value)
{
	fprintf(t->f, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', t->f);
		if (*value == '\n')
			fputs("\\n", t->f);
		else
			fputc(*value, t->f);
	}
	fputc('"', t->f);
}

static unsigned long long absolute_of(int64_t n)
{
	return n < 0 ? -(unsigned long long)n : (unsigned long long)n;
}

void metrics_seconds(const struct metrics_text *t, int64_t ms)
{
	unsigned long long n = absolute_of(ms);

	fprintf(t->f, "%s%llu.%03llu\n", ms < 0 ? "-" : "", n / 1000, n % 1000);
}

void metrics_seconds_ns(const struct metrics_text *t, int64_t ns)
{
	unsigned long long n = absolute_of(ns), s = 1000000000;

	fprintf(t->f, "%s%llu.%09llu\n", ns < 0 ? "-" : "", n / s, n % s);
}

void metrics_end(const struct metrics_text *t)
{
	if (t->is_openmetrics)
		fputs("# EOF\n", t->f);
}
