/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events_test.c - frozen time against the clock, also through an ancestor and with the watcher
 * killed in between; empty; OOM names its victim. With BPF and again with files alone. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "agent/enforce/events.h"
#include "tests/bpf/testjob.h"

#define MS 1000000u

struct seen {
	int frozen, thawed, empty, oom;
	int64_t job;
	struct events_oom last;
};

static void on_frozen(void *ctx, int64_t job, bool frozen, uint64_t ns)
{
	struct seen *s = ctx;

	(void)ns;
	s->job = job;
	if (frozen)
		s->frozen++;
	else
		s->thawed++;
}

static void on_empty(void *ctx, int64_t job, uint64_t ns)
{
	struct seen *s = ctx;

	(void)ns;
	s->job = job;
	s->empty++;
}

static void on_oom(void *ctx, const struct events_oom *oom)
{
	struct seen *s = ctx;

	s->oom++;
	if (s->oom == 1)
		s->last = *oom;
}

static struct events *open_events(const char *pin_dir, int best_tier, struct seen *seen)
{
	struct events_config config = {
		.pin_dir = pin_dir,
		.max_jobs = 16,
		.best_tier = best_tier,
		.ctx = seen,
		.on_oom = on_oom,
		.on_frozen = on_frozen,
		.on_empty = on_empty,
	};
	struct events *e = NULL;
	struct err err = { "" };

	if (events_open(&config, &e, &err) < 0) {
		printf("Bail out! events_open: %s\n", err.text);
		exit(1);
	}
	return e;
}

static void add_job(struct events *e, const struct testjob *j)
{
	struct events_job job = { .job = j->job, .cgroup_id = j->id, .path = j->path };
	struct err err = { "" };

	if (events_add(e, &job, &err) < 0)
		tap_ok(false, "events_add: %s", err.text);
}

static struct events_freeze read_freeze(struct events *e, const struct testjob *j)
{
	struct events_freeze f = { 0 };
	struct err err = { "" };

	if (events_frozen(e, j->id, &f, &err) < 0)
		tap_ok(false, "events_frozen: %s", err.text);
	return f;
}

/* Dispatch until *counter is `n`, a minute at most. */
static void wait_for(struct events *e, const int *counter, int n)
{
	struct pollfd p = { events_fd(e), POLLIN, 0 };
	uint64_t end = testjob_now_ns() + 60000ull * MS;

	while (*counter < n && testjob_now_ns() < end)
		if (poll(&p, 1, 100) > 0)
			events_dispatch(e, NULL);
}

static int sleep_forever(void *arg)
{
	while (pause() < 0)
		;
	return arg != NULL;
}

/* What the clock says of frozen time: at least from seeing it frozen to asking for the thaw, at
 * most from asking for the freeze to seeing it thawed. */
struct truth {
	uint64_t least, most;
};

static void pass_time(struct events *e, int ms)
{
	uint64_t end = testjob_now_ns() + (uint64_t)ms * MS;
	struct pollfd p = { e ? events_fd(e) : -1, POLLIN, 0 };

	while (testjob_now_ns() < end)
		if (poll(&p, 1, 1) > 0)
			events_dispatch(e, NULL);
}

/* Who reads files learns of it when it gets to read: what it counts begins and ends then. */
static void until_known(struct events *e, const struct testjob *j, bool frozen)
{
	uint64_t end = testjob_now_ns() + 60000ull * MS;

	while (e && events_tier(e) == 3 && read_freeze(e, j).frozen != frozen &&
	       testjob_now_ns() < end)
		pass_time(e, 1);
}

/* Freeze through `at` for a time (ms < 0: for good), dispatching `e` meanwhile, and add to
 * *t. */
static void freeze_for(struct events *e, const struct testjob *at, const struct testjob *j,
		       int ms, struct truth *t)
{
	uint64_t asked = testjob_now_ns(), seen, thaw;

	testjob_write(at, "cgroup.freeze", "1");
	while (testjob_number(j, "cgroup.events", "frozen") != 1)
		;
	until_known(e, j, true);
	seen = testjob_now_ns();
	if (ms < 0) { /* the caller adds the present time */
		t->least -= seen;
		t->most -= asked;
		return;
	}
	pass_time(e, ms);
	thaw = testjob_now_ns();
	testjob_write(at, "cgroup.freeze", "0");
	while (testjob_number(j, "cgroup.events", "frozen") != 0)
		;
	until_known(e, j, false);
	t->least += thaw - seen;
	t->most += testjob_now_ns() - asked;
}

