/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks.c - reads the ledger's journal, queues its events, and starts the program for each; see
 * hooks.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <systemd/sd-event.h>
#include <time.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "common/time_units.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"
#include "controller/hooks/hooks.h"
#include "controller/hooks/hooks_events.h"
#include "controller/hooks/hooks_queue.h"
#include "controller/hooks/hooks_run.h"

#define POLL_US 200000
#define READ_MAX 256 /* events read at once */
/* How far behind the head of the queue the next event to start is looked for: events of one
 * busy job must not make each search long. */
#define NEXT_MAX 256

/* A program that asks to be run again (EX_TEMPFAIL) is, after RetryAfter=, twice that, ...: about an hour with the
 * default of 30 s. */
#define RETRIES_MAX 7

/* One event that the program has not finished with. */
struct task {
	struct hooks_item item; /* first: it is found by it */
	struct hooks *hooks;
	enum config_hook hook;
	int64_t id, at_ns, job;	     /* id: in the journal */
	char node[REQUEST_NAME_MAX]; /* "": about an account, where `job` is 0 */
	char *document;		     /* owned; of an account */
	struct hook_run *run;	     /* NULL: waits */
	int64_t begun_ns;
	int n_retries;
	int64_t retry_ns; /* CLOCK_MONOTONIC: not before then */
};

struct hooks {
	struct hooks_config c;
	struct sd_event_source *timer;
	struct hooks_queue queue;
	struct hooks_counts counts; /* `waiting` is the queue's */
	int64_t read, saved;	    /* journal: read up to here; the stored place */
	bool has_moved;		    /* something was finished or dropped since it was saved */
};

static struct task *task_of(struct hooks_item *item)
{
	return (struct task *)item;
}

/* ---- the place ---- */

/* The last event that needs no run any more: the one before the oldest unfinished one. */
static int64_t place_of(const struct hooks *h)
{
	return h->queue.first ? task_of(h->queue.first)->id - 1 : h->read;
}

/* A place that could not be stored is only logged: after a restart some events run again. */
static void save_place(struct hooks *h)
{
	int64_t place = place_of(h);
	struct err err = { "" };

	h->has_moved = false;
	if (place == h->saved)
		return;
	if (store_save_place(h->c.store, place, &err) < 0)
		log_line(LOG_ERR, "cannot store how far hooks have read the journal: %s",
			 err.text);
	else
		h->saved = place;
}

static void free_task(struct task *t)
{
	free(t->document);
	free(t);
}

/* Takes it off the queue and frees it. */
static void remove_task(struct hooks *h, struct task *t)
{
	hooks_queue_remove(&h->queue, &t->item);
	h->has_moved = true;
	free_task(t);
}

/* ---- running ---- */

static void log_task(const struct task *t, int priority, const char *text)
{
	const char *event = config_hook_words[t->hook];

	if (t->job)
		log_job(priority, t->job, "hook", "hook %s: %s", event, text);
	else
		log_line(priority, "hook %s%s%s: %s", event, *t->node ? " of node " : "",
			 t->node, text);
}

static void start_waiting(struct hooks *h);

/* The task waits in its place: later events of the same job wait behind it, others go on. */
static void retry_task(struct task *t)
{
	struct hooks *h = t->hooks;
	int64_t delay_s = h->c.config->retry_after_s << t->n_retries++;
	char text[96];

	snprintf(text, sizeof(text), "not yet (exit status %d): run again in %" PRId64 " s",
		 EX_TEMPFAIL, delay_s);
	log_task(t, LOG_NOTICE, text);
	t->run = NULL;
	t->retry_ns = clock_ns(CLOCK_MONOTONIC) + delay_s * S_NS;
	h->counts.retried++;
	h->counts.running--;
	hooks_queue_defer(&h->queue, &t->item);
}

static void log_end(const struct task *t, enum hook_end how, int status)
{
	double took_s = (double)(clock_ns(CLOCK_MONOTONIC) - t->begun_ns) / 1e9;
	bool is_good = how == HOOK_EXITED && status == 0;
	const struct hooks *h = t->hooks;
	char text[96];

	if (how == HOOK_TIMED_OUT)
		snprintf(text, sizeof(text), "killed: it took more than %" PRId64 " s",
			 h->c.config->time_limit_s);
	else
		snprintf(text, sizeof(text), "%s %d after %.3f s",
			 how == HOOK_EXITED ? "exit status" : "signal", status, took_s);
	log_task(t, is_good ? LOG_INFO : LOG_WARNING, text);
}

