/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compose.c - from a document of a hook to a mail, or none; see compose.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/utf8.h"
#include "mail/compose.h"

#define WALLTIME "walltime-"
#define LINE_TEXT_MAX 4096 /* of the node's sentence about the end, with its processes */

static const char *find_text(const json_t *j, const char *key)
{
	const char *text = json_string_value(json_object_get(j, key));

	return text ? text : "";
}

static int64_t find_int(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

/* ---- is one due? ---- */

static bool has_failed(const json_t *doc)
{
	const json_t *end = json_object_get(doc, "end"), *array = json_object_get(doc, "array");

	if (array)
		return find_int(array, "ended_well") < find_int(array, "n");
	if (!strcmp(find_text(end, "kind"), "cancelled"))
		return false;
	return strcmp(find_text(end, "kind"), "exited") != 0 ||
	       find_int(end, "exit_status") != 0;
}

/* A job that is queued again has not ended; cancelling is no failure: its owner or an operator did it. */
static const char *find_end_reason(const json_t *doc, uint32_t types)
{
	const json_t *end = json_object_get(doc, "end");
	const char *limit = find_text(json_object_get(end, "reason"), "limit");
	uint32_t limits = MAIL_LIMIT | MAIL_FAIL | MAIL_END;

	if (strcmp(find_text(doc, "state"), "ended") != 0)
		return NULL;
	if (!strcmp(find_text(end, "kind"), "limit")) {
		limits |= !strcmp(limit, "walltime") ? MAIL_TIME_LIMIT : 0;
		return types & limits ? "limit" : NULL;
	}
	if (has_failed(doc))
		return types & (MAIL_FAIL | MAIL_END) ? "fail" : NULL;
	return types & MAIL_END ? "end" : NULL;
}

static const char *find_reason(const json_t *doc, uint32_t types)
{
	const char *event = find_text(doc, "event");
	const uint32_t percent = !strcmp(event, "job-walltime-50")   ? MAIL_TIME_50
				 : !strcmp(event, "job-walltime-80") ? MAIL_TIME_80
				 : !strcmp(event, "job-walltime-90") ? MAIL_TIME_90
								     : 0;

	/* The event may have waited: one that has ended needs no warning. */
	if (percent)
		return types & percent && strcmp(find_text(doc, "state"), "ended") != 0
			       ? event + strlen("job-")
			       : NULL;
	if (!strcmp(event, "job-started"))
		return types & MAIL_BEGIN ? "begin" : NULL;
	if (!strcmp(event, "job-requeued"))
		return types & MAIL_REQUEUE ? "requeue" : NULL;
	if (!strcmp(event, "job-ended"))
		return find_end_reason(doc, types);
	return NULL;
}

/* ---- its words ---- */

static bool is_warning(const struct mail_message *m)
{
	return !strncmp(m->reason, WALLTIME, strlen(WALLTIME));
}

static const char *word_reason(const struct mail_message *m, const json_t *doc)
{
	const json_t *array = json_object_get(doc, "array");

	if (is_warning(m))
		return !strcmp(m->reason, WALLTIME "50")   ? "has used 50 % of its walltime"
		       : !strcmp(m->reason, WALLTIME "80") ? "has used 80 % of its walltime"
							   : "has used 90 % of its walltime";
	if (!strcmp(m->reason, "begin"))
		return "began";
	if (!strcmp(m->reason, "requeue"))
		return "is queued again: its node was lost";
	return array ? "ended" : find_text(json_object_get(doc, "end"), "line");
}

/* The name is a user's text, the sentence a node's. */
static void set_subject(struct mail_message *m, const json_t *doc, bool is_of_array)
{
	const json_t *array = json_object_get(doc, "array");
	char counts[80] = "";

	if (array)
		snprintf(counts, sizeof(counts), ": %" PRId64 " of %" PRId64 " tasks well",
			 find_int(array, "ended_well"), find_int(array, "n"));
	if (is_of_array && !array)
		utf8_format(m->subject, sizeof(m->subject), "Job array %" PRId64 " (%s) %s",
			    m->job, find_text(doc, "name"), word_reason(m, doc));
	else
		utf8_format(m->subject, sizeof(m->subject), "Job %s%s (%s) %s%s",
			    array ? "array " : "", find_text(doc, "id"), find_text(doc, "name"),
			    word_reason(m, doc), counts);
}

static void put_line(FILE *f, const char *name, const char *value)
{
	char text[512];

	if (*value)
		fprintf(f, "%-10s %s\n", name, utf8_format(text, sizeof(text), "%s", value));
}

static void put_time(FILE *f, const char *name, int64_t ns)
{
	char text[AMOUNT_TEXT_MAX];

	if (ns > 0)
		put_line(f, name, amount_format_utc(ns, text));
}

/* Each line for itself: a line end of the node's text stays one, what else is not printable becomes a '?'. */
static void put_sentence(FILE *f, const char *text)
{
	char line[512];

	for (int n = 0; *text && n < 40; n++) {
		size_t size = strcspn(text, "\n");

		fprintf(f, "%s\n", utf8_clean(utf8_copy(line, sizeof(line), text, size)));
		text += size + (text[size] == '\n');
	}
}

/* Of a job that runs: how long it may, and how long that still is. Suspended time does not count. */
static void put_walltime(FILE *f, const json_t *doc)
{
	const json_t *resources = json_object_get(json_object_get(doc, "request"), "resources");
	int64_t limit_s = find_int(resources, "walltime_s"),
		left_s = limit_s - find_int(doc, "running_ns") / S_NS;
	char text[AMOUNT_TEXT_MAX];

	if (limit_s <= 0)
		return;
	put_line(f, "Walltime", amount_format_seconds(limit_s, text));
	put_line(f, "Left", amount_format_seconds(left_s > 0 ? left_s : 0, text));
}

static void put_figures(FILE *f, const json_t *doc)
{
	const json_t *array = json_object_get(doc, "array");
	char text[AMOUNT_TEXT_MAX];

	put_line(f, "Name", find_text(doc, "name"));
	put_line(f, "User", find_text(doc, "user"));
	put_line(f, "Account", find_text(doc, "account"));
	put_line(f, "Cluster", find_text(doc, "cluster"));
	put_line(f, "Queue", find_text(doc, "queue"));
	put_line(f, "Node",
		 *find_text(doc, "nodes") ? find_text(doc, "nodes") : find_text(doc, "node"));
	put_time(f, "Submitted", find_int(doc, "submitted_ns"));
	put_time(f, "Started", find_int(doc, "started_ns"));
	put_time(f, "Ended", find_int(doc, "ended_ns"));
	if (find_int(doc, "running_ns") > 0)
		put_line(f, "Ran",
			 amount_format_seconds(find_int(doc, "running_ns") / S_NS, text));
	if (array)
		fprintf(f,
			"%-10s %" PRId64 ": %" PRId64 " ended well, %" PRId64
			" did not, %" PRId64 " were cancelled before they began\n",
			"Tasks", find_int(array, "n"), find_int(array, "ended_well"),
			find_int(array, "ended") - find_int(array, "ended_well") -
				find_int(array, "cancelled_early"),
			find_int(array, "cancelled_early"));
}

static int set_text(struct mail_message *m, const json_t *doc, struct err *err)
{
	const bool has_ended = !strcmp(find_text(doc, "state"), "ended");
	size_t size = 0;
	FILE *f = open_memstream(&m->text, &size);

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	fprintf(f, "%s.\n\n", m->subject);
	put_figures(f, doc);
	if (is_warning(m))
		put_walltime(f, doc);
	if (has_ended && !json_object_get(doc, "array")) {
		fputc('\n', f);
		put_sentence(f, find_text(json_object_get(doc, "end"), "text"));
	}
	fprintf(f,
		"\nreeve job %" PRId64
		" has all of it. You asked for this mail at submission (--mail-type).\n",
		m->job);
	if (ferror(f) | fclose(f))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* ---- accounts ---- */

/* As many as fit; a name that is no address is left out. */
static void add_coordinators(struct mail_message *m, const json_t *names)
{
	size_t used = 0;

	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		struct err unused;

		if (!name || strchr(name, ',') || strlen(name) >= MAIL_ADDRESS_MAX ||
		    mail_check_user(name, &unused) < 0 ||
		    used + strlen(name) + 2 > sizeof(m->to))
			continue;
		used += (size_t)snprintf(m->to + used, sizeof(m->to) - used, "%s%s",
					 used ? "," : "", name);
	}
}

static int set_account_text(struct mail_message *m, const json_t *doc, struct err *err)
{
	const char *account = find_text(doc, "account");
	size_t size = 0;
	FILE *f = open_memstream(&m->text, &size);

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	fprintf(f, "%s.\n\n", m->subject);
	put_line(f, "Account", account);
	put_line(f, "Allocation", find_text(doc, "label"));
	put_line(f, "Cluster", find_text(doc, "cluster"));
	put_line(f, "Pool", find_text(doc, "pool"));
	put_line(f, "From", find_text(doc, "from"));
	put_line(f, "To", find_text(doc, "to"));
	put_line(f, "Unit", find_text(doc, "unit"));
	put_line(f, "Total", find_text(doc, "total"));
	put_line(f, "Used", find_text(doc, "used"));
	fprintf(f,
		"\nreeve quota --account %s shows which users used it, and how long it lasts.\nYou get this "
		"mail as a coordinator of the account, once for each period and part.\n",
		account);
	if (ferror(f) | fclose(f))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* No user asked for it: it goes to the coordinators. 0: the account has none. */
static int compose_account(const json_t *doc, struct mail_message *m, struct err *err)
{
	const char *account = find_text(doc, "account"), *label = find_text(doc, "label");
	long long percent = find_int(doc, "percent");
	int r;

	add_coordinators(m, json_object_get(doc, "coordinators"));
	if (!*m->to)
		return 0;
	utf8_format(m->account_reason, sizeof(m->account_reason), "account %s/%s/%s/%s/%s %lld",
		    account, find_text(doc, "cluster"), find_text(doc, "pool"), label,
		    find_text(doc, "from"), percent);
	m->reason = m->account_reason;
	utf8_format(m->user, sizeof(m->user), "@%s", account);
	utf8_format(m->subject, sizeof(m->subject),
		    "Account %s has used %lld %% of its allocation %s (%s of %s %s)", account,
		    percent, label, find_text(doc, "used"), find_text(doc, "total"),
		    find_text(doc, "unit"));
	r = set_account_text(m, doc, err);
	return r < 0 ? r : 1;
}

/* ---- the whole ---- */

static int set_addresses(struct mail_message *m, const json_t *request, struct err *err)
{
	const char *to = find_text(request, "mail_user");

	snprintf(m->to, sizeof(m->to), "%s", *to ? to : m->user);
	return mail_check_user(*to ? to : m->user, err);
}

int mail_compose(const json_t *doc, struct mail_message *ret, struct err *err)
{
	const json_t *request = json_object_get(doc, "request");
	const int64_t array = find_int(doc, "array_job");
	uint32_t types = 0;
	bool is_of_array;
	int r;

	*ret = (struct mail_message){ .job = find_int(doc, "job"),
				      .attempt = find_int(doc, "attempt") };
	if (!json_is_object(doc) || !*find_text(doc, "event"))
		return err_set(err, -EINVAL,
			       "the document on standard input is not one that a hook reads");
	if (!strcmp(find_text(doc, "event"), "allocation-used"))
		return compose_account(doc, ret, err);
	if (!*find_text(request, "mail_type"))
		return 0;
	r = mail_parse_types(find_text(request, "mail_type"), &types, err);
	if (r < 0)
		return r;
	/* One mail tells that an array begins, one how its tasks ended: at the array's own end. */
	is_of_array = (array > 0 || json_object_get(doc, "array")) && !(types & MAIL_EACH_TASK);
	if (array > 0 && is_of_array && strcmp(find_text(doc, "event"), "job-started") != 0)
		return 0;
	if (json_object_get(doc, "array") && !is_of_array)
		return 0;
	ret->reason = find_reason(doc, types);
	if (!ret->reason)
		return 0;
	if (array > 0 && is_of_array) {
		ret->job = array;
		ret->attempt = 0;
	}
	snprintf(ret->user, sizeof(ret->user), "%s", find_text(doc, "user"));
	r = set_addresses(ret, request, err);
	if (r < 0)
		return r;
	set_subject(ret, doc, is_of_array);
	r = set_text(ret, doc, err);
	return r < 0 ? r : 1;
}

void mail_message_done(struct mail_message *m)
{
	free(m->text);
	m->text = NULL;
}
