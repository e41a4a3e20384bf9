/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reconcile.c - `reeve admin reconcile` compares the ledger's jobs of a cluster of Slurm with slurmdbd's.
 *
 * slurmdbd's rows come from `reeve-slurm --list`, run as a child: it is the one program that is linked with libslurm, and its
 * configuration names the cluster. So the command runs where reeve-slurm does. The rows are read from slurmdbd again: a row that
 * reeve-slurm never sent, or sent wrongly, is found. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/admin/admin.h"
#include "cli/admin/reconcile/rows.h"
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/doc.h"

static const struct verb_option options[] = {
	{ "cluster", 0, "NAME", "the cluster; default: that of reeve-slurm.conf", NULL },
	{ "from", 0, "DAY",
	  "attempts that ended on this day (UTC) or later; default: yesterday", NULL },
	{ "to", 0, "DAY", "and before this one; default: today, or the day after --from",
	  NULL },
	{ "reeve-slurm", 0, "PROGRAM", "reeve-slurm, where it is not in PATH", NULL },
	{ "slurm-config", 0, "FILE", "its configuration, where it is not the usual one", NULL },
	{ "json", 0, NULL, "print one document (the same as --output json)", NULL },
	{ 0 },
};

struct reconcile_report {
	const struct cli *c;
	json_t *list; /* for programs; NULL: print each difference at once */
};

/* "2026-11-21", or seconds since the epoch as "@1795300000". */
static int read_day(const char *text, int64_t otherwise, int64_t *ret, struct err *err)
{
	struct tm day = { 0 };
	const char *end;
	char *stop;

	*ret = otherwise;
	if (!text)
		return 0;
	if (*text == '@') {
		*ret = strtoll(text + 1, &stop, 10);
		end = stop == text + 1 ? NULL : stop;
	} else {
		end = strptime(text, "%Y-%m-%d", &day);
		*ret = timegm(&day);
	}
	return end && !*end ? 0
			    : err_set(err, -EINVAL, "'%s' is not a day, as 2026-11-21", text);
}

/* Whole days UTC; with --from alone that one day. */
static int read_period(const struct verb_call *call, struct rows_period *p, struct err *err)
{
	const char *cluster = verb_value(call, "cluster"), *from = verb_value(call, "from");
	int64_t today_s = time(NULL) / DAY_S * DAY_S;
	int r = read_day(from, today_s - DAY_S, &p->from_s, err);

	if (r >= 0)
		r = read_day(verb_value(call, "to"), from ? p->from_s + DAY_S : today_s,
			     &p->to_s, err);
	if (r < 0)
		return r;
	if (cluster && !request_is_name(cluster))
		return err_set(err, -EINVAL, "'%s' is no name of a cluster", cluster);
	snprintf(p->cluster, sizeof(p->cluster), "%s", cluster ? cluster : "");
	return p->from_s < p->to_s ? 0 : err_set(err, -EINVAL, "--to is not after --from");
}

/* The value of a side that the difference is about. */
static const char *format_side(const struct slurm_batch_job *j, enum compare_what what,
			       char buf[static 32])
{
	const int64_t of[_COMPARE_MAX] = { [COMPARE_START] = j ? j->start_s : 0,
					   [COMPARE_END] = j ? j->end_s : 0,
					   [COMPARE_SUSPENDED] = j ? j->suspended_s : 0,
					   [COMPARE_CPUS] = j ? j->ncpus : 0 };
	time_t at = (time_t)of[what];
	struct tm tm;

	if (!j)
		return "";
	if (what == COMPARE_STATE || what == COMPARE_NOT_IN_LEDGER ||
	    what == COMPARE_NOT_IN_SLURMDBD)
		return slurm_batch_state_name(j->state);
	if (what != COMPARE_START && what != COMPARE_END)
		snprintf(buf, 32, "%" PRId64, of[what]);
	else if (!at || !gmtime_r(&at, &tm) || !strftime(buf, 32, "%F %T", &tm))
		snprintf(buf, 32, "never");
	return buf;
}

/* A side that lacks the attempt has no key. */
static int add_document(struct reconcile_report *to, const struct compare_difference *d,
			struct err *err)
{
	const struct slurm_batch_job *j = d->ledger ? d->ledger : d->slurmdbd;
	_cleanup_doc_ struct doc doc = doc_object();
	char ledger[32], slurmdbd[32];

