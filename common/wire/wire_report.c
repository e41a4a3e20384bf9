/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire_report.c - reports and ends of jobs as JSON; see wire.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/model/series/series.h"
#include "common/utf8.h"
#include "common/wire/doc.h"

#define ANY_INT ((struct wire_int){ INT64_MIN, INT64_MAX, NULL })
#define POSITIVE ((struct wire_int){ 0, INT64_MAX, NULL })

static json_t *encode_proc(const struct reason_proc *p)
{
	char comm[sizeof(p->comm) + 1] = "";

	/* A job names its processes as it likes: JSON must be UTF-8. */
	for (size_t k = 0; k < sizeof(p->comm) && p->comm[k]; k++)
		comm[k] = p->comm[k] >= ' ' && p->comm[k] <= '~' ? p->comm[k] : '?';
	return json_pack("{s:i,s:I,s:s}", "pid", (int)p->pid, "bytes", (json_int_t)p->bytes,
			 "comm", comm);
}

static json_t *encode_procs(const struct reason *r)
{
	_cleanup_doc_ struct doc a = doc_array();
	int n = r->n_procs < REASON_PROCS_MAX ? r->n_procs : REASON_PROCS_MAX;

	for (int i = 0; i < n; i++)
		doc_add(&a, encode_proc(&r->procs[i]));
	return doc_take(&a);
}

static json_t *encode_reason(const struct reason *r)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "limit", limit_kind_name(r->limit));
	doc_int(&d, "requested", r->requested);
	doc_int(&d, "reached", r->reached);
	doc_int(&d, "at_ns", r->at_ns);
	doc_text(&d, "host", r->host);
	doc_int(&d, "n_procs", r->n_procs);
	doc_set(&d, "procs", encode_procs(r));
	doc_text(&d, "text", r->text);
	return doc_take(&d);
}

json_t *wire_encode_end(const struct job_end *e)
{
	char text[REASON_TEXT_MAX], line[REASON_TEXT_MAX];
	_cleanup_doc_ struct doc d = doc_object();

	reason_format(e, text, sizeof(text));
	reason_format_line(e, line, sizeof(line));
	doc_text(&d, "kind", job_end_kind_name(e->kind));
	doc_int(&d, "exit_status", e->exit_status);
	doc_int(&d, "signal", e->signal);
	doc_set(&d, "reason", encode_reason(&e->reason));
	doc_text(&d, "text", text);
	doc_text(&d, "line", line);
	return doc_take(&d);
}

static int decode_procs(const json_t *a, struct reason *r, struct err *err)
{
	int rc;

	if (!json_is_array(a) || json_array_size(a) > REASON_PROCS_MAX)
		return err_set(err, -EINVAL, "procs is not an array of at most %d",
			       REASON_PROCS_MAX);
	for (size_t i = 0; i < json_array_size(a); i++) {
		struct reason_proc *p = &r->procs[i];
		char comm[sizeof(p->comm) + 1] = { 0 }; /* all of it is copied */
		int64_t pid;

		rc = wire_get_int(json_array_get(a, i), "pid",
				  (struct wire_int){ 0, INT32_MAX, NULL }, &pid, err);
		if (rc < 0)
			return rc;
		rc = wire_get_int(json_array_get(a, i), "bytes", ANY_INT, &p->bytes, err);
		if (rc < 0)
			return rc;
		rc = wire_get_text(json_array_get(a, i), "comm",
				   (struct wire_text){ comm, sizeof(comm), false }, err);
		if (rc < 0)
			return rc;
		p->pid = (int32_t)pid;
		memcpy(p->comm, comm, sizeof(p->comm));
	}
	return 0;
}

static int decode_reason(const json_t *j, struct reason *ret, struct err *err)
{
	char limit[32];
	int64_t n_procs;
	int r;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "reason is not an object");
	if ((r = wire_get_text(j, "limit", (struct wire_text){ limit, sizeof(limit), false },
			       err)) < 0 ||
	    (r = wire_get_int(j, "requested", ANY_INT, &ret->requested, err)) < 0 ||
	    (r = wire_get_int(j, "reached", ANY_INT, &ret->reached, err)) < 0 ||
	    (r = wire_get_int(j, "at_ns", POSITIVE, &ret->at_ns, err)) < 0 ||
	    (r = wire_get_int(j, "n_procs", (struct wire_int){ 0, INT32_MAX, NULL }, &n_procs,
			      err)) < 0 ||
	    (r = wire_get_text(j, "host",
			       (struct wire_text){ ret->host, sizeof(ret->host), true }, err)) <
		    0 ||
	    (r = wire_get_text(j, "text",
			       (struct wire_text){ ret->text, sizeof(ret->text), true }, err)) <
		    0)
		return r;
	ret->n_procs = (int32_t)n_procs;
	utf8_clean(ret->host);
	utf8_clean(ret->text);
	if (limit_kind_parse(limit, &ret->limit) < 0)
		return err_set(err, -EINVAL, "limit '%s' is unknown", limit);
	return decode_procs(json_object_get(j, "procs"), ret, err);
}

