/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c - `reeve run`: submits a job, follows its output and exits with its status.
 *
 * One event loop has two output streams, a timer that (on a terminal) prints why the job waits,
 * and the signals. The first interrupt cancels the job and waits for its end; the second exits
 * without waiting.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "cli/client/session/held_job.h"
#include "cli/client/wait/retry.h"
#include "cli/views/job_view.h"
#include "cli/output/stream.h"
#include "cli/client/submit/submission.h"
#include "common/err.h"
#include "common/wire/wire.h"

#define TICK_US (2 * 1000 * 1000)
#define LEFT_EXIT 130 /* exit status after the second interrupt */
#define LEFT 1	      /* result: not waited for, after the second interrupt */

enum { OUT, ERR, STREAMS };

struct run {
	struct cli *cli;
	struct stream *streams[STREAMS];
	int open_streams;
	struct http *control; /* a connection for cancel alone: the others may be busy */
	sd_event_source *signals[2], *tick;
	int64_t job;
	int interrupts;
	char shown[512]; /* the last progress line */
	bool ticking;	 /* a request for progress is under way */
	bool finished;	 /* the event loop ends, with `result` */
	int result;
	struct err *err;
};

static const struct verb_option options[] = {
	SUBMISSION_OPTIONS,
	MAIL_OPTIONS,
	SESSION_OPTIONS,
	{ 0 },
};

/* Ends the event loop; the first call counts. */
static void finish_run(struct run *run, int result, const struct err *err)
{
	if (run->finished)
		return;
	run->finished = true;
	run->result = result;
	if (err)
		*run->err = *err;
}

/* ---- streams ---- */

static void on_stream_end(void *ctx, int result, const struct err *err)
{
	struct run *run = ctx;

	if (result < 0)
		finish_run(run, result, err);
	else if (--run->open_streams == 0)
		finish_run(run, 0, NULL);
}

static int follow_streams(struct run *run, struct err *err)
{
	/* With --json the document alone goes to standard output. */
	bool plain = run->cli->format.output == TABLE_TABLE;
	struct stream_config config[STREAMS] = {
		{ run->job, "out", { .fd = plain ? STDOUT_FILENO : STDERR_FILENO } },
		{ run->job, "err", { .fd = STDERR_FILENO } },
	};
	int r = 0;

	for (int i = 0; i < STREAMS && r == 0; i++) {
		r = stream_open(run->cli, &config[i], &run->streams[i], err);
		if (r == 0)
			r = stream_start(run->streams[i], on_stream_end, run, err);
		run->open_streams += r == 0;
	}
	return r;
}

/* ---- interrupts ---- */

static void on_cancelled(void *ctx, int result, json_t *answer, const struct err *err)
{
	(void)ctx;
	json_decref(answer);
	/* 409: the job has ended meanwhile; its streams report that. */
	if (result != 0 && result != 409)
		cli_complain("run", err);
}

static void cancel_job(struct run *run)
{
	struct err err = { "" };
	char path[64];
	struct http_call call = { .method = "POST", .path = path };

	fprintf(stderr,
		"\nreeve run: cancelling job %" PRId64
		"; interrupt again to exit without waiting\n",
		run->job);
	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/cancel", run->job);
	if (http_start(run->control, call, on_cancelled, run, &err) < 0)
		cli_complain("run", &err);
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *ctx)
{
	struct run *run = ctx;

	(void)s;
	(void)si;
	if (!run->job) { /* not submitted yet: see start_job() */
		run->interrupts++;
	} else if (!run->interrupts++) {
		cancel_job(run);
	} else {
		fprintf(stderr,
			"\nreeve run: not waiting any longer; see 'reeve job %" PRId64 "'\n",
			run->job);
		finish_run(run, LEFT, NULL);
	}
	return 0;
}

static int watch_signals(struct run *run, struct err *err)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	sigset_t set;
	int r = 0;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < ARRAY_LEN(numbers) && r >= 0; i++)
		r = sd_event_add_signal(run->cli->event, &run->signals[i], numbers[i],
					on_signal, run);
	return r < 0 ? err_set(err, r, "cannot watch for signals: %s", strerror(-r)) : 0;
}