static bool agrees_with_truth(const struct events_freeze *f, const struct truth *t,
			      uint64_t slack, const char *what)
{
	return tap_ok(f->total_ns + slack >= t->least && f->total_ns <= t->most + slack,
		      "%s: %llu us, truth %llu to %llu us", what,
		      (unsigned long long)f->total_ns / 1000,
		      (unsigned long long)t->least / 1000, (unsigned long long)t->most / 1000);
}

static void test_freeze(int best_tier)
{
	uint64_t slack = best_tier == 3 ? 40 * MS : 2 * MS;
	struct truth t = { 0, 0 };
	struct testjob above, j;
	struct seen seen = { 0 };
	struct events *e = open_events(NULL, best_tier, &seen);
	struct events_freeze f;

	testjob_make(&above, "above", 0);
	testjob_make(&j, "above/freeze", 11);
	testjob_run(&j, sleep_forever, NULL);
	add_job(e, &j);
	freeze_for(e, &j, &j, 60, &t);
	wait_for(e, &seen.thawed, 1);
	f = read_freeze(e, &j);
	agrees_with_truth(&f, &t, slack, "frozen time of the job");
	tap_ok(seen.frozen == 1 && seen.thawed == 1 && seen.job == 11 && f.count == 1 &&
		       !f.frozen,
	       "told once frozen and once thawed");
	freeze_for(e, &above, &j, 40, &t);
	wait_for(e, &seen.thawed, 2);
	f = read_freeze(e, &j);
	agrees_with_truth(&f, &t, 2 * slack, "an ancestor's freezing counts");
	tap_ok(f.count == 2, "as the second time");
	tap_ok(f.exact == (best_tier != 3), "exact: %s", f.exact ? "yes" : "no");
	testjob_kill(&j);
	wait_for(e, &seen.empty, 1);
	tap_ok(seen.empty >= 1, "the end of the last process is reported");
	events_close(e);
	testjob_remove(&above);
}

static void test_already(int best_tier)
{
	struct seen seen = { 0 };
	struct truth t = { 0, 0 };
	struct testjob j, k;
	struct events *e;
	struct events_freeze f;
	uint64_t begin;

	testjob_make(&j, "already", 12);
	testjob_make(&k, "empty", 13);
	testjob_run(&j, sleep_forever, NULL);
	freeze_for(NULL, &j, &j, -1, &t);
	pass_time(NULL, 20);
	begin = testjob_now_ns();
	e = open_events(NULL, best_tier, &seen);
	add_job(e, &j);
	add_job(e, &k);
	wait_for(e, &seen.empty, 1);
	tap_ok(seen.empty == 1 && seen.job == 13,
	       "a job that is empty when added is reported as empty");
	f = read_freeze(e, &j);
	tap_ok(f.frozen && f.total_ns <= testjob_now_ns() - begin && !f.exact,
	       "one that is frozen counts from then on, and not as exact");
	events_close(e);
	testjob_remove(&j);
	testjob_remove(&k);
}

static int watch_and_wait(const char *pin_dir, const struct testjob *j, int ready_fd)
{
	struct seen seen = { 0 };
	struct events *e = open_events(pin_dir, 0, &seen);

	add_job(e, j);
	if (write(ready_fd, "x", 1) != 1)
		return 1;
	return sleep_forever(NULL);
}

