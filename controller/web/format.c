/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format.c - the XPath functions of format.h; texts are made here, escaped by libxslt. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <libxslt/extensions.h>
#include "common/cleanup.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "controller/policy/charge/tariff.h"
#include "controller/web/format.h"

#define NOT_MEASURED "-"
#define POINTS_MAX 500
#define YEAR_MS (8760.0 * 3600e3)

static void return_text(xmlXPathParserContext *c, const char *text)
{
	valuePush(c, xmlXPathNewCString(text));
}

/* The arguments as texts, the first one first; false: their number is wrong, and the error is set. */
static bool pop_texts(xmlXPathParserContext *c, int n_given, int n, xmlChar **ret)
{
	if (n_given != n) {
		xmlXPathSetArityError(c);
		return false;
	}
	while (n-- > 0)
		ret[n] = xmlXPathPopString(c);
	return true;
}

/* The one argument as a number; false: "-" is returned already. */
static bool pop_number(xmlXPathParserContext *c, int n_given, double *ret)
{
	xmlChar *text;
	char *end;

	if (!pop_texts(c, n_given, 1, &text))
		return false;
	*ret = text ? strtod((const char *)text, &end) : 0;
	if (!text || !*text || *end || !isfinite(*ret)) {
		xmlFree(text);
		return_text(c, NOT_MEASURED);
		return false;
	}
	xmlFree(text);
	return true;
}

/* "1234567.8" with commas between thousands. */
static void return_grouped(xmlXPathParserContext *c, double v, int decimals)
{
	char plain[64], out[96];
	const char *p = plain;
	char *to = out;
	size_t digits;

	if (fabs(v) >= 1e18) {
		return_text(c, "more than can be shown");
		return;
	}
	snprintf(plain, sizeof(plain), "%.*f", decimals, v);
	if (*p == '-')
		*to++ = *p++;
	for (digits = strcspn(p, "."); digits > 0; digits--) {
		*to++ = *p++;
		if (digits > 1 && digits % 3 == 1)
			*to++ = ',';
	}
	strcpy(to, p);
	return_text(c, out);
}

static void f_hours(xmlXPathParserContext *c, int n)
{
	double ms;

	if (pop_number(c, n, &ms))
		return_grouped(c, ms / 3600e3, ms == 0 ? 0 : fabs(ms) < 10 * 3600e3 ? 3 : 1);
}

static void f_years(xmlXPathParserContext *c, int n)
{
	double ms;

	if (pop_number(c, n, &ms))
		return_grouped(c, ms / YEAR_MS, ms == 0 ? 0 : fabs(ms) < YEAR_MS ? 4 : 2);
}

/* unit(U): what amounts of a job's unit are counted in. */
static void f_unit(xmlXPathParserContext *c, int n)
{
	xmlChar *name;

	if (!pop_texts(c, n, 1, &name))
		return;
	return_text(c, tariff_amount_of(name ? (const char *)name : ""));
	xmlFree(name);
}

static void f_count(xmlXPathParserContext *c, int n)
{
	double v;

	if (pop_number(c, n, &v))
		return_grouped(c, v, 0);
}

/* bytes(V) or bytes(V, LIKE): with LIKE in its units: a use beside a request of 100 MB is in MB. */
static void f_bytes(xmlXPathParserContext *c, int n)
{
	char buf[AMOUNT_TEXT_MAX];
	double v, like = 0;

	if (n == 2) {
		like = xmlXPathPopNumber(c);
		n--;
	}
	if (!pop_number(c, n, &v))
		return;
	if (fabs(v) >= 9e18)
		return_text(c, NOT_MEASURED);
	else if (like >= 1 && like < 9e18)
		return_text(c, amount_format_bytes_like((int64_t)v, (int64_t)like, buf));
	else
		return_text(c, amount_format_bytes((int64_t)v, buf));
}

static void return_duration(xmlXPathParserContext *c, double s)
{
	char buf[AMOUNT_TEXT_MAX];

	return_text(c, fabs(s) < 9e18 ? amount_format_seconds((int64_t)s, buf) : NOT_MEASURED);
}

static void f_duration(xmlXPathParserContext *c, int n)
{
	double s;

	if (pop_number(c, n, &s))
		return_duration(c, s);
}

static void f_duration_ns(xmlXPathParserContext *c, int n)
{
	double ns;

	if (pop_number(c, n, &ns))
		return_duration(c, ns / 1e9);
}