static void on_ended(void *ctx, enum hook_end how, int status)
{
	struct task *t = ctx;
	struct hooks *h = t->hooks;
	bool is_good = how == HOOK_EXITED && status == 0;

	if (how == HOOK_EXITED && status == EX_TEMPFAIL && t->n_retries < RETRIES_MAX) {
		retry_task(t);
		return;
	}
	log_end(t, how, status);
	h->counts.done += is_good;
	h->counts.timed_out += how == HOOK_TIMED_OUT;
	h->counts.failed += !is_good && how != HOOK_TIMED_OUT;
	h->counts.running--;
	remove_task(h, t);
	start_waiting(h);
}

/* The document on the program's standard input: the job as it is now, what happened and when.
 */
static int make_document(const struct task *t, char **ret, struct err *err)
{
	const struct hooks_config *c = &t->hooks->c;
	_cleanup_doc_ struct doc d = { 0 };
	_cleanup_json_ json_t *doc = NULL;
	int r = 0;

	if (t->job)
		r = c->describe(c->ctx, t->job, &doc, err);
	else if (t->document)
		doc = wire_load(t->document, 0, NULL);
	else
		doc = json_pack("{s:s}", "node", t->node);
	if (r < 0)
		return r;
	if (!doc)
		return err_set(err, -EBADMSG, "the event in the ledger is not readable");
	d = doc_edit(doc);
	doc_text(&d, "schema", WIRE_SCHEMA);
	doc_text(&d, "event", config_hook_words[t->hook]);
	doc_int(&d, "at_ns", t->at_ns);
	r = doc_check(&d, err);
	if (r < 0)
		return r;
	*ret = wire_format(doc);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* A program that cannot be started counts as failed: the event is not tried again. */
static int start_task(struct task *t, struct err *err)
{
	const struct hooks_config *c = &t->hooks->c;
	_cleanup_free_ char *document = NULL;
	char event[64], about[REQUEST_NAME_MAX + 16];
	char *environment[] = {
		event, about,
		(char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		(char *)"LANG=C.UTF-8", NULL
	};
	const struct hook_ask ask = { .event = c->event,
				      .program = c->config->program,
				      .time_limit_s = c->config->time_limit_s,
				      .environment = environment,
				      .ended = on_ended,
				      .ctx = t };
	struct hook_ask with = ask;
	int r = config_check_program(ask.program, err);

	if (r >= 0)
		r = make_document(t, &document, err);
	if (r < 0)
		return r;
	snprintf(event, sizeof(event), "REEVE_EVENT=%s", config_hook_words[t->hook]);
	if (t->job)
		snprintf(about, sizeof(about), "REEVE_JOB=%" PRId64, t->job);
	else if (*t->node)
		snprintf(about, sizeof(about), "REEVE_NODE=%s", t->node);
	else
		snprintf(about, sizeof(about), "REEVE_JOB="); /* the document has the account */
	with.document = document;
	t->begun_ns = clock_ns(CLOCK_MONOTONIC);
	return hook_run(&with, &t->run, err);
}

/* Does the program run for the same job or node? */
static bool is_busy_with(const struct hooks *h, const struct task *t)
{
	for (struct hooks_item *i = h->queue.first; i && i != &t->item; i = i->next) {
		const struct task *o = task_of(i);

		if (o->job == t->job && !strcmp(o->node, t->node))
			return true;
	}
	return false;
}

/* In the order of events, but no second one for a job or node that an earlier one is about. Tasks whose time to be run
 * again has not come do not count against NEXT_MAX: they must not keep others from starting. */
static struct task *next_to_start(struct hooks *h)
{
	const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int i = 0;

	for (struct hooks_item *at = h->queue.first; at && i < NEXT_MAX; at = at->next) {
		struct task *t = task_of(at);

		if (t->retry_ns > now_ns)
			continue;
		if (!t->run && !is_busy_with(h, t))
			return t;
		i++;
	}
	return NULL;
}

static void start_waiting(struct hooks *h)
{
	struct task *t;

	while (h->counts.running < h->c.config->at_once && (t = next_to_start(h))) {
		struct err err = { "" };

		hooks_queue_begin(&h->queue, &t->item);
		if (start_task(t, &err) >= 0) {
			h->counts.running++;
			continue;
		}
		log_task(t, LOG_WARNING, err.text);
		h->counts.failed++;
		remove_task(h, t);
	}
}

/* ---- what happened ---- */

/* Beyond QueueMax= events are dropped and counted, this one or another user's: the queue must not grow with a program
 * that hangs. */
static int add_task(struct hooks *h, const struct store_happening *e, enum config_hook hook,
		    struct err *err)
{
	const int64_t uid = e->job ? e->uid : HOOKS_QUEUE_SITE;
	struct hooks_item *surplus;
	struct task *t;

	if (!hooks_queue_has_room(&h->queue, uid, h->c.config->queue_max, &surplus)) {
		h->counts.dropped++;
		h->has_moved = true;
		return 0;
	}
	if (surplus) {
		h->counts.dropped++;
		remove_task(h, task_of(surplus));
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	*t = (struct task){
		.hooks = h, .hook = hook, .id = e->id, .at_ns = e->at_ns, .job = e->job
	};
	if (!e->job)
		snprintf(t->node, sizeof(t->node), "%s", e->node);
	if (hook == CONFIG_HOOK_ALLOCATION_USED)
		t->document = strdup(e->text);
	if (hook == CONFIG_HOOK_ALLOCATION_USED && !t->document) {
		free(t);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (hooks_queue_add(&h->queue, &t->item, uid) == 0)
		return 0;
	free_task(t);
	return err_set(err, -ENOMEM, "out of memory");
}

/* One entry of the journal may be for several hooks (a kill is also an end). */
static int take_event(void *ctx, const struct store_happening *e, struct err *err)
{
	enum config_hook of[HOOKS_OF_MAX];
	struct hooks *h = ctx;
	size_t n = hooks_of(e, of);

	for (size_t i = 0; i < n; i++)
		if (h->c.config->event_set & 1U << of[i]) {
			int r = add_task(h, e, of[i], err);

			if (r < 0)
				return r;
		}
	h->read = e->id;
	return 0;
}

static int read_journal(struct hooks *h, struct err *err)
{
	int64_t dropped = h->counts.dropped;
	int n;

	do
		n = store_happenings(h->c.store, (struct store_happenings){ h->read, READ_MAX },
				     take_event, h, err);
	while (n == READ_MAX && h->queue.n_waiting < h->c.config->queue_max);
	if (h->counts.dropped > dropped)
		log_line(
			LOG_WARNING,
			"hooks: %" PRId64 " events dropped: %" PRId64
			" wait already; make the program faster, or raise AtOnce= or QueueMax=",
			h->counts.dropped - dropped, h->queue.n_waiting);
	return n < 0 ? n : 0;
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("hooks");
	struct hooks *h = ctx;
	struct err err = { "" };

	(void)us;
	if (read_journal(h, &err) < 0)
		log_line(LOG_ERR, "events for hooks: %s", err.text);
	start_waiting(h);
	if (h->has_moved)
		save_place(h);
	sd_event_source_set_time_relative(source, POLL_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- life ---- */

/* At the first start with a program: the end of the journal, not its beginning. */
static int find_place(struct hooks *h, struct err *err)
{
	int r = store_load_place(h->c.store, &h->read, err);

	if (r == -ENOENT)
		r = store_last_place(h->c.store, &h->read, err);
	else
		h->saved = h->read;
	if (r >= 0)
		save_place(h);
	return r < 0 ? r : 0;
}

static int open_timer(struct hooks *h, struct err *err)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(err, -errno, "signals: %m");
	r = sd_event_add_time_relative(h->c.event, &h->timer, CLOCK_MONOTONIC, POLL_US, 0,
				       on_timer, h);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

int hooks_open(const struct hooks_config *c, struct hooks **ret, struct err *err)
{
	_cleanup_(hooks_closep) struct hooks *h = NULL;
	int r;

	*ret = NULL;
	if (!c->config->program)
		return store_forget_place(c->store, err);
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->c = *c;
	h->saved = -1;
	r = find_place(h, err);
	if (r >= 0)
		r = open_timer(h, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(h);
	return 0;
}

struct hooks *hooks_close(struct hooks *h)
{
	if (!h)
		return NULL;
	save_place(h);
	while (h->queue.first) {
		struct task *t = task_of(h->queue.first);

		hook_run_kill(t->run);
		remove_task(h, t);
	}
	sd_event_source_disable_unref(h->timer);
	free(h);
	return NULL;
}

void hooks_get_counts(const struct hooks *h, struct hooks_counts *ret)
{
	*ret = h ? h->counts : (struct hooks_counts){ 0 };
	ret->waiting = h ? h->queue.n_waiting : 0;
}
