/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb.c - `reeve admin doctor`: its options, and how the report is printed; see doctor.h. */
#include <errno.h>
#include <string.h>
#include "cli/admin/admin.h"
#include "cli/admin/doctor/doctor.h"
#include "common/err.h"

#define CONTROLLER_CONFIG "/etc/reeve/controller.conf"

static const struct table_column columns[] = {
	{ "check", "CHECK", CELL_TEXT },
	{ "state", "STATE", CELL_TEXT },
	{ "finding", "FINDING", CELL_TEXT },
	{ "remedy", "REMEDY", CELL_TEXT },
	{ 0 },
};

static enum table_cell_tone tone_of(enum judge_state s)
{
	return s == JUDGE_OK ? TONE_GOOD : s == JUDGE_NONE ? TONE_DIM : TONE_BAD;
}

static int print_rows(const struct doctor *d, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	int r = table_new("checks", columns, &t, err);

	if (r < 0)
		return r;
	table_note(t, "kind",
		   d->is_node && d->is_controller ? "node and controller"
		   : d->is_node			  ? "node"
		   : d->is_controller		  ? "controller"
						  : "login machine");
	for (size_t i = 0; i < d->report->n; i++) {
		const struct judge_finding *f = &d->report->of[i];

		table_row(t);
		table_text(t, "check", f->check);
		table_text(t, "state", judge_state_name(f->state));
		table_tone(t, "state", tone_of(f->state));
		table_text(t, "finding", f->text);
		table_text(t, "remedy", *f->remedy ? f->remedy : NULL);
	}
	return table_print(t, &d->cli->format, err);
}

/* A finding a line, what mends it below: sentences are too long for columns. */
static void print_lines(const struct doctor *d)
{
	static const char *const colors[_JUDGE_STATE_MAX] = {
		[JUDGE_OK] = "\033[32m",   [JUDGE_NONE] = "\033[2m",
		[JUDGE_WARN] = "\033[33m", [JUDGE_UNCHECKED] = "\033[33m",
		[JUDGE_FAIL] = "\033[31m",
	};
	FILE *to = d->cli->format.to;
	bool has_color = d->cli->format.color;

	for (size_t i = 0; i < d->report->n; i++) {
		const struct judge_finding *f = &d->report->of[i];

		fprintf(to, "%s%-9s%s  %-12s  ", has_color ? colors[f->state] : "",
			judge_state_name(f->state), has_color ? "\033[0m" : "", f->check);
		cli_put(to, f->text);
		fputc('\n', to);
		if (*f->remedy) {
			fputs("           mend:         ", to);
			cli_put(to, f->remedy);
			fputc('\n', to);
		}
	}
	fprintf(to, "%zu ok, %zu warnings, %zu not checked, %zu failed\n",
		judge_count(d->report, JUDGE_OK), judge_count(d->report, JUDGE_WARN),
		judge_count(d->report, JUDGE_UNCHECKED), judge_count(d->report, JUDGE_FAIL));
}

static int print_report(const struct doctor *d, struct err *err)
{
	if (d->cli->format.output != TABLE_TABLE || d->cli->format.columns)
		return print_rows(d, err);
	print_lines(d);
	return 0;
}

/* The kinds of machine that were named; none: they are detected. */
static int read_kinds(const struct verb_call *call, struct doctor *d, struct err *err)
{
	for (int i = 0; i < call->n_args; i++) {
		if (!strcmp(call->args[i], "node"))
			d->is_node = true;
		else if (!strcmp(call->args[i], "controller"))
			d->is_controller = true;
		else
			return err_set(err, -EINVAL,
				       "'%s' is no kind of machine: node, controller, or none "
				       "to find it out",
				       call->args[i]);
	}
	if (!call->n_args)
		doctor_detect(d);
	return 0;
}

static const char *value_or(const struct verb_call *call, const char *option,
			    const char *otherwise)
{
	const char *value = verb_value(call, option);

	return value ? value : otherwise;
}

static void examine_machine(struct doctor *d)
{
	doctor_read(d);
	doctor_link(d);
	if (d->is_node)
		doctor_node(d);
	if (d->is_controller)
		doctor_controller(d);
	doctor_rest(d);
	judge_report_close(d->report);
}

static int run_doctor(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_free_ struct judge_report *report = calloc(1, sizeof(*report));
	struct cli *c = ctx;
	struct doctor d = { .cli = c,
			    .report = report,
			    .root = value_or(call, "root", ""),
			    .typed_url = verb_value(call, "controller"),
			    .typed_config = verb_value(call, "config"),
			    .agent_path = value_or(call, "agent-config", GATHER_AGENT_CONFIG),
			    .controller_path =
				    value_or(call, "controller-config", CONTROLLER_CONFIG),
			    .job_user = verb_value(call, "job"),
			    .job_account = verb_value(call, "account") };
	int r = report ? cli_begin_offline(c, call, err)
		       : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = read_kinds(call, &d, err);
	if (r >= 0) {
		examine_machine(&d);
		r = print_report(&d, err);
	}
	if (r >= 0 && judge_has_failed(report, verb_count(call, "strict")))
		c->exit_code = CLI_FAILED;
	doctor_done(&d);
	return r;
}

static const struct verb_option options[] = {
	{ "job", 0, "USER", "run a test job of this user too; it is charged", NULL },
	{ "account", 'A', "NAME", "account of the test job", NULL },
	{ "strict", 0, NULL, "exit with 1 for warnings too", NULL },
	{ "agent-config", 0, "FILE", "default: " GATHER_AGENT_CONFIG, NULL },
	{ "controller-config", 0, "FILE", "default: " CONTROLLER_CONFIG, NULL },
	{ "root", 0, "DIR",
	  "look below DIR for the configuration of sshd, cron and at and for lingering users",
	  NULL },
	{ 0 },
};

const struct verb admin_verb_doctor = {
	.name = "doctor",
	.args = "[node] [controller]",
	.help = "Examine this machine, and name the command that mends each fault",
	.details =
		"Checks the kernel, cgroups, project quotas, munge, the clock, the exchange\n"
		"with the controller, ways by which users run processes outside jobs, modes of\n"
		"files, databases, disks, versions and units. Run it as root. Without an argument\n"
		"it checks what is enabled here; as a login machine where that is neither. A\n"
		"check that could not be made says why. The exit status is 1 when a check failed\n"
		"or could not be made, with --strict also when one warns. It changes nothing, but\n"
		"for a file that it writes and removes on the jobs' disk, and the job of --job.",
	.examples = "reeve admin doctor\n"
		    "reeve admin doctor node --json\n"
		    "reeve admin doctor --job alice --account physics",
	.options = options,
	.max_args = 2,
	.run = run_doctor,
};
