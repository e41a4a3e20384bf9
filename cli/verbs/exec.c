/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exec.c - `reeve exec`: starts a command in a running job, on one node or several, shows its
 * output, and exits with its status.
 *
 * One event loop reads the output of all steps and handles the signals. The first interrupt cancels the
 * steps and waits at most CANCEL_WAIT_US for their end; the second exits at once.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "cli/client/exec_output.h"
#include "cli/client/exec_args.h"
#include "cli/client/wait/retry.h"
#include "cli/client/session/session.h"
#include "cli/client/session/signals.h"
#include "common/err.h"
#include "common/signature/signature.h"
#include "common/wire/wire.h"

#define CANCEL_SENT_US (300 * 1000)
#define CANCEL_WAIT_US (5 * 1000 * 1000)

/* A step on one node. */
struct exec_step {
	int64_t step;
	char *node;
};

struct exec {
	struct cli *cli;
	struct exec_args args;
	struct http
		*control; /* a connection for cancel requests alone: the other may be busy */
	struct signals signals; /* quit: leave the event loop */
	sd_event_source *cancel_timer;
	char path[64]; /* /v1/jobs/JOB */
	json_t *job;   /* its record; NULL: was not needed, see make_body() */
	struct exec_step *steps;
	size_t n_steps, n_cancelled; /* a cancel request was sent for the first n_cancelled */
	struct exec_output output;
	struct session session; /* of --pty or --stdin */
	int result; /* 0; or why the output could not be read or written: negative errno */
	struct err *err;
};

static const struct verb_option options[] = {
	{ "job", 'j', "JOB",
	  "the job; default: the job that runs this command ($REEVE_JOB), or that of reeve alloc ($REEVE_JOB_ID)",
	  NULL },
	{ "node", 'n', "NODE[,NODE...]",
	  "on these nodes of the job; default: this one, or the job's first", NULL },
	{ "all", 'a', NULL, "on every node of the job", NULL },
	{ "label", 'l', NULL,
	  "begin each line with its node; default: with several nodes, on a terminal", NULL },
	{ "workdir", 'd', "DIR",
	  "directory to start in; default: this one inside the job, else the job's", NULL },
	{ "export", 0, "none|all|NAME[,NAME...]",
	  "environment of the command: none (the job's own; default), all (that of this "
	  "shell; default inside the job), or the job's own and these variables",
	  "none all" },
	SESSION_OPTIONS,
	{ "rsh", 0, "NODE",
	  "act like rsh NODE COMMAND...: join the words that follow with blanks and run them by "
	  "/bin/sh",
	  NULL },
	{ 0 },
};

/* ---- cancelling ---- */

static void cancel_next(struct exec *x);

static void on_cancelled(void *ctx, int result, json_t *answer, const struct err *err)
{
	struct exec *x = ctx;

	json_decref(answer);
	/* 409: the step has ended meanwhile; its output reports that. */
	if (result != 0 && result != 409)
		cli_complain("exec", err);
	cancel_next(x);
}

/* Sends the next cancel request: one at a time, as a connection has one request under way. */
static void cancel_next(struct exec *x)
{
	_cleanup_json_ json_t *body = NULL;
	char path[160];
	struct http_call call = { .method = "POST", .path = path };
	struct err err = { "" };

	if (x->n_cancelled == x->n_steps) {
		x->signals.quit |= x->result < 0; /* no output will report their end */
		return;
	}
	body = json_pack("{s:s,s:I}", "schema", WIRE_SCHEMA, "step",
			 (json_int_t)x->steps[x->n_cancelled++].step);
	call.body = body;
	snprintf(path, sizeof(path), "%s/steps/cancel", x->path);
	if (http_start(x->control, call, on_cancelled, x, &err) < 0)
		cli_complain("exec", &err);
}

static int on_cancel_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
	struct exec *x = ctx;

	(void)s;
	(void)usec;
	x->signals.quit = true;
	return 0;
}

