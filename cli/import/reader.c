/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader.c - reads rows of SWF, of sacct (by lines and as JSON) and of PBS; see reader.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/import/file.h"
#include "cli/import/reader.h"
#include "cli/import/sacct_json.h"
#include "common/err.h"
#include "controller/history/form.h"
#include "controller/history/pbs_phases.h"
#include "controller/history/swf.h"

#define NO_JOB SWF_NO_JOB
_Static_assert(SWF_NO_JOB == SACCT_NO_JOB && SWF_NO_JOB == PBS_NO_JOB,
	       "one value for lines that are no job");

const char *const import_format_names[] = { "swf", "sacct", "pbs" };
_Static_assert(ARRAY_LEN(import_format_names) == _IMPORT_FORMAT_MAX, "a name a format");

struct import_reader {
	enum import_format format;
	char *path;
	struct import_file *file;
	int64_t place;
	struct swf swf;
	struct sacct sacct;
	struct pbs_phases *phases; /* NULL: only whole jobs */
	struct sacct_json json;
	const char *bytes; /* of the document: read from the file, and not looked at yet */
	size_t n_bytes;
	bool is_json;
};

enum import_format import_format_find(const char *name)
{
	enum import_format f = 0;

	while (f < _IMPORT_FORMAT_MAX && strcmp(name, import_format_names[f]) != 0)
		f++;
	return f;
}

/* Refuses a file of another form than was stated; one of no known form may be damaged, and its lines
 * are rejected by reason. */
static int check_form(struct import_reader *r, struct err *err)
{
	static const enum history_form stated[] = { HISTORY_FORM_SWF, HISTORY_FORM_SACCT,
						    HISTORY_FORM_PBS };
	struct import_line begin;
	enum history_form form;
	int e = import_file_begin(r->file, &begin, err);

	if (e < 0)
		return e;
	form = history_form_of(begin.at, begin.size);
	r->is_json = form == HISTORY_FORM_JSON && r->format == IMPORT_SACCT;
	if (r->is_json || form == HISTORY_FORM_UNKNOWN || form == stated[r->format])
		return 0;
	return err_set(err, -EBADMSG, "%.200s is not %s: %s", r->path,
		       import_format_names[r->format], history_form_words(form));
}

int import_reader_open(const char *path, const struct import_how *how,
		       struct import_reader **ret, struct err *err)
{
	_cleanup_(import_reader_closep) struct import_reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r || !(r->path = strdup(path)))
		return err_set(err, -ENOMEM, "out of memory");
	r->format = how->format;
	r->sacct = how->sacct;
	r->swf = (struct swf)SWF_INIT;
	r->swf.epoch_s = how->epoch_s;
	if (how->has_phases && !(r->phases = pbs_phases_new()))
		return err_set(err, -ENOMEM, "out of memory");
	e = import_file_open(path, &r->file, err);
	if (e >= 0)
		e = check_form(r, err);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(r);
	return 0;
}

struct import_reader *import_reader_close(struct import_reader *r)
{
	if (!r)
		return NULL;
	import_file_close(r->file);
	swf_done(&r->swf);
	pbs_phases_free(r->phases);
	sacct_json_done(&r->json);
	free(r->path);
	free(r);
	return NULL;
}

/* ---- lines ---- */

static int parse_line(struct import_reader *r, struct import_line l, struct history_job *ret)
{
	if (r->format == IMPORT_SWF)
		return swf_parse_line(&r->swf, l.at, l.size, ret);
	if (r->format == IMPORT_SACCT)
		return sacct_parse_line(&r->sacct, l.at, l.size, ret);
	return r->phases ? pbs_phases_line(r->phases, l.at, l.size, ret)
			 : pbs_parse_line(l.at, l.size, ret);
}

static int next_line(struct import_reader *r, struct history_job *ret, int *ret_why,
		     struct err *err)
{
	struct import_line l;
	int e;

	while ((e = import_file_line(r->file, &l, err)) > 0) {
		r->place++;
		*ret_why = parse_line(r, l, ret);
		if (*ret_why < NO_JOB)
			return err_set(err, -ENOMEM, "out of memory");
		if (*r->sacct.missing)
			return err_set(err, -EBADMSG,
				       "%.200s:%" PRId64
				       ": the heading lacks %s; write the file "
				       "with these columns of sacct too",
				       r->path, r->place, r->sacct.missing);
		if (*ret_why != NO_JOB)
			return 1;
	}
	return e;
}

/* ---- a document ---- */

static int next_item(struct import_reader *r, struct history_job *ret, int *ret_why,
		     struct err *err)
{
	size_t used;
	int e = 0;

	while (e == 0) {
		if (!r->n_bytes)
			r->n_bytes = import_file_read(r->file, &r->bytes, err);
		if (r->n_bytes == SIZE_MAX)
			return -EBADMSG;
		if (!r->n_bytes) {
			e = sacct_json_end(&r->json, err);
			return e;
		}
		e = sacct_json_feed(&r->json, r->bytes, r->n_bytes, &used);
		r->bytes += used;
		r->n_bytes -= used;
	}
	r->place++;
	if (e < 0)
		return err_set(err, e == -ERANGE ? -EBADMSG : e, "%.200s: job %" PRId64 ": %s",
			       r->path, r->place,
			       e == -ERANGE ? "it is longer than 1 MiB" : "out of memory");
	*ret_why = sacct_json_row(&r->json, &r->sacct, ret);
	return 1;
}

int import_reader_next(struct import_reader *r, struct history_job *ret, int *ret_why,
		       struct err *err)
{
	int e;

	if (!r->is_json)
		return next_line(r, ret, ret_why, err);
	do
		e = next_item(r, ret, ret_why, err);
	while (e > 0 && *ret_why == NO_JOB);
	return e;
}

int64_t import_reader_place(const struct import_reader *r)
{
	return r->place;
}

const char *import_reader_unit(const struct import_reader *r)
{
	return r->is_json ? "job" : "line";
}

int import_reader_percent(const struct import_reader *r)
{
	return import_file_percent(r->file);
}
