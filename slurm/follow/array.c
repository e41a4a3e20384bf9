/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_array.c - counts the tasks in Slurm's text of an array; see slurm_array.h. */
#include <ctype.h>
#include "slurm/follow/array.h"

static int64_t read_index(const char **p)
{
	int64_t n = 0;

	while (isdigit((unsigned char)**p)) {
		n = n < SLURM_PENDING_TASKS_MAX ? n * 10 + **p - '0' : n;
		++*p;
	}
	return n;
}

int64_t array_count_tasks(const char *text)
{
	int64_t n = 0;

	for (const char *p = text; *p && *p != '%'; p += *p == ',') {
		int64_t first = read_index(&p), last = first, step = 1;

		if (*p == '-') {
			p++;
			last = read_index(&p);
		}
		if (*p == ':') {
			p++;
			step = read_index(&p);
			step = step ? step : 1;
		}
		if (*p && *p != ',' && *p != '%')
			return 1;
		n += last >= first ? (last - first) / step + 1 : 0;
		if (n > SLURM_PENDING_TASKS_MAX)
			return SLURM_PENDING_TASKS_MAX;
		if (*p == '%')
			break;
	}
	return n ? n : 1;
}
