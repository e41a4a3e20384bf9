/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - reads the trace and writes the CSV file of jobs; see files.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/import/file.h"
#include "cli/import/map.h"
#include "cli/simulate/files.h"
#include "common/err.h"
#include "controller/history/pbs.h"
#include "controller/history/sacct.h"

/* ---- the trace ---- */

/* A job whose names are not UTF-8 is rejected: tables could not show them. */
static int add_history(struct sim_trace *t, const struct history_job *j, int why)
{
	if (why == HISTORY_OK && !import_map_is_text(j))
		why = HISTORY_NO_NAME;
	return sim_trace_history(t, j, (enum history_why)why);
}

static int add_sacct(struct sim_trace *t, const char *line, size_t size)
{
	const struct sacct utc = { 0 };
	struct history_job j;
	int why = sacct_parse_line(&utc, line, size, &j);

	return why == SACCT_NO_JOB ? 0 : add_history(t, &j, why);
}

static int add_pbs(struct sim_trace *t, const char *line, size_t size)
{
	struct history_job j;
	int why = pbs_parse_line(line, size, &j);

	return why == PBS_NO_JOB ? 0 : add_history(t, &j, why);
}

static const struct format {
	const char *name, *title;
	int (*add)(struct sim_trace *t, const char *line, size_t size);
} formats[] = {
	{ "swf", "the Standard Workload Format, with 18 numbers, run time and cores",
	  sim_trace_line },
	{ "sacct", "what sacct prints, with the 26 fields of 'reeve import sacct'", add_sacct },
	{ "pbs", "an accounting log of PBS", add_pbs },
};

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

int simulate_read_trace(const char *path, const char *format, struct sim_trace *ret,
			struct err *err)
{
	_cleanup_(import_file_closep) struct import_file *f = NULL;
	const struct format *how = find_format(format);
	struct import_line l;
	int r;

	if (!how)
		return err_set(err, -EINVAL, "--format %.40s: write swf, sacct or pbs", format);
	r = import_file_open(path, &f, err);
	if (r < 0)
		return r;
	while ((r = import_file_line(f, &l, err)) > 0) {
		r = how->add(ret, l.at, l.size);
		if (r == -E2BIG)
			return err_set(err, r, "%.200s: more jobs than can be replayed", path);
		if (r < 0)
			return err_set(err, r, "out of memory");
	}
	if (r == 0 && ret->n == 0)
		return err_set(
			err, -EBADMSG, "%.200s: no line is a job in %s%s", path, how->title,
			how == formats ? "; for another format give --format sacct or pbs"
				       : "");
	return r;
}

/* ---- figures by job ---- */

#define JOB_LINE_MAX (6 * 21)

/* printf() takes five times as long. */
static char *put_int(char *p, int64_t v, char behind)
{
	char digits[24];
	int n = 0;
	uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;

	do
		digits[n++] = (char)('0' + left % 10);
	while (left /= 10);
	if (v < 0)
		*p++ = '-';
	while (n > 0)
		*p++ = digits[--n];
	*p++ = behind;
	return p;
}

static void put_job(FILE *to, const struct sim_job *j, const struct sim_times *t)
{
	char line[JOB_LINE_MAX], *p = line;

	p = put_int(p, j->number, ',');
	p = put_int(p, j->submit_s, ',');
	p = put_int(p, t->start_s, ',');
	p = put_int(p, t->end_s, ',');
	p = put_int(p, t->start_s - j->submit_s, ',');
	p = put_int(p, t->suspended_s, '\n');
	fwrite_unlocked(line, 1, (size_t)(p - line), to);
}

int simulate_write_jobs(const char *path, const struct sim_replay *r, struct err *err)
{
	FILE *to = fopen(path, "we");
	int bad;

	if (!to)
		return err_set(err, -errno, "cannot write %.200s: %m", path);
	fputs("job,submit_s,start_s,end_s,wait_s,suspended_s\n", to);
	for (size_t i = 0; i < r->trace->n; i++)
		put_job(to, &r->trace->jobs[i], &r->times[i]);
	bad = ferror(to);
	if (fclose(to) != 0 || bad)
		return err_set(err, errno ? -errno : -EIO, "cannot write %.200s: %m", path);
	return 0;
}

const char *simulate_profile_word(const char *profile, size_t *ret_size)
{
	const char *slash = strrchr(profile, '/'), *word = slash ? slash + 1 : profile;
	size_t n = strlen(word);

	*ret_size = n > 5 && !strcmp(word + n - 5, ".conf") ? n - 5 : n;
	return word;
}

int simulate_name_file(const char *path, const char *profile, char **ret, struct err *err)
{
	const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
	size_t stem = dot ? (size_t)(dot - path) : strlen(path), size;
	const char *word = simulate_profile_word(profile, &size);

	if (asprintf(ret, "%.*s.%.*s%s", (int)stem, path, (int)size, word, path + stem) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}