static void test_killed_watcher(const char *pin_dir)
{
	struct seen seen = { 0 };
	struct events_freeze f;
	struct truth t = { 0, 0 };
	struct testjob j;
	struct events *e;
	int ready[2];
	pid_t pid;
	char c;

	if (!pin_dir) {
		tap_skip("watcher killed", "no bpffs to pin in");
		return;
	}
	testjob_make(&j, "killed", 14);
	testjob_run(&j, sleep_forever, NULL);
	if (pipe(ready) < 0)
		exit(1);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(watch_and_wait(pin_dir, &j, ready[1]));
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	kill(pid, SIGKILL);
	testjob_wait(pid);
	freeze_for(NULL, &j, &j, 70, &t); /* the job has no process */
	freeze_for(NULL, &j, &j, -1, &t); /* and once more, still frozen */
	pass_time(NULL, 20);
	e = open_events(pin_dir, 0, &seen);
	tap_ok(events_adopted(e), "the hooks of a killed watcher are taken over");
	add_job(e, &j);
	t.least += testjob_now_ns();
	f = read_freeze(e, &j);
	t.most += testjob_now_ns();
	agrees_with_truth(&f, &t, 2 * MS, "frozen time went on without it");
	tap_ok(f.count == 2 && f.frozen && f.exact, "frozen twice, frozen now, exact");
	events_dispatch(e, NULL);
	tap_ok(seen.frozen == 2 && seen.thawed == 1,
	       "and the events were kept: %d frozen, %d thawed", seen.frozen, seen.thawed);
	events_remove(e, j.id);
	events_close(e);
	testjob_remove(&j);
}

static void freeze_steps(const struct testjob *steps, const char *value)
{
	for (int i = 0; i < 2; i++) {
		testjob_write(&steps[i], "cgroup.freeze", value);
		while (testjob_number(&steps[i], "cgroup.events", "frozen") != *value - '0')
			;
	}
}

static bool is_missing_hook(struct events *e, const struct testjob *j)
{
	struct events_freeze f;
	struct err err = { "" };

	return events_frozen(e, j->id, &f, &err) == -EOPNOTSUPP;
}

/* Steps that end, and that are removed, while they are frozen. `last`: the one of steps[1]. */
static void lose_steps(struct events *e, const struct testjob *j, const struct testjob *steps,
		       const struct testjob *last)
{
	freeze_steps(steps, "1");
	testjob_kill(&steps[0]);
	testjob_kill(&steps[1]);
	freeze_steps(steps, "0");
	tap_ok(!read_freeze(e, j).frozen,
	       "steps that end while they are frozen are counted out");
	freeze_steps(steps, "1");
	testjob_remove(last);
	events_check_steps(e, j->id, 1);
	events_check_steps(e, j->id, 1);
	tap_ok(read_freeze(e, j).frozen,
	       "one that is removed while it is frozen leaves the other");
	testjob_remove(j);
	events_check_steps(e, j->id, 0);
	tap_ok(read_freeze(e, j).frozen,
	       "one reading of the files that differs changes nothing");
	events_check_steps(e, j->id, 0);
	tap_ok(!read_freeze(e, j).frozen, "two in a row do");
}

/* As Slurm suspends: the cgroups of two steps, one by one, below a job that is never frozen itself. */
static void test_steps(void)
{
	struct seen seen = { 0 };
	struct events_freeze f;
	struct testjob j, below, steps[2], leaf;
	struct events *e = open_events(NULL, 0, &seen);
	struct events_job job = { .by_steps = true };
	struct truth t = { 0, 0 };
	uint64_t asked;
	struct err err;

	testjob_make(&j, "slurm", 16);
	testjob_make(&below, "slurm/step_0", 0);
	testjob_make(&steps[0], "slurm/step_0/user", 0);
	testjob_make(&leaf, "slurm/step_0/user/task_0", 0);
	testjob_make(&below, "slurm/step_1", 0);
	testjob_make(&steps[1], "slurm/step_1/user", 0);
	testjob_run(&leaf, sleep_forever, NULL);
	testjob_run(&steps[1], sleep_forever, NULL);
	job.job = j.job, job.cgroup_id = j.id, job.path = j.path;
	tap_ok(events_add(e, &job, &err) == 0, "a job whose steps are frozen one by one");
	if (is_missing_hook(e, &j)) {
		tap_skip("frozen steps", "no hook counts them here");
		events_close(e);
		testjob_remove(&j);
		return;
	}
	asked = testjob_now_ns();
	freeze_steps(steps, "1");
	t.least -= testjob_now_ns();
	t.most -= asked;
	pass_time(e, 50);
	tap_ok(read_freeze(e, &j).frozen, "is frozen when its steps are");
	asked = testjob_now_ns();
	freeze_steps(steps, "0");
	t.least += asked;
	t.most += testjob_now_ns();
	wait_for(e, &seen.thawed, 1);
	f = read_freeze(e, &j);
	agrees_with_truth(&f, &t, 2 * MS,
			  "frozen time from the first step's to the last one's");
	tap_ok(seen.frozen == 1 && seen.thawed == 1 && !f.frozen && f.count == 1 && f.exact,
	       "told once frozen and once thawed, exact");
	lose_steps(e, &j, steps, &below);
	events_remove(e, j.id);
	events_close(e);
}

