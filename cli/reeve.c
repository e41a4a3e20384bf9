/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reeve.c - the command that people type: its verb table and main(). */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "common/err.h"
#include "common/version.h"

static const struct verb_option common[] = {
	{ "json", 0, NULL, "print JSON, with a \"schema\"", NULL },
	{ "csv", 0, NULL, "print comma-separated values", NULL },
	{ "parsable", 'p', NULL, "print fields that end with |", NULL },
	{ "parsable2", 'P', NULL, "print fields with | between them", NULL },
	{ "output", 0, "FORM", "table, json, csv, parsable, parsable2 or raw (tabs between)",
	  "table json csv parsable parsable2 raw" },
	{ "columns", 'o', "LIST",
	  "columns to print, by the names that --csv shows; help: list them", NULL },
	{ "noheader", 'n', NULL, "print no header line", NULL },
	{ "color", 0, "auto|always|never", "default: auto, on a terminal only",
	  "auto always never" },
	{ "config", 0, "FILE", "read this file instead of /etc/reeve/reeve.conf and the user's",
	  NULL },
	{ "controller", 0, "URL", "address of the controller: http://HOST:8640", NULL },
	{ "help", 'h', NULL, "show this help", NULL },
	{ 0 },
};

static const struct verb *const verbs[] = {
	&cli_verb_submit,    &cli_verb_run,    &cli_verb_exec,
	&cli_verb_alloc,     &cli_verb_attach, &cli_verb_jobs,
	&cli_verb_job,	     &cli_verb_why,    &cli_verb_cancel,
	&cli_verb_suspend,   &cli_verb_resume, &cli_verb_hold,
	&cli_verb_release,   &cli_verb_nice,   &cli_verb_top,
	&cli_verb_nodes,     &cli_verb_usage,  &cli_verb_eff,
	&cli_verb_cost,	     &cli_verb_quota,  &cli_verb_window,
	&cli_verb_fairshare, &cli_verb_share,  &cli_verb_prio,
	&cli_verb_admin,     &cli_verb_web,    &cli_verb_import,
	&cli_verb_simulate,  &cli_verb_help,   NULL,
};

static const struct verb_tool tool = {
	.name = "reeve",
	.help = "Submit jobs, watch them, and see what they used and cost",
	.details =
		"Controller, cluster and account come from [Client] of "
		"/etc/reeve/reeve.conf,\n"
		"then ~/.config/reeve.conf, then the variable REEVE_CONTROLLER, then options.\n"
		"'reeve --version' prints the version.",
	.footer = "Exit status: 0 done; 1 refused or failed; 2 wrong usage; 3 controller\n"
		  "unreachable; 4 not found, or not yours; 5 not permitted. 'reeve run' exits\n"
		  "with the job's own status, 'reeve exec' with the command's.",
	.verbs = verbs,
	.common = common,
};

static int finish_output(void)
{
	struct err err;

	if (!fflush(stdout) && !ferror(stdout))
		return CLI_OK;
	err_set(&err, 0, "cannot write the output: %m");
	cli_complain(NULL, &err);
	return CLI_FAILED;
}

int main(int argc, char **argv)
{
	struct verb_argv typed = { argv, argc };
	const struct verb *verb = NULL;
	struct cli c = { .tool = &tool, .exit_code = CLI_OK };
	struct err err = { "" };
	int r;

	setlocale(LC_CTYPE,
		  ""); /* widths of characters; figures and texts are the same everywhere */
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("reeve " REEVE_VERSION);
		return finish_output();
	}
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		verb_help(&tool, NULL, stdout);
		return finish_output();
	}
	r = verb_main(&tool, typed, &c, &verb, &err);
	cli_done(&c);
	if (r < 0) {
		cli_complain(verb ? verb->name : NULL, &err);
		finish_output();
		return (int)cli_exit_code(r);
	}
	r = finish_output();
	return c.exit_code ? c.exit_code : r;
}