/* Cancels all steps, and waits for their end for CANCEL_WAIT_US at most. Called again: no effect. */
static void cancel_steps(struct exec *x)
{
	if (!x->n_steps || x->cancel_timer)
		return;
	if (sd_event_add_time_relative(x->cli->event, &x->cancel_timer, CLOCK_MONOTONIC,
				       CANCEL_WAIT_US, 0, on_cancel_timer, x) < 0)
		x->signals.quit = true;
	cancel_next(x);
}

/* The first signal cancels the steps; the second exits without waiting for their end. */
static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *ctx)
{
	struct exec *x = ctx;

	(void)s;
	if (x->signals.first) {
		x->signals.quit = true;
		return 0;
	}
	x->signals.first = (int)si->ssi_signo;
	/* The terminal is lost: its step is kept, or ended by session_run(). */
	if (session_is_wanted(&x->session) && x->signals.first != SIGINT)
		x->signals.quit = true;
	else
		cancel_steps(x);
	return 0;
}

/* ---- output ---- */

/* A step whose output cannot be read or written is cancelled, as after an interrupt. */
static void on_output_end(void *ctx, int result, const struct err *err)
{
	struct exec *x = ctx;

	x->signals.quit = result == 0;
	if (result == 0)
		return;
	x->result = result;
	*x->err = *err;
	cancel_steps(x);
}

static bool wants_labels(const struct exec *x, const struct verb_call *call)
{
	if (verb_value(call, "rsh")) /* rsh's -l is another option */
		return false;
	return verb_count(call, "label") || (x->n_steps > 1 && isatty(STDOUT_FILENO));
}

/* With --json standard output belongs to the records: the steps' output goes to standard error. */
static int open_writers(struct exec *x, const struct verb_call *call, struct err *err)
{
	bool plain = x->cli->format.output == TABLE_TABLE, labels = wants_labels(x, call);
	struct exec_output *o = &x->output;

	o->writers = calloc(x->n_steps, sizeof(*o->writers));
	if (!o->writers)
		return err_set(err, -ENOMEM, "out of memory");
	for (o->n = 0; o->n < x->n_steps; o->n++) {
		struct writer *of = o->writers[o->n];

		of[EXEC_OUT].fd = plain ? STDOUT_FILENO : STDERR_FILENO;
		of[EXEC_ERR].fd = STDERR_FILENO;
		of[EXEC_OUT].label = of[EXEC_ERR].label = labels ? x->steps[o->n].node : NULL;
	}
	return 0;
}

/* Runs the event loop until the output of all steps has ended, or an interrupt was waited for. 0; < 0: the output could not
 * be read or written, and the steps are cancelled. */
static int follow_steps(struct exec *x, const struct verb_call *call, struct err *err)
{
	struct exec_output *o = &x->output;
	int r = open_writers(x, call, err);

	o->job = strtoll(strrchr(x->path, '/') + 1, NULL, 10);
	o->first = x->steps[0].step;
	o->done = on_output_end;
	o->ctx = x;
	if (r == 0)
		r = exec_output_start(x->cli, o, err);
	if (r == 0 && x->signals.first)
		cancel_steps(x);
	while (r >= 0 && !x->signals.quit)
		r = sd_event_run(x->cli->event, UINT64_MAX);
	exec_output_done(o);
	return r < 0 ? r : x->result;
}

/* The same of an interactive step, whose input and output are this terminal's. */
static int follow_console(struct exec *x, struct err *err)
{
	int r;

	x->session.job = strtoll(strrchr(x->path, '/') + 1, NULL, 10);
	x->session.step = x->steps[0].step;
	x->session.output =
		x->cli->format.output == TABLE_TABLE ? STDOUT_FILENO : STDERR_FILENO;
	r = session_run(x->cli, &x->session, &x->signals.quit, err);
	if (r < 0 && !x->session.keeps) { /* its input and output are lost */
		cancel_steps(x);
		sd_event_run(x->cli->event, CANCEL_SENT_US);
	}
	return r;
}

/* ---- starting ---- */

