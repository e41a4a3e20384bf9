/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held_job.c - submits a job that waits, and runs one interactive command in it; see held_job.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "cli/client/session/held_job.h"
#include "cli/client/wait/retry.h"
#include "cli/client/wait/wait_end.h"
#include "cli/client/submit/submission.h"
#include "cli/client/words.h"
#include "cli/views/job_view.h"
#include "common/err.h"
#include "common/signature/signature.h"
#include "common/wire/wire.h"

#define ASK_US (300 * 1000)

/* What the job runs. The command makes the mark; where none comes, the terminal was lost while the job waited in the queue, and
 * the job does not occupy its cores for the whole walltime. */
#define MARK "\"$TMPDIR/.reeve-attended\""
static const char holder[] =
	"sleep 120; [ -e " MARK
	" ] || { echo 'no command came within 2 minutes: the terminal that "
	"submitted this job was lost' >&2; exit 75; }; exec sleep 2147483647";
static const char marker[] = ": >" MARK "; exec \"$@\"";

/* ---- the request ---- */

static int append_word(char ***list, size_t *n, const char *word, struct err *err)
{
	return words_append(list, n, strdup(word), err);
}

static int make_holder(struct request *q, struct err *err)
{
	size_t n = 0;
	int r = append_word(&q->argv, &n, "/bin/sh", err);

	if (r == 0)
		r = append_word(&q->argv, &n, "-c", err);
	return r < 0 ? r : append_word(&q->argv, &n, holder, err);
}

/* The kind of this terminal, for programs that draw on it. */
static int add_term(struct request *q, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0;

	if (!getenv("TERM"))
		return 0;
	for (char **e = q->env; e && *e; e++, n++)
		if (!strncmp(*e, "TERM=", 5))
			return 0;
	if (asprintf(&text, "TERM=%s", getenv("TERM")) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return append_word(&q->env, &n, text, err);
}

int held_job_read(struct held_job *h, const struct verb_call *call, struct err *err)
{
	struct verb_call words = *call;
	int r;

	words.dashes = true;
	r = submission_read(h->cli, &words, &h->request, err);
	if (r == 0 && h->session.is_pty)
		r = add_term(&h->request, err);
	if (r < 0)
		return r;
	h->session.is_main = true;
	h->request.stream = true;
	h->argv = h->request.argv;
	h->request.argv = NULL;
	return make_holder(&h->request, err);
}

/* ---- cancelling ---- */

static void on_cancelled(void *ctx, int result, json_t *answer, const struct err *err)
{
	struct held_job *h = ctx;
	struct err copy = *err;

	json_decref(answer);
	h->is_cancelled = result >= 0;
	h->is_cancelling = false;
	/* 409: it has ended meanwhile. Without an answer it is tried again (wait_for_state()). */
	if (result > 0 && result != 409)
		cli_complain(h->session.verb, &copy);
}

static void cancel_job(struct held_job *h)
{
	struct err err = { "" };
	char path[64];
	struct http_call call = { .method = "POST", .path = path };

	h->wants_cancel = true;
	if (h->is_cancelling || h->is_cancelled)
		return;
	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/cancel", h->job);
	h->is_cancelling = http_start(h->control, call, on_cancelled, h, &err) == 0;
	if (!h->is_cancelling)
		cli_complain(h->session.verb, &err);
}

/* ---- waiting ---- */

static void print_progress(struct held_job *h, const json_t *job)
{
	const char *state = cli_text(job, "state"), *why = cli_text(job, "why");
	const char *text = why ? why : state;

	if (!h->cli->shows_progress || !text || !strcmp(h->shown, text))
		return;
	snprintf(h->shown, sizeof(h->shown), "%s", text);
	fprintf(stderr, "job %" PRId64 ": ", h->job);
	cli_put(stderr, text);
	fputc('\n', stderr);
}

static int get_job(struct held_job *h, json_t **ret, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64, h->job);
	while (!h->signals.quit) {
		int r = cli_ask(h->cli, (struct http_call){ .method = "GET", .path = path },
				ret, err);

		if (r != -EHOSTUNREACH) {
			h->is_away = false;
			return r;
		}
		if (!h->is_away) {
			cli_complain(h->session.verb, err);
			fprintf(stderr, "reeve %s: job %" PRId64 " stays; trying again\n",
				h->session.verb, h->job);
		}
		h->is_away = true;
		r = retry_wait(h->cli, err);
		if (r < 0)
			return r;
	}
	return RETRY_STOPPED;
}