static void test_prune(const char *pin_dir)
{
	struct seen seen = { 0 };
	struct events *e;
	struct testjob j;

	if (!pin_dir) {
		tap_skip("prune", "no bpffs to pin in");
		return;
	}
	testjob_make(&j, "prune", 15);
	e = open_events(pin_dir, 0, &seen);
	add_job(e, &j);
	events_close(e);
	e = open_events(pin_dir, 0, &seen);
	tap_ok(events_prune(e) == 1 && events_prune(e) == 0,
	       "a job that a new agent does not add is forgotten");
	events_close(e);
	testjob_remove(&j);
}

static int touch_memory(void *arg)
{
	size_t size = *(size_t *)arg;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_NAME, "glutton");
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 0;
}

static void test_oom(int best_tier)
{
	size_t size = 64 << 20;
	struct seen seen = { 0 };
	struct testjob j;
	struct events *e;
	int status;
	pid_t pid;

	testjob_make(&j, "oom", 16);
	if (testjob_write(&j, "memory.max", "16777216") < 0) {
		tap_skip("OOM", "the memory controller is not on here");
		testjob_remove(&j);
		return;
	}
	testjob_write(&j, "memory.oom.group", "1");
	e = open_events(NULL, best_tier, &seen);
	add_job(e, &j);
	pid = testjob_run(&j, touch_memory, &size);
	status = testjob_wait(pid);
	wait_for(e, &seen.oom, 1);
	tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && seen.oom >= 1,
	       "tier %d: an OOM kill is reported", events_tier(e));
	if (events_tier(e) <= 2 && seen.last.pid)
		tap_ok(seen.last.pid == pid && !strcmp(seen.last.comm, "glutton"),
		       "its victim is %d %s, %llu KiB resident", seen.last.pid, seen.last.comm,
		       (unsigned long long)seen.last.victim_rss_bytes >> 10);
	if (events_tier(e) == 1)
		tap_ok(seen.last.own_limit && seen.last.limit_bytes == 16777216 &&
			       seen.last.usage_bytes > 15 << 20,
		       "it was the job's own limit of %llu",
		       (unsigned long long)seen.last.limit_bytes);
	events_close(e);
	testjob_remove(&j);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return getenv("TEST_VERBOSE") && level < LIBBPF_DEBUG ? vprintf(fmt, ap) : 0;
}

int main(int argc, char **argv)
{
	static const int tiers[] = { 1, 2, 3 };
	const char *pin_dir = argc > 1 && argv[1][0] ? argv[1] : NULL;
	struct seen seen = { 0 };
	struct events *e;

	libbpf_set_print(print_libbpf);
	testjob_root("events");
	for (int i = 0; i < 3; i++) {
		e = open_events(NULL, tiers[i], &seen);
		tap_note("at best tier %d: tier %d", tiers[i], events_tier(e));
		printf("# %s\n", events_status(e));
		tap_ok(events_tier(e) >= tiers[i] && events_tier(e) <= (tiers[i] == 3 ? 3 : 2),
		       "tier %d or the next worse one", tiers[i]);
		events_close(e);
		test_freeze(tiers[i]);
		test_already(tiers[i]);
		test_oom(tiers[i]);
	}
	test_steps();
	test_killed_watcher(pin_dir);
	test_prune(pin_dir);
	return tap_done();
}
