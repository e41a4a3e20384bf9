/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alloc.c - `reeve alloc`: waits for resources, then runs a shell or a command here, on the submitting host, while the job holds them.
 *
 * In the job a small command waits for a number on its standard input (client/held_job.h). When the command here ends, its exit
 * status is sent there, and the job ends with it. Where this program is lost, so is the terminal of that small command: the
 * allocation ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "cli/client/session/held_job.h"
#include "cli/client/submit/submission.h"
#include "cli/client/words.h"
#include "common/err.h"

/* In the job: ends with the number that comes, or with 1 when none does. */
static char shell_path[] = "/bin/sh", shell_option[] = "-c",
	    shell_text[] = "read -r status && exit \"$status\"; exit 1";

struct alloc {
	struct held_job held;
	char **argv;	    /* the command here */
	pid_t child;	    /* 0: none */
	int status;	    /* its exit status */
	bool has_job_ended; /* before it */
	int input,
		to_job; /* the standard input that was ours; a pipe that now is it, of which this is the write end */
	sd_event_source *child_source;
};

static const struct verb_option options[] = {
	SUBMISSION_OPTIONS,
	MAIL_OPTIONS,
	{ "on-hangup", 0, "cancel|keep",
	  "when this program is lost while its command runs: cancel the job (default), or keep "
	  "it to its walltime, for reeve exec -j",
	  "cancel keep" },
	{ 0 },
};

/* The call with the user's shell as command where none was given. */
static int read_request(struct alloc *a, const struct verb_call *call, struct err *err)
{
	static char default_shell[] = "/bin/sh";
	char *shell = getenv("SHELL"),
	     *words[] = { shell && *shell ? shell : default_shell, NULL };
	static char *const anchor[] = { shell_path, shell_option, shell_text };
	struct verb_call with = *call;
	size_t n = 0;
	int r;

	if (!call->n_args) {
		with.args = words;
		with.n_args = 1;
	}
	a->held.session = (struct session){ .verb = "alloc", .has_input = true };
	r = session_read_hangup(call, &a->held.session.keeps, err);
	if (r == 0)
		r = held_job_read(&a->held, &with, err);
	if (r < 0)
		return r;
	a->argv = TAKE_PTR(a->held.argv);
	for (size_t i = 0; i < ARRAY_LEN(anchor) && r == 0; i++)
		r = words_append(&a->held.argv, &n, strdup(anchor[i]), err);
	return r;
}

