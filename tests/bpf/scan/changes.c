/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes.c - see scan/changes.h. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/bpf/scan/changes.h"
#include "tests/bpf/testjob.h"

#define PATIENCE_NS 60000000000u /* ends early on an idle machine */

struct touch {
	volatile int n_wanted, n_done; /* times */
	size_t bytes;
};

/* Each time it touches memory that it gives back: what stays are the faults. */
static int touch_and_sleep(void *arg)
{
	struct touch *t = arg;
	char *p = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	madvise(p, t->bytes, MADV_NOHUGEPAGE);
	for (;; usleep(1000))
		for (; t->n_done < t->n_wanted; t->n_done++) {
			memset(p, 1, t->bytes);
			madvise(p, t->bytes, MADV_DONTNEED);
		}
	return 0;
}

static int sleep_still(void *arg)
{
	while (pause() < 0)
		;
	return arg != NULL;
}

struct wanted {
	int64_t job;
	struct sample sample;
};

static void keep_wanted(void *ctx, const struct sample *u)
{
	struct wanted *w = ctx;

	if (u->job == w->job)
		w->sample = *u;
}

static struct sample sample_of_all(struct sampler *s, const struct testjob *j)
{
	struct wanted w = { .job = j->job };
	struct err err = { "" };

	if (sample_all(s, keep_wanted, &w, &err) < 0)
		tap_ok(false, "sample_all: %s", err.text);
	return w.sample;
}

static void add_to_sampler(struct sampler *s, const struct testjob *j)
{
	struct sample_job job = { j->job, j->id, j->path };
	struct err err = { "" };

	if (sample_add(s, &job, &err) < 0)
		tap_ok(false, "sample_add: %s", err.text);
}

static void check_touched(struct sampler *s, const struct testjob *j, struct touch *t)
{
	uint64_t end = testjob_now_ns() + PATIENCE_NS;
	struct sample before = sample_of_all(s, j), after;

	t->n_wanted++;
	while (t->n_done < t->n_wanted && testjob_now_ns() < end)
		sched_yield();
	after = sample_of_all(s, j);
	tap_ok(after.minor_faults >= before.minor_faults + t->bytes / 4096,
	       "faults of a task that ran since are counted: %llu, %llu before",
	       (unsigned long long)after.minor_faults, (unsigned long long)before.minor_faults);
}

void scan_changes_test(struct sampler *s)
{
	struct touch *t = testjob_shared(sizeof(*t));
	struct testjob busy, still;
	struct sample first, u;
	char pid[32];

	testjob_make(&busy, "busy", 8);
	testjob_make(&still, "still", 9);
	add_to_sampler(s, &busy);
	add_to_sampler(s, &still);
	t->bytes = 4 << 20;
	testjob_run(&busy, touch_and_sleep, t);
	snprintf(pid, sizeof(pid), "%d", testjob_run(&still, sleep_still, NULL));
	usleep(100000); /* until it sleeps */
	first = sample_of_all(s, &still);
	if (!(first.have & SAMPLE_FAULTS)) {
		tap_skip("changes since the last sample", "needs BPF");
	} else {
		for (int i = 0; i < 3; i++)
			check_touched(s, &busy, t);
		u = sample_of_all(s, &still);
		tap_ok(u.procs == 1 && u.rss_bytes == first.rss_bytes && u.rss_bytes &&
			       u.minor_faults == first.minor_faults &&
			       u.run_delay_ns == first.run_delay_ns,
		       "the figures of a task that sleeps stand: %llu KiB resident",
		       (unsigned long long)u.rss_bytes >> 10);
		testjob_write(&busy, "cgroup.procs", pid);
		u = sample_of_all(s, &still);
		tap_ok(u.procs == 0 && u.rss_bytes == 0, "a process moved out is seen: %llu",
		       (unsigned long long)u.procs);
		u = sample_of_all(s, &busy);
		tap_ok(u.procs == 2, "and where it was moved to: %llu",
		       (unsigned long long)u.procs);
	}
	sample_remove(s, busy.id);
	sample_remove(s, still.id);
	testjob_remove(&busy);
	testjob_remove(&still);
}