/* The job of --job, or else the one in which this process runs. */
static int find_job(struct exec *x, const struct verb_call *call, struct err *err)
{
	const char *typed = verb_value(call, "job"), *here = getenv("REEVE_JOB");
	const char *allocated = getenv("REEVE_JOB_ID"); /* of `reeve alloc` */
	char text[JOB_ID_TEXT_MAX];
	struct job_id id;
	int r;

	if (!typed)
		typed = here ? here : allocated;
	if (!typed)
		return err_set(err, -EINVAL,
			       "no job: this shell is not inside one; name it with --job JOB");
	r = cli_parse_job_id(typed, &id, err);
	if (r == 0)
		snprintf(x->path, sizeof(x->path), "/v1/jobs/%s", job_id_format_path(id, text));
	return r;
}

/* Whether `reeve exec` itself runs inside the job. */
static bool is_inside(const struct exec *x)
{
	const char *here = getenv("REEVE_JOB");

	return here && !strcmp(here, strrchr(x->path, '/') + 1);
}

/* Steps belong to the job number, which an array task (12[7]) has too. */
static int request_job(struct exec *x, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	int r = cli_get(x->cli, x->path, &answer, err);

	if (r < 0)
		return r;
	x->job = json_incref(json_object_get(answer, "job"));
	snprintf(x->path, sizeof(x->path), "/v1/jobs/%" PRId64, cli_int(x->job, "job", 0));
	return 0;
}

static int add_node(json_t *nodes, const char *node, struct err *err)
{
	if (!node || json_array_append_new(nodes, json_string(node)) < 0)
		return err_set(err, -EPROTO, "the controller's answer names no node");
	return 0;
}

static int add_all_nodes(const struct exec *x, json_t *nodes, struct err *err)
{
	const json_t *parts = json_object_get(x->job, "parts");
	int r = 0;

	if (!json_array_size(parts))
		return add_node(nodes, cli_text(x->job, "node"), err);
	for (size_t i = 0; i < json_array_size(parts) && r == 0; i++)
		r = add_node(nodes, cli_text(json_array_get(parts, i), "node"), err);
	return r;
}

/* The nodes of --node or --rsh; inside the job this node; else all parts (--all) or the first. */
static int choose_nodes(const struct exec *x, json_t *nodes, struct err *err)
{
	const char *state = cli_text(x->job, "state");
	int r = 0;

	for (char **p = x->args.nodes; p && *p && r == 0; p++)
		r = add_node(nodes, *p, err);
	if (x->args.nodes)
		return r;
	if (!x->args.all && is_inside(x) && getenv("REEVE_NODE"))
		return add_node(nodes, getenv("REEVE_NODE"), err);
	if (!cli_text(x->job, "node"))
		return err_set(
			err, -EREMOTEIO,
			"cannot run a command in a job that is %s; wait until it is running",
			state ? state : "?");
	return x->args.all ? add_all_nodes(x, nodes, err)
			   : add_node(nodes, cli_text(x->job, "node"), err);
}