/* Standard input becomes a pipe whose other end is ours; the command here gets the real one. */
static int divert_input(struct alloc *a, struct err *err)
{
	int pair[2];

	a->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (a->input < 0)
		a->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (a->input < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %m");
	if (dup2(pair[0], STDIN_FILENO) < 0)
		return err_set(err, -errno, "dup2: %m");
	close(pair[0]);
	a->to_job = pair[1];
	a->held.session.output = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return a->held.session.output < 0 ? err_set(err, -errno, "open /dev/null: %m") : 0;
}

static void become_command(const struct alloc *a)
{
	sigset_t none;
	char id[32];

	snprintf(id, sizeof(id), "%" PRId64, a->held.job);
	setenv("REEVE_JOB_ID", id, 1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(a->input, STDIN_FILENO) >= 0)
		execvp(a->argv[0], a->argv);
	fprintf(stderr, "reeve alloc: cannot run %s: %m\n", a->argv[0]);
	_exit(127);
}

static int on_child(sd_event_source *s, const siginfo_t *si, void *ctx)
{
	struct alloc *a = ctx;

	(void)s;
	a->child = 0;
	a->status = si->si_code == CLD_EXITED ? si->si_status : 128 + si->si_status;
	if (a->has_job_ended)
		return 0;
	/* A few bytes into an empty pipe. */
	if (dprintf(a->to_job, "%d\n", a->status) < 0)
		a->held.signals.quit = true;
	close(a->to_job);
	a->to_job = -1;
	return 0;
}

static int start_command(struct alloc *a, struct err *err)
{
	sigset_t chld;
	int r;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	fprintf(stderr, "reeve alloc: job %" PRId64 " has its resources on %s\n", a->held.job,
		a->held.node);
	a->child = fork();
	if (a->child == 0)
		become_command(a);
	if (a->child < 0)
		return err_set(err, -errno, "fork: %m");
	/* Ctrl-C is for the command; this program ends with it. */
	sd_event_source_set_enabled(a->held.signals.sources[0], SD_EVENT_OFF);
	r = sd_event_add_child(a->held.cli->event, &a->child_source, a->child, WEXITED,
			       on_child, a);
	return r < 0 ? err_set(err, r, "cannot watch the command: %s", strerror(-r)) : 0;
}

/* The job has ended before the command here, or this terminal is lost: SIGHUP, as when a line hangs up. With the terminal still there this
 * program stays until the command has ended: else two programs would read the same terminal. */
static int end_command(struct alloc *a, struct err *err)
{
	bool is_here = !a->held.signals.first;
	int r = 0;

	if (a->child <= 0)
		return 0;
	a->has_job_ended = true;
	if (is_here || !a->held.session.keeps)
		fprintf(stderr, "\nreeve alloc: the allocation of job %" PRId64 " has ended\n",
			a->held.job);
	else
		fprintf(stderr,
			"\nreeve alloc: job %" PRId64
			" keeps its resources: reeve exec -j %" PRId64 ", reeve cancel %" PRId64
			"\n",
			a->held.job, a->held.job, a->held.job);
	kill(a->child, SIGHUP);
	kill(a->child, SIGCONT);
	while (is_here && a->child > 0 && !a->held.signals.first && r >= 0)
		r = sd_event_run(a->held.cli->event, UINT64_MAX);
	return r < 0 ? err_set(err, r, "cannot run the event loop: %s", strerror(-r)) : 0;
}

static void alloc_done(struct alloc *a)
{
	sd_event_source_disable_unref(a->child_source);
	if (a->to_job >= 0)
		close(a->to_job);
	held_job_done(&a->held);
	words_free(a->argv);
}

static int run_alloc(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(alloc_done) struct alloc a = { .held.cli = ctx, .to_job = -1, .input = -1 };
	int r = cli_begin_loop(ctx, call, err);

	request_init(&a.held.request);
	if (r == 0)
		r = read_request(&a, call, err);
	if (r == 0)
		r = held_job_start(&a.held, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = divert_input(&a, err);
	if (r == 0)
		r = start_command(&a, err);
	if (r == 0)
		r = held_job_run(&a.held, err);
	if (r == 0)
		r = end_command(&a, err);
	else
		end_command(&a, &(struct err){ "" });
	if (r == 0 && !a.child && !a.has_job_ended)
		a.held.cli->exit_code = a.status;
	return r;
}

const struct verb cli_verb_alloc = {
	.name = "alloc",
	.args = "[-- COMMAND [ARG]...]",
	.help = "Wait for resources, then run a shell or a command here that uses them",
	.details =
		"Submits a job that only holds its resources. When it runs, the command (your\n"
		"shell by default) runs here, on this host, with REEVE_JOB_ID set: 'reeve exec'\n"
		"in it goes into the job. When the command ends, so does the job, with the same\n"
		"exit status. When the job ends first (its walltime is over, it was cancelled),\n"
		"the command gets SIGHUP, and the exit status is the job's, as of 'reeve run'.\n"
		"When this program is lost, the job is cancelled within two minutes, unless\n"
		"--on-hangup keep was given. Ctrl-C cancels a job that waits; later it is for\n"
		"the command alone.",
	.examples = "reeve alloc -l ncpus=4,vmem=8GB,jobfs=1GB,walltime=1:00:00\n"
		    "reeve alloc --immediate -l ncpus=4,vmem=8GB,jobfs=1GB,walltime=600\n"
		    "reeve alloc -l ncpus=4,vmem=8GB,jobfs=1GB,walltime=600 -- make test",
	.options = options,
	.min_args = 0,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_alloc,
};