	doc_int(&doc, "slurm_job", j->job);
	doc_int(&doc, "submitted_s", j->submit_s);
	doc_text(&doc, "what", compare_name(d->what));
	doc_text_if(&doc, "ledger", format_side(d->ledger, d->what, ledger));
	doc_text_if(&doc, "slurmdbd", format_side(d->slurmdbd, d->what, slurmdbd));
	if (json_array_append_new(to->list, doc_take(&doc)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int report_difference(void *ctx, const struct compare_difference *d, struct err *err)
{
	struct reconcile_report *to = ctx;
	const struct slurm_batch_job *j = d->ledger ? d->ledger : d->slurmdbd;
	char ledger[32], slurmdbd[32];

	if (to->list)
		return add_document(to, d, err);
	if (!d->ledger || !d->slurmdbd)
		fprintf(to->c->format.to, "job %" PRId64 " (%s) is %s\n", j->job,
			slurm_batch_state_name(j->state), compare_name(d->what));
	else
		fprintf(to->c->format.to, "job %" PRId64 ": %s: ledger %s, slurmdbd %s\n",
			j->job, compare_name(d->what), format_side(d->ledger, d->what, ledger),
			format_side(d->slurmdbd, d->what, slurmdbd));
	return 0;
}

/* What makes the sums differ and is no difference. */
static void print_explained(FILE *to, const struct compare_sums *n)
{
	if (n->n_forgotten)
		fprintf(to,
			"%" PRId64
			" attempts ran once more than slurmdbd has: slurmctld died before it saved their first start; %" PRId64
			" CPU seconds more in the ledger\n",
			n->n_forgotten, n->s_forgotten);
	if (n->n_noticed_late)
		fprintf(to,
			"%" PRId64
			" attempts ended before slurmctld noticed that it had lost their node (NODE_FAIL); %" PRId64
			" CPU seconds more in slurmdbd\n",
			n->n_noticed_late, n->s_noticed_late);
	if (n->s_agent)
		fprintf(to,
			"agents time tasks, Slurm also Prolog and Epilog: %" PRId64
			" CPU seconds more in %s\n",
			n->s_agent < 0 ? -n->s_agent : n->s_agent,
			n->s_agent < 0 ? "slurmdbd" : "the ledger");
}

static int print_summary(const struct reconcile_report *to, const struct rows_period *p,
			 const struct compare_sums *n, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *doc = NULL;
	int r;

	if (!to->list) {
		print_explained(to->c->format.to, n);
		fprintf(to->c->format.to,
			"cluster %s: %" PRId64 " attempts, %" PRId64
			" CPU seconds in the ledger; %" PRId64 " attempts, %" PRId64
			" CPU seconds in slurmdbd: %" PRId64 " differences\n",
			p->cluster, n->n_ledger, n->s_ledger, n->n_slurmdbd, n->s_slurmdbd,
			n->n_differences);
		return 0;
	}
	doc_text(&d, "cluster", p->cluster);
	doc_int(&d, "from_s", p->from_s);
	doc_int(&d, "to_s", p->to_s);
	doc_int(&d, "ledger_attempts", n->n_ledger);
	doc_int(&d, "slurmdbd_attempts", n->n_slurmdbd);
	doc_int(&d, "ledger_cpu_s", n->s_ledger);
	doc_int(&d, "slurmdbd_cpu_s", n->s_slurmdbd);
	doc_int(&d, "forgotten_count", n->n_forgotten);
	doc_int(&d, "forgotten_cpu_s", n->s_forgotten);
	doc_int(&d, "noticed_late_count", n->n_noticed_late);
	doc_int(&d, "noticed_late_cpu_s", n->s_noticed_late);
	doc_int(&d, "agent_cpu_s", n->s_agent);
	doc_int(&d, "difference_count", n->n_differences);
	doc_set(&d, "differences", json_incref(to->list));
	r = doc_finish(&d, &doc, err);
	return r < 0 ? r : cli_print_document(to->c, doc, err);
}

static void lists_done(struct compare_list (*lists)[2])
{
	free((*lists)[0].of);
	free((*lists)[1].of);
}

static void reconcile_report_done(struct reconcile_report *to)
{
	json_decref(to->list);
}

static int run_reconcile(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(lists_done) struct compare_list lists[2] = { { NULL, 0 } };
	_cleanup_(reconcile_report_done) struct reconcile_report to = { .c = ctx };
	const char *program = verb_value(call, "reeve-slurm");
	struct rows_period p = { 0 };
	struct compare compare = { .fn = report_difference, .ctx = &to };
	struct cli *c = ctx;
	int r = read_period(call, &p, err);

	if (r >= 0)
		r = cli_begin(c, call, err);
	if (r < 0)
		return r;
	if (verb_count(call, "json"))
		c->format.output = TABLE_JSON;
	if (c->format.output != TABLE_TABLE && !(to.list = json_array()))
		return err_set(err, -ENOMEM, "out of memory");
	r = rows_of_slurmdbd(program ? program : "reeve-slurm",
			     verb_value(call, "slurm-config"), &p, &lists[1], err);
	if (r >= 0)
		r = rows_of_ledger(c, &p, &lists[0], err);
	if (r >= 0)
		r = compare_lists(&compare, &lists[0], &lists[1], err);
	if (r >= 0)
		r = print_summary(&to, &p, &compare.sums, err);
	if (r >= 0 && compare.sums.n_differences)
		c->exit_code = CLI_FAILED;
	return r;
}

const struct verb admin_verb_reconcile = {
	.name = "reconcile",
	.args = "",
	.help = "Compare the ledger's jobs of a Slurm cluster with slurmdbd's",
	.details =
		"Lists every attempt of a job that one of both lacks, or whose start, end,\n"
		"suspended seconds, state or CPUs differ; exit status 1 when one does. Times\n"
		"that an agent of Reeve measured may differ by a minute: they do not count\n"
		"Prolog and Epilog. A run that slurmctld forgot, since it died before it\n"
		"saved its start, and an end that it noticed late, since it had lost the node\n"
		"(NODE_FAIL), are counted by themselves. Before the sums stands what makes\n"
		"them differ and is no difference. Runs on the host of reeve-slurm, as an\n"
		"operator.",
	.examples = "reeve admin reconcile\n"
		    "reeve admin reconcile --from 2026-11-01 --to 2026-12-01 --json",
	.options = options,
	.run = run_reconcile,
};
