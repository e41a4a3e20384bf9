/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_node.c - a node for suites about interactive steps, as one process with one exchange at a time, as an agent has:
 *	step_node URL MUNGE_SOCKET CONTROLLER_USER NODE DIR	(as root)
 * Jobs that come run until their main step ends, they are cancelled, or their walltime is over. A step runs in a process of
 * console_node, which lies in DIR; a step without a console fails. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/http/http.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

#define WAIT_S 20
#define RETRY_US (100 * 1000)

struct job {
	struct job *next;
	struct report report; /* the last one; state, end, seq and times are set */
	int64_t walltime_s, acked, began_ns;
};

struct step {
	struct step *next;
	int64_t job, number;
	bool is_main, has_ended, is_acked;
	int status, signal; /* status -1: none */
	pid_t pid;	    /* leads a process group */
	int from;	    /* its standard output */
	sd_event_source *io;
};

static struct {
	const char *url, *socket, *user, *node, *dir;
	sd_event *event;
	sd_event_source *timer, *clock;
	struct http *http;
	struct job *jobs;
	struct step *steps;
	bool is_busy, has_news;
} s;

static void start_sync(void);

static _Noreturn void fail_node(const char *what, int r)
{
	fprintf(stderr, "step_node: %s: %s\n", what, strerror(r < 0 ? -r : errno));
	exit(1);
}

/* What changed is sent at once: the poll under way does not have it. */
static void tell_news(void)
{
	s.has_news = true;
	sd_event_source_set_time_relative(s.timer, 0);
	sd_event_source_set_enabled(s.timer, SD_EVENT_ONESHOT);
}

/* ---- jobs ---- */

static struct job *find_job(int64_t number)
{
	struct job *j = s.jobs;

	while (j && j->report.job != number)
		j = j->next;
	return j;
}

static void end_steps(int64_t job)
{
	for (struct step *t = s.steps; t; t = t->next)
		if (t->job == job && t->pid > 0)
			kill(-t->pid, SIGKILL);
}

static void end_job(struct job *j, const struct job_end *end)
{
	struct report *r = &j->report;

	if (r->state == JOB_ENDED)
		return;
	r->state = JOB_ENDED;
	r->seq++;
	r->at_ns = r->ended_ns = clock_ns(CLOCK_REALTIME);
	r->running_ns = clock_ns(CLOCK_MONOTONIC) - j->began_ns;
	r->end = *end;
	end_steps(r->job);
	tell_news();
}

static void add_job(int64_t number, int32_t attempt, const json_t *request)
{
	struct job *j = calloc(1, sizeof(*j));
	const json_t *walltime =
		json_object_get(json_object_get(request, "resources"), "walltime_s");

	if (!j)
		fail_node("calloc", -ENOMEM);
	j->next = s.jobs;
	s.jobs = j;
	j->walltime_s = json_integer_value(walltime);
	j->began_ns = clock_ns(CLOCK_MONOTONIC);
	j->report = (struct report){
		.job = number, .attempt = attempt, .seq = 1, .state = JOB_RUNNING, .cpus = "0-1"
	};
	j->report.at_ns = j->report.started_ns = clock_ns(CLOCK_REALTIME);
	tell_news();
}

static void take_job(const json_t *a)
{
	int64_t number = json_integer_value(json_object_get(a, "job"));
	const char *want = json_string_value(json_object_get(a, "want"));
	const json_t *request = json_object_get(a, "request");
	struct job *j = find_job(number);

	if (!j && request && want && !strcmp(want, "run"))
		add_job(number, (int32_t)json_integer_value(json_object_get(a, "attempt")),
			request);
	if (j && want && !strcmp(want, "cancel"))
		end_job(j, &(struct job_end){ .kind = END_CANCELLED, .exit_status = -1 });
}

