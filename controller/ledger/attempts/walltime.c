/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walltime.c - which part of a job's walltime has passed since its last report; see attempts/walltime.h. */
#include <jansson.h>
#include "common/err.h"
#include "common/model/mail.h"
#include "common/time_units.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/attempts/walltime.h"

static const struct {
	int64_t percent;
	uint32_t mail;
	const char *what; /* in the journal; hooks_events.c */
} parts[] = {
	{ 90, MAIL_TIME_90, "walltime-90" },
	{ 80, MAIL_TIME_80, "walltime-80" },
	{ 50, MAIL_TIME_50, "walltime-50" },
};

/* Parts that have passed between the two, as bits of parts[]. */
static unsigned find_passed(int64_t walltime_s, int64_t before_ns, int64_t after_ns)
{
	unsigned passed = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts) && walltime_s > 0; i++) {
		__int128 at = (__int128)walltime_s * S_NS * parts[i].percent / 100;

		if (before_ns < at && after_ns >= at)
			passed |= 1u << i;
	}
	return passed;
}

/* What the user of the job asked for. Of a document that cannot be read: nothing, the report counts all the same. */
static int load_mails(struct store *s, int64_t job, uint32_t *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	struct db_row *st;
	const char *types;
	struct err why;
	int r = db_query_first(s->db, err, &st, "SELECT request FROM jobs WHERE job = ?1", "i",
			       job);

	*ret = 0;
	if (r <= 0)
		return r;
	doc = wire_load(store_text(st, 0), 0, NULL);
	types = json_string_value(json_object_get(doc, "mail_type"));
	if (types && mail_parse_types(types, ret, &why) < 0)
		*ret = 0;
	db_done(st);
	return 0;
}

int store_walltime_note(struct store *s, const struct store_report_case *c,
			const struct store_known *k, const struct tally_span *span,
			struct err *err)
{
	const struct report *rep = c->report;
	unsigned passed =
		find_passed(k->walltime_s, span->before.running_ns, span->after.running_ns);
	struct store_event e = { c->now_ns, rep->job, c->node, "", "" };
	uint32_t mails;
	int r;

	if (!passed || rep->state == JOB_ENDED || k->job_attempt != rep->attempt)
		return 0;
	r = load_mails(s, rep->job, &mails, err);
	for (size_t i = 0; i < ARRAY_LEN(parts) && r >= 0; i++) {
		if (!(passed & 1u << i) || !(mails & parts[i].mail))
			continue;
		e.what = parts[i].what;
		return store_report_event(s, c, &e, err);
	}
	return r;
}
