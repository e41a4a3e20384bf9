/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - reads the trace and writes the CSV file of jobs; see files.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/import/file.h"
#include "cli/import/map.h"
#include "cli/import/reader.h"
#include "cli/import/seen.h"
#include "cli/simulate/files.h"
#include "common/err.h"
#include "controller/history/form.h"

/* ---- the trace ---- */

static int report_add(int r, const char *path, struct err *err)
{
	if (r == -E2BIG)
		return err_set(err, r, "%.200s: more jobs than can be replayed", path);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/* Which rows are left out. */
struct row_filter {
	struct import_seen seen;
	struct simulate_clusters *clusters;
};

static void row_filter_done(struct row_filter *f)
{
	import_seen_done(&f->seen);
}

/* A job whose names are not UTF-8 is rejected: tables could not show them. A row that comes twice is one
 * job. */
static int add_history(struct sim_trace *t, struct history_job *j, int why,
		       struct row_filter *f)
{
	char bad[REQUEST_NAME_MAX];
	int r;

	if (why == HISTORY_OK && !import_map_check(j, bad))
		why = HISTORY_NO_NAME;
	r = why == HISTORY_OK ? import_seen_add(&f->seen, j) : 0;
	if (r < 0)
		return r;
	if (r > 0 || (why == HISTORY_OK && simulate_clusters_count(f->clusters, j->cluster)))
		return 0;
	return sim_trace_history(t, j, (enum history_why)why);
}

/* The rows of sacct and of PBS: a job that released nodes is replayed with its first allocation. */
static int read_rows(const struct simulate_source *from, enum import_format format,
		     struct sim_trace *ret, struct err *err)
{
	const struct import_how how = { .format = format, .epoch_s = -1 };
	_cleanup_(import_reader_closep) struct import_reader *reader = NULL;
	_cleanup_(row_filter_done) struct row_filter filter = { .clusters = from->clusters };
	struct history_job j;
	int why, r = import_reader_open(from->path, &how, &reader, err);

	while (r >= 0 && (r = import_reader_next(reader, &j, &why, err)) > 0)
		r = report_add(add_history(ret, &j, why, &filter), from->path, err);
	return r < 0 ? r : simulate_clusters_check(from->clusters, from->path, err);
}

static int check_swf(struct import_file *f, const char *path, struct err *err)
{
	struct import_line begin;
	enum history_form form;
	int r = import_file_begin(f, &begin, err);

	if (r < 0)
		return r;
	form = history_form_of(begin.at, begin.size);
	if (form == HISTORY_FORM_UNKNOWN || form == HISTORY_FORM_SWF)
		return 0;
	return err_set(err, -EBADMSG, "%.200s is not swf: %s; give it as --format", path,
		       history_form_words(form));
}

static int read_swf(const char *path, struct sim_trace *ret, struct err *err)
{
	_cleanup_(import_file_closep) struct import_file *f = NULL;
	struct import_line l;
	int r = import_file_open(path, &f, err);

	if (r >= 0)
		r = check_swf(f, path, err);
	while (r >= 0 && (r = import_file_line(f, &l, err)) > 0)
		r = report_add(sim_trace_line(ret, l.at, l.size), path, err);
	return r;
}

int simulate_read_trace(const struct simulate_source *from, struct sim_trace *ret,
			struct err *err)
{
	static const char *const titles[] = {
		[IMPORT_SWF] = "the Standard Workload Format, with 18 numbers, run time and "
			       "cores; for another format give --format sacct or pbs",
		[IMPORT_SACCT] = "what sacct prints, as 'reeve import sacct' reads it",
		[IMPORT_PBS] = "an accounting log of PBS",
	};
	enum import_format f = import_format_find(from->format);
	int r;

	if (f == _IMPORT_FORMAT_MAX)
		return err_set(err, -EINVAL, "--format %.40s: write swf, sacct or pbs",
			       from->format);
	if (f == IMPORT_SWF && from->clusters->only)
		return err_set(err, -EINVAL,
			       "--cluster: a file in SWF is of one cluster, and does not name "
			       "it; sacct and pbs name theirs (--format)");
	r = f == IMPORT_SWF ? read_swf(from->path, ret, err) : read_rows(from, f, ret, err);
	if (r == 0 && ret->n == 0)
		return err_set(err, -EBADMSG, "%.200s: no line is a job in %s", from->path,
			       titles[f]);
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
