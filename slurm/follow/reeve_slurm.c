/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reeve_slurm.c - reeve-slurm: reads the jobs of one cluster from slurmctld and slurmdbd, and sends them to the controller.
 *
 * It keeps nothing: how far slurmdbd has been read stands in the controller's ledger, written in the transaction that
 * stored the jobs. So it may be killed and started at any time, and it leaves SIGTERM its default action.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <systemd/sd-daemon.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/verb/verb.h"
#include "common/version.h"
#include "slurm/follow/accounting.h"
#include "slurm/follow/follow.h"
#include "slurm/follow/list.h"
#include "slurm/follow/live.h"
#include "slurm/follow/loop.h"
#include "slurm/follow/priority.h"

/* To add a task: its two functions, and its row here. Accounting first: it ends attempts that slurmctld no longer lists. */
static const struct loop_task tasks[] = {
	{ "slurmdbd", accounting_interval_s, accounting_run },
	{ "slurmctld", live_interval_s, live_run },
	{ "priority", priority_interval_s, priority_run },
	{ "resend", priority_resend_interval_s, priority_resend },
	{ 0 },
};

static const struct verb_option options[] = {
	{ "config", 'c', "FILE", "configuration; default: " FOLLOW_CONFIG_FILE, NULL },
	{ "check", 0, NULL, "check the configuration, print its errors and exit", NULL },
	{ "once", 0, NULL, "do each task until nothing is left to do, and exit", NULL },
	{ "task", 0, "NAME", "do this task alone: slurmdbd, slurmctld, priority or resend",
	  "slurmdbd slurmctld priority resend" },
	{ "list", 0, NULL, "print slurmdbd's rows as JSON, for 'reeve admin reconcile'", NULL },
	{ "from", 0, "SECONDS",
	  "with --list: only jobs that ended at this time or later (seconds since 1970)",
	  NULL },
	{ "to", 0, "SECONDS", "with --list: only jobs that ended before this time", NULL },
	{ "debug", 0, NULL, "log more details", NULL },
	{ "version", 0, NULL, "print the version", NULL },
	{ "help", 'h', NULL, "show this help", NULL },
	{ 0 },
};
static const struct verb verb = {
	.name = "reeve-slurm",
	.args = "",
	.help = "Follow slurmctld and slurmdbd, and report their jobs to the controller",
	.examples = "reeve-slurm --config " FOLLOW_CONFIG_FILE " --check\nreeve-slurm --once",
	.options = options,
};
static const struct verb *const verbs[] = { &verb, NULL };
static const struct verb_tool tool = {
	.name = "reeve-slurm",
	.help = "Slurm's jobs for Reeve's ledger",
	.verbs = verbs,
	.common = options,
	.footer =
		"Exit status: 0 done, 1 failed, 2 wrong usage, 78 a mistake in the configuration.",
};

/* The task of this name and the empty one that ends the list, in `ret`. -EINVAL: no task has this name. */
static int choose_task(const char *name, struct loop_task ret[static 2], struct err *err)
{
	for (const struct loop_task *t = tasks; t->run; t++) {
		if (strcmp(t->name, name) != 0)
			continue;
		ret[0] = *t;
		ret[1] = (struct loop_task){ 0 };
		return 0;
	}
	return err_set(err, -EINVAL,
		       "--task %.40s: there are slurmdbd, slurmctld, priority and resend",
		       name);
}

static int run_tasks(struct follow *f, const char *only, bool once, struct err *err)
{
	struct loop_task one[2];
	int r = only ? choose_task(only, one, err) : 0;

	if (r >= 0)
		r = follow_open(f, err);
	if (r < 0)
		return r;
	log_line(LOG_INFO, "cluster %s of Slurm is cluster %s of the controller at %s",
		 follow_config_slurm_cluster(&f->config), f->config.cluster,
		 f->config.controller);
	sd_notify(0, "READY=1");
	return loop_run(f, only ? one : tasks, once, err);
}

/* A time of --list; absent: `otherwise`. */
static int64_t read_time(const struct verb_call *call, const char *option, int64_t otherwise)
{
	const char *text = verb_value(call, option);

	return text ? strtoll(text, NULL, 10) : otherwise;
}

/* --check and --list connect to no controller. > 0: the exit status, with its reason in err. */
static int run_program(const struct verb_call *call, struct err *err)
{
	const char *path = verb_value(call, "config");
	struct follow f = { 0 };
	int r = follow_config_load(path ? path : FOLLOW_CONFIG_FILE, &f.config, err);

	if (r < 0)
		return conf_is_mistake(r) ? CONF_EXIT_MISTAKE : r;
	if (verb_count(call, "check"))
		printf("%s: fine\n", path ? path : FOLLOW_CONFIG_FILE);
	else if (verb_count(call, "list"))
		r = list_print(&f.config, read_time(call, "from", time(NULL) - DAY_S),
			       read_time(call, "to", time(NULL)), err);
	else
		r = run_tasks(&f, verb_value(call, "task"), verb_count(call, "once") > 0, err);
	follow_done(&f);
	return r;
}

int main(int argc, char **argv)
{
	struct verb_call call;
	struct err err = { "" };
	int r = verb_parse(&verb, NULL, (struct verb_argv){ argv, argc }, &call, &err);

	if (r < 0) {
		fprintf(stderr, "reeve-slurm: %s\n", err.text);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	log_open("reeve-slurm", verb_count(&call, "debug") ? LOG_DEBUG : LOG_INFO);
	if (verb_count(&call, "help"))
		verb_help(&tool, &verb, stdout);
	else if (verb_count(&call, "version"))
		puts("reeve-slurm " REEVE_VERSION);
	else
		r = run_program(&call, &err);
	verb_done(&call);
	if (r)
		log_line(LOG_ERR, "%s", err.text);
	return r < 0 ? 1 : r;
}
