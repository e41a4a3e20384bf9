/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stops.c - a row for each name, and its time in the dispatch in progress; see stops.h. */
#include <string.h>
#include "common/clock.h"
#include "common/log.h"
#include "common/stops/stops.h"

#define NAMES_MAX 128
#define OTHER 0 /* the row for time without a name, and for names beyond NAMES_MAX */

const int stops_bounds_ms[STOPS_BOUNDS] = { 1, 5, 10, 25, 50, 100, 250, 500, 1000, 5000 };

static struct {
	struct stops_row rows[NAMES_MAX];
	int64_t own_ns[NAMES_MAX]; /* of the dispatch in progress */
	int n;
	int now; /* the row that runs */
	const char *now_name;
	int64_t since_ns, begun_ns;
	struct log_limit limit;
} stops = { .rows = { { .name = "other" } }, .n = 1, .now_name = "other" };

static int find_row(const char *name)
{
	for (int i = 0; i < stops.n; i++)
		if (stops.rows[i].name == name)
			return i;
	for (int i = 0; i < stops.n; i++)
		if (!strcmp(stops.rows[i].name, name))
			return i;
	if (stops.n == NAMES_MAX)
		return OTHER;
	stops.rows[stops.n].name = name;
	return stops.n++;
}

/* The time until now counts for the row that ran. */
static void change_row(int row)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	stops.own_ns[stops.now] += now_ns - stops.since_ns;
	stops.since_ns = now_ns;
	stops.now = row;
	__atomic_store_n(&stops.now_name, stops.rows[row].name, __ATOMIC_RELAXED);
}

int stops_enter(const char *name)
{
	int outer = stops.now;

	change_row(find_row(name));
	return outer;
}

void stops_leave(int outer)
{
	change_row(outer);
}

void stops_begin(void)
{
	stops.begun_ns = stops.since_ns = clock_ns(CLOCK_MONOTONIC);
	stops.now = OTHER;
	memset(stops.own_ns, 0, sizeof(stops.own_ns));
}

static void count_stop(struct stops_row *row, int64_t took_ns)
{
	int i = 0;

	while (i < STOPS_BOUNDS && took_ns > stops_bounds_ms[i] * MS_NS)
		i++;
	row->buckets[i]++;
	row->sum_ns += took_ns;
	if (took_ns > row->longest_ns)
		row->longest_ns = took_ns;
}

void stops_end(void)
{
	int64_t took_ns;
	int most = OTHER;

	change_row(OTHER);
	took_ns = stops.since_ns - stops.begun_ns;
	for (int i = 1; i < stops.n; i++)
		if (stops.own_ns[i] > stops.own_ns[most])
			most = i;
	count_stop(&stops.rows[most], took_ns);
	if (took_ns >= STOPS_LOG_NS)
		log_limited(&stops.limit, LOG_WARNING,
			    "the event loop stood still for %.3f s: %s had %.3f s of it",
			    (double)took_ns / 1e9, stops.rows[most].name,
			    (double)stops.own_ns[most] / 1e9);
}

const char *stops_now(void)
{
	return __atomic_load_n(&stops.now_name, __ATOMIC_RELAXED);
}

const struct stops_row *stops_row(size_t i)
{
	for (int at = 0; at < stops.n; at++) {
		const struct stops_row *row = &stops.rows[at];

		if (row->sum_ns && i-- == 0)
			return row;
	}
	return NULL;
}
