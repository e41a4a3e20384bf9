/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_attempts.c - prints a job's earlier attempts; see job_attempts.h. */
#include <inttypes.h>
#include "cli/cli.h"
#include "cli/views/job_attempts.h"

static void print_one(const json_t *a, FILE *to)
{
	const char *node = cli_text(a, "node");
	const char *line = cli_text(json_object_get(a, "end"), "line");
	int64_t ms = cli_int(a, "charge_requested_ms", 0);
	char charge[TABLE_CELL_MAX];

	fprintf(to, "attempt %" PRId64 "  on ", cli_int(a, "attempt", 0));
	cli_put(to, node ? node : "?");
	fputs(": ", to);
	cli_put(to, line ? line : "ended");
	fprintf(to, "; charged %s (%" PRId64 ".%03d s)\n",
		table_format_cell(CELL_CHARGE_MS, ms, charge), ms / 1000, (int)(ms % 1000));
}

/* A queued job has no present attempt: all of its attempts are earlier ones. */
void job_attempts_print(const struct job_view *v, FILE *to)
{
	json_t *attempts = json_object_get(v->j, "attempts"), *a;
	int64_t now = v->state == JOB_QUEUED ? INT64_MAX : cli_int(v->j, "attempt", 1);
	bool is_first = true;
	size_t i;

	json_array_foreach(attempts, i, a)
	{
		if (cli_int(a, "attempt", 0) >= now)
			continue;
		fputs(is_first ? "\n" : "", to);
		is_first = false;
		print_one(a, to);
	}
}