static int set_argv(const struct exec *x, json_t *body, struct err *err)
{
	json_t *argv = json_array();

	if (json_object_set_new(body, "argv", argv) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (char **p = x->args.argv; *p; p++)
		if (json_array_append_new(argv, json_string(*p)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* With --rsh the directory is the job's: rsh does not keep the caller's either. */
static int set_workdir(const struct exec *x, const struct verb_call *call, json_t *body,
		       struct err *err)
{
	const char *typed = verb_value(call, "rsh") ? NULL : verb_value(call, "workdir");
	_cleanup_free_ char *here = getcwd(NULL, 0), *path = NULL;

	if (!typed && (!is_inside(x) || verb_value(call, "rsh") || !here))
		return 0;
	if (typed && *typed != '/' && !here)
		return err_set(
			err, -EINVAL,
			"the current directory does not exist any more; use --workdir /PATH");
	if (asprintf(&path, "%s%s%s", typed && *typed == '/' ? "" : here,
		     typed && *typed != '/' ? "/" : "", typed ? typed : "") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (json_object_set_new(body, "workdir", json_string(path)) < 0)
		return err_set(err, -EINVAL, "the name of the directory is not UTF-8 text");
	return 0;
}

static int sign_body(const struct exec *x, json_t *body, struct err *err)
{
	int64_t job = strtoll(strrchr(x->path, '/') + 1, NULL, 10);
	_cleanup_free_ char *statement = NULL;
	int r = signature_encode_step(job, body, &statement, err);

	return r < 0 ? r : cli_seal(x->cli, statement, body, err);
}

/* Makes the signed request that starts the steps. The job's record is requested only where the
 * request depends on it (environment, nodes, an array task's job number), to save a round trip. */
static int make_body(struct exec *x, const struct verb_call *call, json_t **ret,
		     struct err *err)
{
	struct exec_args_export e = { .typed = verb_value(call, "export") };
	_cleanup_json_ json_t *body = wire_new();
	json_t *nodes = json_array(), *env = NULL;
	int r = 0;

	if (!body || json_object_set_new(body, "nodes", nodes) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (x->session.is_pty && !e.typed && !is_inside(x) && getenv("TERM"))
		e.typed =
			"TERM"; /* the job's own environment, and what kind of terminal this is */
	if (exec_args_needs_job(&e) || strchr(x->path, '.') ||
	    (!x->args.nodes && !(is_inside(x) && getenv("REEVE_NODE") && !x->args.all)))
		r = request_job(x, err);
	e.is_inside = is_inside(x);
	if (r == 0)
		r = choose_nodes(x, nodes, err);
	if (r == 0)
		r = set_argv(x, body, err);
	if (r == 0)
		r = session_encode(&x->session, body, err);
	if (r == 0)
		r = set_workdir(x, call, body, err);
	if (r == 0)
		r = exec_args_env(&e, x->job, &env, err);
	if (r == 0 && env && json_object_set_new(body, "env", env) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = sign_body(x, body, err);
	if (r == 0)
		*ret = TAKE_PTR(body);
	return r;
}

/* Steps of one request are numbered without gaps, in the order of the nodes. */
static int read_steps(struct exec *x, const json_t *answer, struct err *err)
{
	const json_t *steps = json_object_get(answer, "steps");
	size_t n = json_array_size(steps);

	x->steps = calloc(n + 1, sizeof(*x->steps));
	if (!x->steps)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const json_t *j = json_array_get(steps, i);
		const char *node = cli_text(j, "node");
		struct exec_step *one = &x->steps[x->n_steps++];

		one->step = cli_int(j, "step", 0);
		one->node = strdup(node ? node : "?");
		if (!one->node)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return n ? 0 : err_set(err, -EPROTO, "the controller's answer names no step");
}

static int start_steps(struct exec *x, const struct verb_call *call, struct err *err)
{
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	char path[160];
	struct http_call post = { .method = "POST", .path = path };
	int r = make_body(x, call, &body, err);

	if (r == 0)
		r = cli_connect(x->cli, &x->control, err);
	if (r == 0) /* before the steps are started: none is left behind without a reader */
		r = signals_watch(&x->signals, x->cli->event, on_signal, x, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/steps", x->path);
	post.body = body;
	r = cli_ask(x->cli, post, &answer, err);
	return r < 0 ? r : read_steps(x, answer, err);
}

/* ---- the end of the steps ---- */

/* The exit status for one step. Prints why it has none: a signal, or it was not started. */
static int report_exit(const json_t *step)
{
	const char *text = cli_text(step, "text"), *node = cli_text(step, "node");
	int status = (int)cli_int(step, "exit_status", -1);
	int number = (int)cli_int(step, "signal", 0);
	const char *name = number ? sigabbrev_np(number) : NULL;

	if (text || number) {
		fputs("reeve exec: ", stderr);
		cli_put(stderr, node ? node : "?");
		fputs(": ", stderr);
	}
	if (text)
		cli_put(stderr, text);
	else if (number)
		fprintf(stderr, "ended by signal %d (%s)", number, name ? name : "?");
	if (text || number)
		fputc('\n', stderr);
	if (number)
		return 128 + number;
	return status >= 0 ? status : SESSION_NO_EXIT;
}

static int print_step(struct exec *x, json_t *step, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	int code = report_exit(step);

	if (code > x->cli->exit_code)
		x->cli->exit_code = code;
	if (x->cli->format.output == TABLE_TABLE)
		return 0;
	if (!doc || json_object_update(doc, step) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return cli_print_document(x->cli, doc, err);
}

/* Reads the records of the steps, whose numbers have no gaps, and prints them. */
static int print_record(struct exec *x, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	char path[160];
	const json_t *steps;
	int r;

	snprintf(path, sizeof(path), "%s/steps?after=%" PRId64, x->path, x->steps[0].step - 1);
	x->signals.quit = false; /* from here on set by an interrupt */
	r = retry_request(x->cli, (struct http_call){ .method = "GET", .path = path },
			  &x->signals.quit, &answer, err);
	steps = json_object_get(answer, "steps");
	for (size_t i = 0; i < x->n_steps && r == 0; i++)
		r = print_step(x, json_array_get(steps, i), err);
	return r;
}

static void exec_done(struct exec *x)
{
	for (size_t i = 0; i < x->n_steps; i++)
		free(x->steps[i].node);
	free(x->steps);
	free(x->output.writers);
	x->control = http_close(x->control);
	signals_done(&x->signals);
	sd_event_source_disable_unref(x->cancel_timer);
	json_decref(x->job);
	exec_args_done(&x->args);
}

/* ---- the verb ---- */

/* Exit status 125, unlike that of a command that failed. Wrong usage stays 2. */
static int report_not_started(struct exec *x, int r, const struct err *err)
{
	if (r == -EINVAL && !x->n_steps)
		return r;
	cli_complain("exec", err);
	x->cli->exit_code = SESSION_NO_EXIT;
	return 0;
}

static int run_exec(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(exec_done) struct exec x = { .cli = ctx, .err = err };
	int r = exec_args_read(call, &x.args, err);

	if (r == 0 && !verb_value(call, "rsh")) /* what follows that is rsh's */
		r = session_read(call, "exec", &x.session, err);
	if (r == 0)
		r = cli_begin_loop(x.cli, call, err);
	if (r == 0)
		r = find_job(&x, call, err);
	if (r < 0)
		return r;
	r = start_steps(&x, call, err);
	if (r < 0)
		return report_not_started(&x, r, err);
	r = session_is_wanted(&x.session) ? follow_console(&x, err)
					  : follow_steps(&x, call, err);
	if (r >= 0 && !x.signals.first && x.session.end == CONSOLE_ENDED)
		r = print_record(&x, err);
	if (x.signals.first || x.session.end == CONSOLE_HUNG_UP)
		x.cli->exit_code = x.signals.first ? 128 + x.signals.first : SESSION_NO_EXIT;
	return x.signals.first ? 0 : r;
}

const struct verb cli_verb_exec = {
	.name = "exec",
	.args = "COMMAND [ARG]...",
	.help = "Run a command inside a running job, on one or all of its nodes",
	.details =
		"The command runs as a step of the job: as its owner, within its cores, memory,\n"
		"disk and time, and it ends with the job. Its standard output and error are\n"
		"printed here; its input is /dev/null, or with --stdin this command's; with --pty\n"
		"it has a terminal, and keys go to it. Else Ctrl-C (TERM, HUP) ends it and waits\n"
		"at most 5 s; the exit status is then 130 (143, 129). Else the exit status is the\n"
		"command's own (on several nodes the largest); 128+N when signal N ended it; 125\n"
		"when it was not started, or its job ended first. While the controller cannot be\n"
		"reached the command continues, and its output is printed later. With --json its\n"
		"output goes to standard error, and a record of each node to standard output.\n"
		"MPI launchers can call 'reeve exec --rsh' instead of rsh or ssh; it accepts\n"
		"rsh's options -n and -l (with your own name).",
	.examples = "reeve exec -j 12 -- ps x\n"
		    "reeve exec -j 12 --pty bash\n"
		    "reeve exec -j 12 --stdin -- tar xf - <data.tar\n"
		    "reeve exec -j 12 --all --label hostname\n"
		    "mpirun --mca plm_rsh_agent 'reeve exec --rsh' ./a.out",
	.options = options,
	.min_args = 0,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_exec,
};