/* ---- progress ---- */

/* Prints a line only when it differs from the last one. */
static void print_progress(struct run *run, const char *text)
{
	if (!strcmp(run->shown, text))
		return;
	snprintf(run->shown, sizeof(run->shown), "%s", text);
	fprintf(stderr, "job %" PRId64 ": ", run->job);
	cli_put(stderr, text);
	fputc('\n', stderr);
}

static void on_progress(void *ctx, int result, json_t *answer, const struct err *err)
{
	const json_t *job = json_object_get(answer, "job");
	const char *state = cli_text(job, "state"), *why = cli_text(job, "why");
	struct run *run = ctx;

	(void)err;
	run->ticking = false;
	if (result == 0 && state && why && *why && !strcmp(state, "queued"))
		print_progress(run, why);
	else if (result == 0 && state)
		print_progress(run, state);
	json_decref(answer);
}

/* Every two seconds on a terminal, until the job has written something: prints its state, or why it waits. */
static int on_tick(sd_event_source *s, uint64_t usec, void *ctx)
{
	struct run *run = ctx;
	struct http_call call = { .method = "GET" };
	struct err ignored;
	char path[64];

	(void)usec;
	for (int i = 0; i < STREAMS; i++) /* printed output already shows that the job runs */
		if (run->streams[i] && stream_bytes(run->streams[i]))
			return 0;
	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64, run->job);
	call.path = path;
	if (!run->ticking && http_start(run->cli->http, call, on_progress, run, &ignored) == 0)
		run->ticking = true;
	sd_event_source_set_time_relative(s, TICK_US);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int show_progress(struct run *run, struct err *err)
{
	int r;

	if (!run->cli->shows_progress)
		return 0;
	r = sd_event_add_time_relative(run->cli->event, &run->tick, CLOCK_MONOTONIC, TICK_US, 0,
				       on_tick, run);
	return r < 0 ? err_set(err, r, "cannot set a timer: %s", strerror(-r)) : 0;
}

static void run_done(struct run *run)
{
	for (int i = 0; i < STREAMS; i++)
		run->streams[i] = stream_close(run->streams[i]);
	run->control = http_close(run->control);
	for (int i = 0; i < 2; i++)
		run->signals[i] = sd_event_source_disable_unref(run->signals[i]);
	run->tick = sd_event_source_disable_unref(run->tick);
}

/* ---- the verb ---- */

/* Blocks the signals before the submission: an interrupt in between cancels the job as soon as its
 * number is known, and no job is left behind. */
static int start_job(struct run *run, const struct verb_call *call, struct err *err)
{
	_cleanup_(request_done) struct request r;
	int rc;

	request_init(&r);
	rc = submission_read(run->cli, call, &r, err);
	r.stream = true;
	if (rc == 0)
		rc = cli_connect(run->cli, &run->control, err);
	if (rc == 0)
		rc = watch_signals(run, err);
	if (rc == 0)
		rc = submission_send(run->cli, &r, &run->job, err);
	if (rc == 0 && run->interrupts)
		cancel_job(run);
	return rc;
}

/* 0: both streams have ended; LEFT: the user interrupted twice; < 0. */
static int follow_to_end(struct run *run, struct err *err)
{
	int r = follow_streams(run, err);

	if (r == 0)
		r = show_progress(run, err);
	while (r >= 0 && !run->finished)
		r = sd_event_run(run->cli->event, UINT64_MAX);
	return r < 0 ? r : run->result;
}

/* Fetches the record of the ended job. Its output has ended, but the final report may not have
 * arrived yet, or the controller may be restarting: asks until the state is "ended".
 * LEFT: interrupted. The caller frees *ret. */