/* Each second: whose walltime is over? */
static int on_clock(sd_event_source *source, uint64_t usec, void *ctx)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)usec, (void)ctx;
	for (struct job *j = s.jobs; j; j = j->next) {
		struct job_end end = { .kind = END_LIMIT, .exit_status = -1 };

		if (!j->walltime_s || now - j->began_ns <= j->walltime_s * S_NS)
			continue;
		end.reason = (struct reason){ .limit = LIMIT_WALLTIME,
					      .requested = j->walltime_s,
					      .reached = (now - j->began_ns) / S_NS,
					      .at_ns = clock_ns(CLOCK_REALTIME) };
		snprintf(end.reason.host, sizeof(end.reason.host), "%s", s.node);
		end_job(j, &end);
	}
	sd_event_source_set_time_relative(source, 1000 * 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- steps ---- */

static struct step *find_step(int64_t job, int64_t number)
{
	struct step *t = s.steps;

	while (t && (t->job != job || t->number != number))
		t = t->next;
	return t;
}

static void end_step(struct step *t, int status, int sig)
{
	struct job_end end = { .kind = END_EXITED, .exit_status = status };
	struct job *j = find_job(t->job);

	t->has_ended = true;
	t->status = status;
	t->signal = sig;
	if (sig)
		end = (struct job_end){ .kind = END_SIGNALED,
					.exit_status = -1,
					.signal = sig };
	if (t->is_main && j)
		end_job(j, &end);
	tell_news();
}

/* console_node has printed how its command ended; nothing where it was killed. */
static int on_end(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	struct step *t = ctx;
	char text[64] = "";
	int status = -1, sig = SIGKILL;
	ssize_t n = read(fd, text, sizeof(text) - 1);

	(void)source, (void)events;
	if (n > 0 && sscanf(text, "%d %d", &status, &sig) != 2)
		fail_node("console_node said something else", -EPROTO);
	t->io = sd_event_source_disable_unref(t->io);
	close(fd);
	if (n <= 0)
		kill(-t->pid, SIGKILL);
	end_step(t, status, sig);
	return 0;
}

static _Noreturn void become_console(const struct step *t, const char *kind, const char *hangup,
				     json_t *argv, int to)
{
	char job[24], number[24], home[500], tmp[500], tool[500];
	char *env[] = { "PATH=/usr/bin:/bin", home, tmp, "TERM=xterm", "PS1=$ ", NULL };
	char *words[16 + 256] = { tool,		  (char *)s.url,  (char *)s.socket,
				  (char *)s.user, (char *)s.node, job,
				  number,	  (char *)kind,	  (char *)hangup,
				  (char *)s.dir };
	size_t n = 10;

	snprintf(job, sizeof(job), "%" PRId64, t->job);
	snprintf(number, sizeof(number), "%" PRId64, t->number);
	snprintf(home, sizeof(home), "HOME=%s", s.dir);
	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", s.dir);
	snprintf(tool, sizeof(tool), "%s/console_node", s.dir);
	for (size_t i = 0; i < json_array_size(argv) && i < 256; i++)
		words[n++] = (char *)json_string_value(json_array_get(argv, i));
	words[n] = NULL;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_DFL);
	dup2(to, STDOUT_FILENO);
	execve(tool, words, env);
	_exit(127);
}

static void add_step(const json_t *a)
{
	const char *kind = json_string_value(json_object_get(a, "console"));
	const char *hangup = json_string_value(json_object_get(a, "on_hangup"));
	json_t *argv = json_object_get(a, "argv");
	struct step *t = calloc(1, sizeof(*t));
	int pair[2];

	if (!t || pipe2(pair, O_CLOEXEC) < 0)
		fail_node("start a step", -ENOMEM);
	*t = (struct step){ .next = s.steps,
			    .job = json_integer_value(json_object_get(a, "job")),
			    .number = json_integer_value(json_object_get(a, "step")),
			    .is_main = json_is_true(json_object_get(a, "main")),
			    .from = pair[0] };
	s.steps = t;
	if (!kind || !strcmp(kind, "none")) {
		end_step(t, 127, 0);
		return;
	}
	t->pid = fork();
	if (t->pid == 0)
		become_console(t, kind, hangup ? hangup : "end", argv, pair[1]);
	close(pair[1]);
	if (t->pid < 0 || sd_event_add_io(s.event, &t->io, t->from, EPOLLIN, on_end, t) < 0)
		fail_node("start a step", -ENOMEM);
	tell_news();
}

static void take_step(const json_t *a)
{
	const char *want = json_string_value(json_object_get(a, "want"));
	struct step *t = find_step(json_integer_value(json_object_get(a, "job")),
				   json_integer_value(json_object_get(a, "step")));

	if (!t && json_object_get(a, "argv"))
		add_step(a);
	if (t && want && !strcmp(want, "cancel") && t->pid > 0)
		kill(-t->pid, SIGKILL);
}

/* ---- the exchange ---- */

static json_t *encode_step(const struct step *t)
{
	json_t *j =
		json_pack("{s:I,s:i,s:I,s:s}", "job", (json_int_t)t->job, "attempt", 1, "step",
			  (json_int_t)t->number, "state", t->has_ended ? "ended" : "running");

	if (t->has_ended)
		json_object_update_new(j, json_pack("{s:i,s:i}", "exit_status", t->status,
						    "signal", t->signal));
	return j;
}