/* Prints how the job ended, unless its command did so by itself. */
static int print_end(struct held_job *h, const json_t *answer, struct err *err)
{
	struct job_view v;
	int r = job_view_read(json_object_get(answer, "job"), &v, err);

	if (r == 0)
		wait_end_tell(h->cli, h->session.verb, &v);
	return r;
}

/* The state of the job until `state`, or its end. 0: that state; 1: it has ended, with its end printed; 2: interrupted. */
static int wait_for_state(struct held_job *h, const char *state, struct err *err)
{
	for (;;) {
		_cleanup_json_ json_t *answer = NULL;
		int r = h->signals.quit ? RETRY_STOPPED : get_job(h, &answer, err);
		const json_t *job = json_object_get(answer, "job");
		const char *now = cli_text(job, "state"), *node = cli_text(job, "node");

		if (r != 0)
			return r < 0 ? r : 2;
		if (h->wants_cancel)
			cancel_job(h);
		print_progress(h, job);
		if (now && !strcmp(now, "ended")) {
			r = print_end(h, answer, err);
			return r < 0 ? r : 1;
		}
		snprintf(h->node, sizeof(h->node), "%s", node ? node : "");
		if (now && !strcmp(now, state))
			return 0;
		if (sd_event_run(h->cli->event, ASK_US) < 0)
			return err_set(err, -EIO, "cannot run the event loop");
	}
}

int held_job_start(struct held_job *h, struct err *err)
{
	int r = cli_connect(h->cli, &h->control, err);

	if (r ==
	    0) /* before the submission, so that no job is left behind without its terminal */
		r = signals_watch(&h->signals, h->cli->event, NULL, NULL, err);
	if (r == 0)
		r = submission_send(h->cli, &h->request, &h->job, err);
	if (r == 0)
		r = wait_for_state(h, "running", err);
	if (r != 2)
		return r;
	fprintf(stderr, "\nreeve %s: cancelling job %" PRId64 "\n", h->session.verb, h->job);
	cancel_job(h);
	h->signals.quit = false;
	r = wait_for_state(h, "ended", err);
	h->cli->exit_code = 128 + h->signals.first;
	return r < 0 ? r : 1;
}

/* ---- the command ---- */

static int set_words(const struct held_job *h, json_t *body, struct err *err)
{
	const char *const first[] = { "/bin/sh", "-c", marker, "reeve" };
	json_t *argv = json_array();
	int r = json_object_set_new(body, "argv", argv);

	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		r |= json_array_append_new(argv, json_string(first[i]));
	for (char **w = h->argv; w && *w; w++)
		r |= json_array_append_new(argv, json_string(*w));
	return r < 0 ? err_set(err, -ENOMEM, "out of memory, or text that is not UTF-8") : 0;
}

static int start_step(struct held_job *h, struct err *err)
{
	_cleanup_json_ json_t *body = wire_new(), *answer = NULL;
	_cleanup_free_ char *statement = NULL;
	char path[80];
	int r;

	if (!body || json_object_set_new(body, "nodes", json_pack("[s]", h->node)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = set_words(h, body, err);
	if (r == 0)
		r = session_encode(&h->session, body, err);
	if (r == 0)
		r = signature_encode_step(h->job, body, &statement, err);
	if (r == 0)
		r = cli_seal(h->cli, statement, body, err);
	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/steps", h->job);
	if (r == 0)
		r = cli_ask(h->cli,
			    (struct http_call){ .method = "POST", .path = path, .body = body },
			    &answer, err);
	if (r < 0)
		return r;
	h->session.job = h->job;
	h->session.step =
		cli_int(json_array_get(json_object_get(answer, "steps"), 0), "step", 0);
	return h->session.step > 0
		       ? 0
		       : err_set(err, -EPROTO, "the controller's answer names no step");
}

int held_job_run(struct held_job *h, struct err *err)
{
	int r = start_step(h, err);

	if (r == 0)
		r = session_run(h->cli, &h->session, &h->signals.quit, err);
	if (r < 0) { /* without its command nothing would end the job */
		h->signals.quit = false;
		cancel_job(h);
		sd_event_run(h->cli->event, ASK_US);
		return r;
	}
	if (h->signals.first || h->session.end == CONSOLE_HUNG_UP)
		h->cli->exit_code = h->signals.first ? 128 + h->signals.first : SESSION_NO_EXIT;
	if (h->signals.first || h->session.end != CONSOLE_ENDED)
		return 0;
	r = wait_for_state(h, "ended", err);
	return r < 0 ? r : 0;
}

void held_job_done(struct held_job *h)
{
	signals_done(&h->signals);
	h->control = http_close(h->control);
	h->argv = words_free(h->argv);
	request_done(&h->request);
}