static int fetch_record(struct run *run, json_t **ret, struct err *err)
{
	struct job_view v;
	char path[64];
	int r;

	http_cancel(run->cli->http); /* a progress request may be under way */
	run->finished = false;
	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64, run->job);
	while (!run->finished) {
		json_t *answer = NULL;

		r = retry_request(run->cli, (struct http_call){ .method = "GET", .path = path },
				  &run->finished, &answer, err);
		if (r == RETRY_STOPPED)
			return LEFT;
		if (r == 0)
			r = job_view_read(json_object_get(answer, "job"), &v, err);
		if (r == 0 && v.state == JOB_ENDED) {
			*ret = answer;
			return 0;
		}
		json_decref(answer);
		if (r == 0)
			r = retry_wait(run->cli, err);
		if (r < 0)
			return r;
	}
	return LEFT;
}

static int print_end(struct run *run, const json_t *answer, struct err *err)
{
	char text[REASON_TEXT_MAX];
	struct job_view v;
	int r = job_view_read(json_object_get(answer, "job"), &v, err);

	if (r < 0)
		return r;
	run->cli->exit_code = job_end_exit_code(&v.end);
	if (v.end.kind != END_EXITED) {
		fprintf(stderr, "reeve run: job %" PRId64 ": ", run->job);
		cli_put(stderr, reason_format(&v.end, text, sizeof(text)));
		fputc('\n', stderr);
	}
	return run->cli->format.output == TABLE_TABLE
		       ? 0
		       : cli_print_document(run->cli, answer, err);
}

/* With --pty or --stdin. */
static int run_interactive(struct cli *c, const struct verb_call *call, struct err *err)
{
	_cleanup_(held_job_done) struct held_job h = { .cli = c };
	int r;

	request_init(&h.request);
	h.session.output = c->format.output == TABLE_TABLE ? STDOUT_FILENO : STDERR_FILENO;
	r = session_read(call, "run", &h.session, err);
	if (r == 0)
		r = held_job_read(&h, call, err);
	if (r == 0)
		r = held_job_start(&h, err);
	return r ? (r < 0 ? r : 0) : held_job_run(&h, err);
}

static int run_job(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(run_done) struct run run = { .cli = ctx, .err = err };
	_cleanup_json_ json_t *answer = NULL;
	int r = cli_begin_loop(run.cli, call, err);

	if (r == 0 && (verb_count(call, "pty") || verb_count(call, "stdin")))
		return run_interactive(run.cli, call, err);
	if (r == 0)
		r = start_job(&run, call, err);
	if (r == 0)
		r = follow_to_end(&run, err);
	if (r == 0)
		r = fetch_record(&run, &answer, err);
	if (r == LEFT) {
		run.cli->exit_code = LEFT_EXIT;
		return 0;
	}
	return r < 0 ? r : print_end(&run, answer, err);
}

const struct verb cli_verb_run = {
	.name = "run",
	.args = "SCRIPT [ARG]... | -- COMMAND [ARG]...",
	.help = "Submit a job, show its output, and exit with its status",
	.details =
		"Like submit, but waits. The job's standard output and error are printed here;\n"
		"its input is /dev/null. With --stdin it is this command's, with --pty the\n"
		"command has a terminal: then the words are always a command, which starts when\n"
		"the job does, and the job ends with it. Ctrl-C cancels the job and waits for its\n"
		"end; a second one leaves without waiting (exit status 130). The exit status is\n"
		"the job's own; 128+N when signal N ended it, 137 when it exceeded a limit, 143\n"
		"for walltime and cancel, 125 when it could not be started or its node was lost.\n"
		"With --json the job's output goes to standard error, its record to standard\n"
		"output.",
	.examples = "reeve run --pty -l ncpus=1,vmem=1GB,jobfs=1MB,walltime=1:00:00 bash\n"
		    "reeve run -l ncpus=1,vmem=1GB,jobfs=1MB,walltime=60 -- hostname\n"
		    "reeve run -l ncpus=4,vmem=2GB,jobfs=500MB,walltime=0:10:00 job.sh",
	.options = options,
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_job,
};
