/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world.c - see conformance.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "agent/job/handshake/plan.h"
#include "common/cleanup.h"
#include "tests/node/manager/conformance.h"

static int n_tests, n_bad;

void ok(bool good, const char *fmt, ...)
{
	va_list ap;

	n_tests++;
	n_bad += !good;
	printf("%sok %d - ", good ? "" : "not ", n_tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++n_tests, what, why);
}

int tap_end(void)
{
	printf("1..%d\n", n_tests);
	return n_bad ? 1 : 0;
}

static void bail_out(const char *what, const char *why)
{
	printf("Bail out! %s: %s\n", what, why);
	exit(1);
}

static void add_heard(struct world *w, struct heard h)
{
	w->said_inside |= w->is_ordering;
	if (w->n_heard < HEARD_MAX)
		w->heard[w->n_heard++] = h;
}

static void on_done(void *ctx, struct manager_id id, enum manager_order order, int result,
		    const struct err *err)
{
	if (result < 0)
		note("job %" PRId64 ", order %d: %s", id.job, (int)order, err->text);
	add_heard(ctx, (struct heard){ .id = id, .order = order, .result = result });
}

static void on_gone(void *ctx, struct manager_id id)
{
	add_heard(ctx, (struct heard){ .id = id, .is_gone = true });
}

/* The agent's side of agent/launch/plan.h; each step in one blocking piece, since the launcher
 * answers at once. */

static bool receive_message(int fd, uint32_t type, void *data, uint32_t size)
{
	struct plan_head head;

	return recv(fd, &head, sizeof(head), MSG_WAITALL) == sizeof(head) &&
	       head.type == type && head.size == size &&
	       (!size || recv(fd, data, size, MSG_WAITALL) == (ssize_t)size);
}