/* The process has the site's zone (controller/ledger/calendar.h). */
static void f_time(xmlXPathParserContext *c, int n)
{
	char buf[64];
	struct tm tm;
	double ns;
	time_t t;

	if (!pop_number(c, n, &ns))
		return;
	t = (time_t)(ns / 1e9);
	if (ns <= 0 || fabs(ns) > 9e18 || !localtime_r(&t, &tm) ||
	    !strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm))
		return_text(c, NOT_MEASURED);
	else
		return_text(c, buf);
}

static void f_percent(xmlXPathParserContext *c, int n)
{
	xmlChar *args[2];
	double part, whole;
	char buf[48], *end1, *end2;

	if (!pop_texts(c, n, 2, args))
		return;
	part = strtod(args[0] ? (const char *)args[0] : "", &end1);
	whole = strtod(args[1] ? (const char *)args[1] : "", &end2);
	if (!args[0] || !args[1] || !*args[0] || *end1 || *end2 || !(whole > 0) ||
	    !isfinite(part) || !isfinite(whole))
		snprintf(buf, sizeof(buf), NOT_MEASURED);
	else
		snprintf(buf, sizeof(buf), "%.1f %%", 100 * part / whole);
	xmlFree(args[0]);
	xmlFree(args[1]);
	return_text(c, buf);
}

/* All but the unreserved characters of RFC 3986 as %XX. */
static void f_encode(xmlXPathParserContext *c, int n)
{
	_cleanup_free_ char *text = NULL;
	xmlChar *from;
	size_t size = 0;
	FILE *to;

	if (!pop_texts(c, n, 1, &from))
		return;
	to = open_memstream(&text, &size);
	for (const xmlChar *p = from; to && p && *p; p++)
		if (*p < 128 && (isalnum(*p) || strchr("-._~", *p)))
			fputc(*p, to);
		else
			fprintf(to, "%%%02X", *p);
	if (to)
		fclose(to);
	xmlFree(from);
	return_text(c, text ? text : "");
}

static size_t read_numbers(const char *list, double *ret)
{
	size_t n = 0;
	char *end;

	for (; n < POINTS_MAX; list = end) {
		ret[n] = strtod(list, &end);
		if (end == list)
			break;
		if (isfinite(ret[n]))
			n++;
	}
	return n;
}

/* "0,20 50,10": one point stands for the whole width. */
static void f_points(xmlXPathParserContext *c, int n_given)
{
	double values[POINTS_MAX], width, height, max;
	_cleanup_free_ char *text = NULL;
	size_t n, size = 0;
	xmlChar *args[4];
	FILE *to;

	if (!pop_texts(c, n_given, 4, args))
		return;
	n = read_numbers(args[0] ? (const char *)args[0] : "", values);
	width = strtod(args[1] ? (const char *)args[1] : "0", NULL);
	height = strtod(args[2] ? (const char *)args[2] : "0", NULL);
	max = strtod(args[3] ? (const char *)args[3] : "0", NULL);
	for (int i = 0; i < 4; i++)
		xmlFree(args[i]);
	to = open_memstream(&text, &size);
	for (size_t i = 0; to && i < n; i++) {
		double y = max > 0 ? height * (1 - fmin(fmax(values[i] / max, 0), 1)) : height;

		fprintf(to, "%s%.1f,%.1f", i ? " " : "",
			n > 1 ? width * (double)i / (double)(n - 1) : 0, y);
		if (n == 1)
			fprintf(to, " %.1f,%.1f", width, y);
	}
	if (to)
		fclose(to);
	return_text(c, text ? text : "");
}

int format_register(void)
{
	static const struct {
		const char *name;
		xmlXPathFunction fn;
	} functions[] = {
		{ "hours", f_hours },	{ "years", f_years },
		{ "count", f_count },	{ "unit", f_unit },
		{ "bytes", f_bytes },	{ "duration", f_duration },
		{ "time", f_time },	{ "percent", f_percent },
		{ "points", f_points }, { "duration-ns", f_duration_ns },
		{ "encode", f_encode },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (xsltRegisterExtModuleFunction(BAD_CAST functions[i].name,
						  BAD_CAST FORMAT_NAMESPACE,
						  functions[i].fn) < 0)
			return -ENOMEM;
	return 0;
}
