/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - names of states and limits, the end message, and reports; see job.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/model/amount.h"
#include "common/model/job.h"

static const char *const state_names[_JOB_STATE_MAX] = {
	[JOB_QUEUED] = "queued",       [JOB_STARTING] = "starting", [JOB_RUNNING] = "running",
	[JOB_SUSPENDED] = "suspended", [JOB_ENDING] = "ending",	    [JOB_ENDED] = "ended",
};

static const char *const desired_names[_DESIRED_MAX] = {
	[DESIRED_RUN] = "run",
	[DESIRED_SUSPEND] = "suspend",
	[DESIRED_CANCEL] = "cancel",
};

static const char *const end_names[_END_MAX] = {
	[END_NONE] = "none",	       [END_EXITED] = "exited",
	[END_SIGNALED] = "signaled",   [END_LIMIT] = "limit",
	[END_CANCELLED] = "cancelled", [END_FAILED] = "failed",
	[END_NODE_LOST] = "node-lost", [END_DEPENDENCY] = "dependency-failed",
};

static const char *const limit_names[_LIMIT_MAX] = {
	[LIMIT_NONE] = "none",	       [LIMIT_NCPUS] = "ncpus",
	[LIMIT_VMEM] = "vmem",	       [LIMIT_MEM] = "mem",
	[LIMIT_JOBFS] = "jobfs",       [LIMIT_JOBFS_FILES] = "jobfs-files",
	[LIMIT_WALLTIME] = "walltime", [LIMIT_PIDS] = "pids",
	[LIMIT_NGPUS] = "ngpus",
};

/* The index of `name` in a table of names, which the enum has; -EINVAL. */
static int find_word(const char *const *words, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(words[i], name))
			return i;
	return -EINVAL;
}

const char *job_state_name(enum job_state s)
{
	return s >= 0 && s < _JOB_STATE_MAX ? state_names[s] : "?";
}

const char *job_desired_name(enum job_desired d)
{
	return d >= 0 && d < _DESIRED_MAX ? desired_names[d] : "?";
}

int job_desired_parse(const char *name, enum job_desired *ret)
{
	int i = find_word(desired_names, _DESIRED_MAX, name);

	if (i < 0)
		return i;
	*ret = (enum job_desired)i;
	return 0;
}

const char *job_end_kind_name(enum job_end_kind k)
{
	return k >= 0 && k < _END_MAX ? end_names[k] : "?";
}

const char *limit_kind_name(enum limit_kind k)
{
	return k >= 0 && k < _LIMIT_MAX ? limit_names[k] : "?";
}

int job_state_parse(const char *name, enum job_state *ret)
{
	int i = find_word(state_names, _JOB_STATE_MAX, name);

	if (i < 0)
		return i;
	*ret = (enum job_state)i;
	return 0;
}

int job_end_kind_parse(const char *name, enum job_end_kind *ret)
{
	int i = find_word(end_names, _END_MAX, name);

	if (i < 0)
		return i;
	*ret = (enum job_end_kind)i;
	return 0;
}

int limit_kind_parse(const char *name, enum limit_kind *ret)
{
	int i = find_word(limit_names, _LIMIT_MAX, name);

	if (i < 0)
		return i;
	*ret = (enum limit_kind)i;
	return 0;
}

static const char *signal_name(int signal)
{
	const char *name = sigabbrev_np(signal);

	return name ? name : "unknown";
}

/* An amount in the unit of its limit; bytes in the family (GB or GiB) of the request. */
static const char *format_amount(const struct reason *r, int64_t v,
				 char buf[static AMOUNT_TEXT_MAX])
{
	if (v < 0)
		return "an unknown amount";
	switch (r->limit) {
	case LIMIT_VMEM:
	case LIMIT_MEM:
	case LIMIT_JOBFS:
		return amount_format_bytes_like(v, r->requested, buf);
	case LIMIT_WALLTIME:
		return amount_format_seconds(v, buf);
	default:
		snprintf(buf, AMOUNT_TEXT_MAX, "%lld", (long long)v);
		return buf;
	}
}

/* " (+256 MiB)" where rounding could make both amounts look the same. */
static void format_over(const struct reason *r, char *buf, size_t size)
{
	char over[AMOUNT_TEXT_MAX];

	buf[0] = '\0';
	if (r->requested < 0 || r->reached <= r->requested)
		return;
	snprintf(buf, size, " (+%s)", format_amount(r, r->reached - r->requested, over));
}