static json_t *make_sync(void)
{
	json_t *jobs = json_array(), *reports = json_array(), *steps = json_array(),
	       *doc = wire_new();

	for (const struct job *j = s.jobs; j; j = j->next) {
		if (j->report.state == JOB_ENDED && j->acked == j->report.seq)
			continue;
		json_array_append_new(jobs, json_pack("{s:I,s:i,s:s}", "job",
						      (json_int_t)j->report.job, "attempt",
						      (int)j->report.attempt, "state",
						      job_state_name(j->report.state)));
		if (j->acked < j->report.seq)
			json_array_append_new(reports, wire_encode_report(&j->report));
	}
	for (const struct step *t = s.steps; t; t = t->next)
		if (!t->is_acked)
			json_array_append_new(steps, encode_step(t));
	json_object_update_new(
		doc,
		json_pack("{s:s,s:s,s:I,s:s,s:s,s:i,s:[],s:o,s:o,s:o,s:[],"
			  "s:{s:i,s:I,s:I,s:i},s:{s:i,s:I,s:I,s:i}}",
			  "node", s.node, "boot", "b1", "number",
			  (json_int_t)clock_ns(CLOCK_BOOTTIME), "version", "t", "state", "up",
			  "tier", 1, "notes", "jobs", jobs, "reports", reports, "steps", steps,
			  "output", "capacity", "ncpus", 8, "mem_bytes",
			  (json_int_t)16000000000, "jobfs_bytes", (json_int_t)10000000000,
			  "ngpus", 0, "free", "ncpus", 8, "mem_bytes", (json_int_t)16000000000,
			  "jobfs_bytes", (json_int_t)10000000000, "ngpus", 0));
	return doc;
}

static void take_acks(const json_t *answer)
{
	size_t i;
	json_t *a;

	json_array_foreach(json_object_get(answer, "acks"), i, a)
	{
		struct job *j = find_job(json_integer_value(json_object_get(a, "job")));

		if (j)
			j->acked = json_integer_value(json_object_get(a, "seq"));
	}
	json_array_foreach(json_object_get(answer, "step_acks"), i, a)
	{
		struct step *t = find_step(json_integer_value(json_object_get(a, "job")),
					   json_integer_value(json_object_get(a, "step")));

		if (t)
			t->is_acked = t->has_ended;
	}
}

static void on_synced(void *ctx, int result, json_t *answer, const struct err *why)
{
	size_t i;
	json_t *a;

	(void)ctx;
	s.is_busy = false;
	if (result) {
		fprintf(stderr, "step_node: %s\n", why->text);
		json_decref(answer);
		s.has_news = true;
		sd_event_source_set_time_relative(s.timer, RETRY_US);
		sd_event_source_set_enabled(s.timer, SD_EVENT_ONESHOT);
		return;
	}
	take_acks(answer);
	json_array_foreach(json_object_get(answer, "refused"), i, a)
	{
		struct job *j = find_job(json_integer_value(json_object_get(a, "job")));

		if (j)
			end_steps(j->report.job);
	}
	json_array_foreach(json_object_get(answer, "jobs"), i, a) take_job(a);
	json_array_foreach(json_object_get(answer, "steps"), i, a) take_step(a);
	json_decref(answer);
	if (!s.has_news)
		start_sync();
}

static void start_sync(void)
{
	_cleanup_json_ json_t *doc = NULL;
	char path[64];
	long wait_s = s.has_news ? 0 : WAIT_S;
	struct http_call call = { .method = "POST", .path = path, .wait_s = wait_s };
	struct err err = { "" };

	if (s.is_busy)
		http_cancel(s.http);
	doc = make_sync();
	call.body = doc;
	s.has_news = false;
	snprintf(path, sizeof(path), "/v1/node/sync?wait=%ld", wait_s);
	if (http_start(s.http, call, on_synced, NULL, &err) < 0)
		fail_node(err.text, -EIO);
	s.is_busy = true;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *ctx)
{
	(void)source, (void)usec, (void)ctx;
	start_sync();
	return 0;
}

static int add_timer(sd_event_source **ret, sd_event_time_handler_t fn)
{
	return sd_event_add_time_relative(s.event, ret, CLOCK_MONOTONIC, 0, 1000, fn, NULL);
}

int main(int argc, char **argv)
{
	struct http_config c = { .timeout_s = 10, .answer_uid = -1 };
	struct err err = { "" };

	if (argc != 6)
		return 2;
	s.url = c.url = argv[1];
	s.socket = c.munge_socket = argv[2];
	s.user = argv[3];
	s.node = argv[4];
	s.dir = argv[5];
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* how a step ended is read from its pipe */
	if (sd_event_default(&s.event) < 0 || http_open(&c, &s.http, &err) < 0 ||
	    http_attach(s.http, s.event, &err) < 0 || add_timer(&s.timer, on_timer) < 0 ||
	    add_timer(&s.clock, on_clock) < 0)
		fail_node(err.text, -EIO);
	return sd_event_loop(s.event) < 0;
}