int wire_decode_end(const json_t *j, const char *at, struct job_end *ret, struct err *err)
{
	struct job_end e = { 0 };
	int64_t status, signal;
	char kind[32];
	int r;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "%s is not an object", at);
	if ((r = wire_get_text(j, "kind", (struct wire_text){ kind, sizeof(kind), false },
			       err)) < 0 ||
	    (r = wire_get_int(j, "exit_status", (struct wire_int){ -1, 255, NULL }, &status,
			      err)) < 0 ||
	    (r = wire_get_int(j, "signal", (struct wire_int){ 0, 64, NULL }, &signal, err)) <
		    0 ||
	    (r = decode_reason(json_object_get(j, "reason"), &e.reason, err)) < 0)
		return err_prefix(err, r, "%s", at);
	if (job_end_kind_parse(kind, &e.kind) < 0)
		return err_set(err, -EINVAL, "%s: kind '%s' is unknown", at, kind);
	e.exit_status = (int32_t)status;
	e.signal = (int32_t)signal;
	*ret = e;
	return 0;
}

json_t *wire_encode_report(const struct report *r)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "job", r->job);
	doc_int(&d, "attempt", r->attempt);
	doc_int(&d, "seq", r->seq);
	doc_int(&d, "at_ns", r->at_ns);
	doc_text(&d, "state", job_state_name(r->state));
	doc_int(&d, "started_ns", r->started_ns);
	doc_int(&d, "ended_ns", r->ended_ns);
	doc_int(&d, "running_ns", r->running_ns);
	doc_int(&d, "suspended_ns", r->suspended_ns);
	doc_set(&d, "usage", wire_encode_usage(&r->usage));
	doc_text(&d, "cpus", r->cpus);
	doc_text(&d, "note", r->note);
	if (r->state == JOB_ENDED)
		doc_set(&d, "end", wire_encode_end(&r->end));
	if (r->n_gpus > 0)
		doc_set(&d, "gpus", wire_encode_gpus(r->gpus, r->n_gpus));
	if (r->series)
		doc_bytes(&d, "series", r->series, r->series_size);
	return doc_take(&d);
}

static int decode_report(const json_t *j, struct report *ret, struct err *err)
{
	int64_t attempt;
	char state[32];
	int r;

	if ((r = wire_get_int(j, "job", (struct wire_int){ 1, INT64_MAX, NULL }, &ret->job,
			      err)) < 0 ||
	    (r = wire_get_int(j, "attempt", (struct wire_int){ 0, INT32_MAX, NULL }, &attempt,
			      err)) < 0 ||
	    (r = wire_get_int(j, "seq", POSITIVE, &ret->seq, err)) < 0 ||
	    (r = wire_get_int(j, "at_ns", POSITIVE, &ret->at_ns, err)) < 0 ||
	    (r = wire_get_int(j, "started_ns", POSITIVE, &ret->started_ns, err)) < 0 ||
	    (r = wire_get_int(j, "ended_ns", POSITIVE, &ret->ended_ns, err)) < 0 ||
	    (r = wire_get_int(j, "running_ns", POSITIVE, &ret->running_ns, err)) < 0 ||
	    (r = wire_get_int(j, "suspended_ns", POSITIVE, &ret->suspended_ns, err)) < 0 ||
	    (r = wire_get_text(j, "state", (struct wire_text){ state, sizeof(state), false },
			       err)) < 0 ||
	    (r = wire_get_text(j, "cpus",
			       (struct wire_text){ ret->cpus, sizeof(ret->cpus), true }, err)) <
		    0 ||
	    (r = wire_get_text(j, "note",
			       (struct wire_text){ ret->note, sizeof(ret->note), true }, err)) <
		    0)
		return r;
	if (job_state_parse(state, &ret->state) < 0)
		return err_set(err, -EINVAL, "state '%s' is unknown", state);
	ret->attempt = (int32_t)attempt;
	utf8_clean(ret->note);
	r = wire_decode_usage(json_object_get(j, "usage"), "usage", &ret->usage, err);
	if (r < 0 || ret->state != JOB_ENDED)
		return r;
	return wire_decode_end(json_object_get(j, "end"), "end", &ret->end, err);
}

static int decode_gpus(const json_t *j, struct report *ret, struct err *err)
{
	const json_t *gpus = json_object_get(j, "gpus");

	return gpus ? wire_decode_gpus(gpus, "gpus", &ret->gpus, &ret->n_gpus, err) : 0;
}

/* A series that cannot be read, as one of a newer agent may be, keeps no report from being taken: it counts as absent. */
static int decode_series(const json_t *j, struct report *ret)
{
	const json_t *series = json_object_get(j, "series");
	uint8_t *bytes;
	int r = series ? doc_decode_bytes(series, SERIES_BYTES_ACCEPTED, &bytes,
					  &ret->series_size, NULL)
		       : -ENOENT;

	if (r >= 0)
		ret->series = bytes;
	else
		ret->series_size = 0;
	return r == -ENOMEM ? r : 0;
}

int wire_decode_report(const json_t *j, const char *at, struct report *ret, struct err *err)
{
	struct report report = { 0 };
	int r;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "%s is not an object", at);
	r = decode_report(j, &report, err);
	if (r >= 0)
		r = decode_gpus(j, &report, err);
	if (r >= 0 && decode_series(j, &report) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		report_done(&report);
		return err_prefix(err, r, "%s", at);
	}
	*ret = report;
	return 0;
}