static void format_limit(const struct reason *r, char *buf, size_t size)
{
	char at[AMOUNT_TEXT_MAX], requested[AMOUNT_TEXT_MAX], reached[AMOUNT_TEXT_MAX];
	char over[AMOUNT_TEXT_MAX + 8];

	format_over(r, over, sizeof(over));
	snprintf(buf, size,
		 "%s limit exceeded on %s at %s: requested %s, reached %s%s%s%s; the job was "
		 "killed.",
		 limit_kind_name(r->limit), r->host[0] ? r->host : "the node",
		 amount_format_utc(r->at_ns, at), format_amount(r, r->requested, requested),
		 format_amount(r, r->reached, reached), over, r->text[0] ? " by " : "",
		 r->text);
}

const char *reason_format_line(const struct job_end *end, char *buf, size_t size)
{
	const struct reason *r = &end->reason;
	const char *more = r->text[0] ? ": " : "";

	switch (end->kind) {
	case END_NONE:
		snprintf(buf, size, "has not ended");
		break;
	case END_EXITED:
		snprintf(buf, size, "ended by itself with exit status %d",
			 (int)end->exit_status);
		break;
	case END_SIGNALED:
		snprintf(buf, size, "ended by signal %d (%s), which Reeve did not send",
			 (int)end->signal, signal_name((int)end->signal));
		break;
	case END_LIMIT:
		format_limit(r, buf, size);
		break;
	case END_CANCELLED:
		snprintf(buf, size, "cancelled%s%s", more, r->text);
		break;
	case END_FAILED:
		snprintf(buf, size, "could not be started%s%s", more, r->text);
		break;
	case END_DEPENDENCY:
		snprintf(buf, size, "never started%s%s", more, r->text);
		break;
	default:
		snprintf(buf, size, "lost with its node%s%s", more, r->text);
		break;
	}
	return buf;
}

/* A command name comes from the job: only printable ASCII reaches a file or terminal. */
static void append_proc(const struct reason_proc *p, int64_t like, char *buf, size_t size)
{
	char amount[AMOUNT_TEXT_MAX], comm[sizeof(p->comm) + 1] = "";
	size_t used = strlen(buf);

	for (size_t i = 0; i < sizeof(p->comm) && p->comm[i]; i++)
		comm[i] = p->comm[i] >= ' ' && p->comm[i] <= '~' ? p->comm[i] : '?';
	snprintf(buf + used, size - used, "\n%9d %10s  %s", (int)p->pid,
		 p->bytes < 0 ? "-" : amount_format_bytes_like(p->bytes, like, amount), comm);
}

const char *reason_format(const struct job_end *end, char *buf, size_t size)
{
	const struct reason *r = &end->reason;
	size_t used;
	int n = r->n_procs < REASON_PROCS_MAX ? r->n_procs : REASON_PROCS_MAX;

	reason_format_line(end, buf, size);
	if (end->kind != END_LIMIT || n <= 0)
		return buf;
	used = strlen(buf);
	snprintf(buf + used, size - used, "\n%9s %10s  %s", "PID", "SIZE", "COMMAND");
	for (int i = 0; i < n; i++)
		append_proc(&r->procs[i], r->requested, buf, size);
	used = strlen(buf);
	if (r->n_procs > n)
		snprintf(buf + used, size - used, "\n          and %d more processes",
			 (int)r->n_procs - n);
	return buf;
}

void job_end_raise_peaks(const struct job_end *end, struct usage *u)
{
	int64_t *peaks[_LIMIT_MAX][2] = {
		[LIMIT_VMEM] = { &u->vmem_peak_bytes, NULL },
		[LIMIT_MEM] = { &u->rss_peak_bytes, &u->mem_peak_bytes },
		[LIMIT_JOBFS] = { &u->jobfs_peak_bytes, NULL },
		[LIMIT_PIDS] = { &u->procs_peak, NULL },
	};

	if (end->kind != END_LIMIT || end->reason.limit >= _LIMIT_MAX)
		return;
	for (int i = 0; i < 2; i++) {
		int64_t *peak = peaks[end->reason.limit][i];

		if (peak && end->reason.reached > (usage_has(u, peak) ? *peak : -1))
			usage_set(u, peak, end->reason.reached);
	}
}

void report_done(struct report *r)
{
	free(r->gpus);
	free(r->series);
	r->gpus = NULL;
	r->n_gpus = 0;
	r->series = NULL;
	r->series_size = 0;
}

int job_end_exit_code(const struct job_end *end)
{
	switch (end->kind) {
	case END_EXITED:
		return end->exit_status;
	case END_SIGNALED:
		return 128 + end->signal;
	case END_LIMIT:
		return end->reason.limit == LIMIT_WALLTIME ? 143 : 137;
	case END_CANCELLED:
		return 143;
	default:
		return 125;
	}
}