static bool send_plan(struct world *w, struct waiting *g)
{
	char out[300];
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)w->script, NULL };
	char *env[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", NULL };
	struct request q = {
		.argv = argv, .env = env, .workdir = w->work, .out_path = out, .join = true
	};
	struct job_plan p = { .request = &q,
			      .job = g->id.job,
			      .attempt = g->id.attempt,
			      .node = "n",
			      .cpus = "" };
	_cleanup_free_ char *data = NULL;
	size_t size;

	snprintf(out, sizeof(out), "%s/out-%" PRId64, w->work, g->id.job);
	return job_plan_encode(&p, &data, &size, NULL) == 0 &&
	       send(g->fd, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* As the agent does: the user's processes live one level down. */
static void move_to_work(struct world *w, struct waiting *g)
{
	char path[MANAGER_PATH_MAX + 32];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/work", job_path(w, g->id));
	mkdir(path, 0755);
	strcat(path, "/cgroup.procs");
	f = fopen(path, "we");
	if (!f || fprintf(f, "%d", g->pid) < 0)
		note("cannot move the launcher to %s: %s", path, strerror(errno));
}

/* As agent/job/phase/attach.c does. */
static bool kill_as_one(struct world *w, struct manager_id id)
{
	char path[MANAGER_PATH_MAX];
	struct err err;

	if (manager_kill_as_one(manager_path(w->ops->parent(w->m), id, path), &err) >= 0)
		return true;
	note("%s", err.text);
	return false;
}

static bool pass_launcher(struct world *w, struct waiting *g)
{
	struct plan_head go = { PLAN_GO, 0 };
	struct plan_opened opened;
	char rest;

	move_to_work(w, g);
	return kill_as_one(w, g->id) && send_plan(w, g) &&
	       receive_message(g->fd, PLAN_OPENED, &opened, sizeof(opened)) &&
	       send(g->fd, &go, sizeof(go), MSG_NOSIGNAL) == sizeof(go) &&
	       recv(g->fd, &rest, 1, 0) == 0;
}

static int on_launcher(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct timeval patience = { .tv_sec = 10 };
	struct world *w = userdata;
	struct waiting g = { .fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC) };
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);
	uint32_t version;

	(void)s;
	(void)revents;
	setsockopt(g.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	getsockopt(g.fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
	g.pid = who.pid;
	if (w->n_waiting == 16 || who.uid != w->uid ||
	    manager_find(w->ops->parent(w->m), who.pid, &g.id, NULL) < 0 ||
	    !receive_message(g.fd, PLAN_HELLO, &version, sizeof(version))) {
		note("a stranger at the gate: pid %d, uid %u", who.pid, who.uid);
		close(g.fd);
		return 0;
	}
	w->waiting[w->n_waiting++] = g;
	return 0;
}

bool let_through(struct world *w, struct manager_id id)
{
	bool good;

	if (!until(w, 20, is_waiting, id))
		return false;
	for (int i = 0; i < w->n_waiting; i++) {
		struct waiting g = w->waiting[i];

		if (g.id.job != id.job)
			continue;
		w->waiting[i] = w->waiting[--w->n_waiting];
		good = pass_launcher(w, &g);
		close(g.fd);
		w->main_pid = g.pid;
		return good;
	}
	return false;
}

static void gate_open(struct world *w)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%.100s", w->socket);
	unlink(at.sun_path);
	w->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(w->listen_fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    chmod(at.sun_path, 0666) < 0 || listen(w->listen_fd, 16) < 0 ||
	    sd_event_add_io(w->event, NULL, w->listen_fd, EPOLLIN, on_launcher, w) < 0)
		bail_out(at.sun_path, strerror(errno));
}

/* An agent that comes back has a connection of its own. */
void manager_start_up(struct world *w)
{
	struct err err;

	if (w->ops == &manager_systemd &&
	    (sd_bus_open_system(&w->bus) < 0 || sd_bus_attach_event(w->bus, w->event, 0) < 0))
		bail_out("sd-bus", "no system bus");
	w->config.bus = w->bus;
	if (w->ops->open(&w->config, &w->m, &err) < 0)
		bail_out("the manager does not open", err.text);
}

void manager_let_go(struct world *w)
{
	w->m = w->ops->close(w->m);
	if (w->bus)
		sd_bus_detach_event(w->bus);
	w->bus = sd_bus_flush_close_unref(w->bus);
}

static void make_dir(char *buf, size_t size, const char *dir, const char *name)
{
	snprintf(buf, size, "%s%s", dir, name);
	if (mkdir(buf, 0755) < 0 && errno != EEXIST)
		bail_out(buf, strerror(errno));
}

void world_open(struct world *w, char **argv)
{
	*w = (struct world){ .uid = (uid_t)atoi(argv[4]), .gid = (gid_t)atoi(argv[4]) };
	w->ops = !strcmp(argv[0], "systemd") ? &manager_systemd : &manager_cgroup;
	make_dir(w->dir, sizeof(w->dir), argv[3], "");
	make_dir(w->final_dir, sizeof(w->final_dir), argv[3], "/final");
	make_dir(w->work, sizeof(w->work), argv[3], "/work");
	make_dir(w->disks, sizeof(w->disks), argv[3], "/jobfs");
	snprintf(w->spec_dir, sizeof(w->spec_dir), "%s/spec", argv[3]);
	snprintf(w->socket, sizeof(w->socket), "%s/launch.sock", argv[3]);
	if (chown(w->work, w->uid, w->gid) < 0)
		bail_out(w->work, strerror(errno));
	if (sd_event_new(&w->event) < 0)
		bail_out("sd-event", "no loop");
	gate_open(w);
	w->config = (struct manager_config){ .event = w->event,
					     .launcher = argv[1],
					     .socket = w->socket,
					     .final_dir = w->final_dir,
					     .parent = argv[2],
					     .spec_dir = w->spec_dir,
					     .hidden = { w->disks },
					     .ctx = w,
					     .on_done = on_done,
					     .on_gone = on_gone };
	manager_start_up(w);
}

void world_close(struct world *w)
{
	manager_let_go(w);
	close(w->listen_fd);
	sd_event_unref(w->event);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

bool until(struct world *w, int seconds, world_fn is_so, struct manager_id id)
{
	/* Emulated nodes on a busy machine are slow; a wait that is over early costs nothing.
	 */
	int64_t end = now_ms() + seconds * INT64_C(4000);

	while (!is_so(w, id) && now_ms() < end)
		sd_event_run(w->event, 20000);
	return is_so(w, id);
}

void for_ms(struct world *w, int ms)
{
	int64_t end = now_ms() + ms;

	while (now_ms() < end)
		sd_event_run(w->event, 10000);
}

int count_gone(const struct world *w, struct manager_id id)
{
	int n = 0;

	for (int i = 0; i < w->n_heard; i++)
		n += w->heard[i].is_gone && w->heard[i].id.job == id.job &&
		     w->heard[i].id.attempt == id.attempt;
	return n;
}

bool is_gone(struct world *w, struct manager_id id)
{
	return count_gone(w, id) > 0;
}

bool has_record(struct world *w, struct manager_id id)
{
	struct final f;

	return final_load(w->final_dir, id.job, id.attempt, &f, NULL) == 0;
}

bool is_waiting(struct world *w, struct manager_id id)
{
	for (int i = 0; i < w->n_waiting; i++)
		if (w->waiting[i].id.job == id.job)
			return true;
	return false;
}

static struct heard *find_answer(struct world *w, struct manager_id id,
				 enum manager_order order)
{
	for (int i = 0; i < w->n_heard; i++)
		if (!w->heard[i].is_gone && w->heard[i].order == order &&
		    w->heard[i].id.job == id.job)
			return &w->heard[i];
	return NULL;
}

int answer_to(struct world *w, struct manager_id id, enum manager_order order)
{
	int64_t end = now_ms() + 80000;
	struct heard *h;

	while (!(h = find_answer(w, id, order)) && now_ms() < end)
		sd_event_run(w->event, 20000);
	if (!h)
		return 1;
	h->id.job = 0; /* looked at */
	return h->result;
}

struct manager_spec world_spec(struct world *w)
{
	static int64_t last_job = 1000;
	static char jobfs[200], sub[220];
	struct manager_spec s = { .id = { ++last_job, 1 },
				  .uid = w->uid,
				  .gid = w->gid,
				  .mem_bytes = INT64_C(64) << 20,
				  .pids = 40,
				  .shm_bytes = 16 << 20,
				  .jobfs_dir = jobfs,
				  .grace_s = 1 };

	cpulist_add(&s.cpus, 1);
	cpulist_add(&s.mem_nodes, 0);
	snprintf(jobfs, sizeof(jobfs), "%s/%" PRId64, w->disks, s.id.job);
	make_dir(sub, sizeof(sub), jobfs, "");
	make_dir(sub, sizeof(sub), jobfs, "/tmp");
	chmod(sub, 01777);
	make_dir(sub, sizeof(sub), jobfs, "/vartmp");
	chmod(sub, 01777);
	return s;
}

bool start(struct world *w, const struct manager_spec *spec)
{
	struct err err;
	int r;

	w->is_ordering = true;
	r = w->ops->start(w->m, spec, &err);
	w->is_ordering = false;
	if (r < 0)
		note("start: %s", err.text);
	return r == 0;
}

struct manager_id run(struct world *w, const char *script)
{
	struct manager_spec s = world_spec(w);

	w->script = script;
	if (!start(w, &s) || answer_to(w, s.id, MANAGER_START) || !let_through(w, s.id))
		ok(false, "job %" PRId64 " starts", s.id.job);
	return s.id;
}

bool is_swept(struct world *w, struct manager_id id)
{
	return access(job_path(w, id), F_OK) < 0;
}

void clear(struct world *w, struct manager_id id)
{
	if (!has_record(w, id))
		w->ops->signal(w->m, id, SIGKILL, NULL);
	if (!until(w, 20, is_swept, id))
		note("job %" PRId64 " does not go", id.job);
	w->ops->forget(w->m, id, NULL);
	final_remove(w->final_dir, id.job, id.attempt);
}

const char *job_path(struct world *w, struct manager_id id)
{
	static char path[MANAGER_PATH_MAX];

	return manager_path(w->ops->parent(w->m), id, path);
}

const char *output(struct world *w, struct manager_id id)
{
	static char text[8192];
	char path[300];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/out-%" PRId64, w->work, id.job);
	f = fopen(path, "re");
	text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
	return text;
}

static const char *sought;

static bool is_said(struct world *w, struct manager_id id)
{
	return strstr(output(w, id), sought) != NULL;
}

bool says(struct world *w, struct manager_id id, const char *text)
{
	sought = text;
	return until(w, 20, is_said, id);
}

const char *value(struct world *w, struct manager_id id, const char *file)
{
	static char text[4096];

	if (manager_read(job_path(w, id), file, text, sizeof(text), NULL) < 0)
		return "";
	return text;
}
