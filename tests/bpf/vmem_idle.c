/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_idle.c - the programs that run at every mapping of the node are attached while it has jobs.
 *
 * Without a job they are gone after a time, from the kernel and from the pins. A job that comes then is
 * held from its first mapping, every time. An agent that dies without jobs leaves nothing attached, and
 * the next one takes the set over; one that dies with a job leaves all of it.
 *
 * For an hour: build/tests/bpf/vmem_idle --tier 2 --seconds 3600, or in tier 1
 *	tests/bpf/vmtest.sh --mem 2G --timeout 4200 -- build/tests/bpf/vmem_idle --tier 1 --seconds 3600
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "bpf/vmem_abi.h"
#include "common/cleanup.h"
#include "tests/bpf/vmem_test.h"

#define ROUNDS 20
#define WAIT_S 30
#define SETTLE_MS 300

static char mount_dir[64], pin_dir[128];

struct scene {
	struct vmem_test t;
	struct vmem_config config;
	const char *hot; /* a pin that comes and goes */
};

/* As the agent does: the strings of the configuration are gone after the call. */
static void reopen_vmem(struct scene *s)
{
	char pins[sizeof(pin_dir)], scratch[512];
	struct vmem_config c = s->config;
	struct err err = { "" };
	int r;

	snprintf(pins, sizeof(pins), "%s", c.pin_dir);
	snprintf(scratch, sizeof(scratch), "%s", c.scratch_dir);
	c.pin_dir = pins;
	c.scratch_dir = scratch;
	r = vmem_open(&c, &s->t.v, &err);
	explicit_bzero(pins, sizeof(pins));
	explicit_bzero(scratch, sizeof(scratch));
	if (r == 0 && (int)vmem_tier(s->t.v) == s->t.tier)
		return;
	printf("Bail out! vmem_open: %s %s\n", err.text,
	       s->t.v ? vmem_tier_reason(s->t.v) : "");
	exit(1);
}

static bool is_pinned(const struct scene *s)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/vmem-v%d/%s", pin_dir, VMEM_VERSION, s->hot);
	return access(path, F_OK) == 0;
}

/* As the agent's loop does: waits for vmem_fd(), at most WAIT_S. */
static bool wait_until_idle(struct scene *s)
{
	uint64_t until = testjob_now_ns() + WAIT_S * 1000000000ULL;
	struct pollfd p = { .fd = vmem_fd(s->t.v), .events = POLLIN };

	while (!vmem_is_idle(s->t.v) && testjob_now_ns() < until) {
		poll(&p, 1, 100);
		vmem_dispatch(s->t.v, NULL);
	}
	return vmem_is_idle(s->t.v);
}

/* Small mappings, as a job makes them: the kernel side must see the first ones as well. */
static int exceed_slowly(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < 64; i++)
		if (mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
			return 2;
	return 0;
}

/* A job that exceeds its limit: true if it was killed. */
static bool is_held(struct scene *s, uint64_t *ret_add_ns)
{
	struct vmem_request limit = { .limit_bytes = 32 * MIB };
	uint64_t begin = testjob_now_ns();
	struct testjob j;
	int status;

	vmem_test_job(&s->t, &j, "held", &limit);
	*ret_add_ns = testjob_now_ns() - begin;
	status = testjob_wait(testjob_run(&j, exceed_slowly, NULL));
	vmem_dispatch(s->t.v, NULL);
	vmem_test_drop(&s->t, &j);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int compare_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void check_rounds(struct scene *s)
{
	uint64_t at_once[ROUNDS / 2], settled[ROUNDS / 2], next[ROUNDS];
	uint64_t until = testjob_now_ns() + s->t.seconds * 1000000000ULL;
	int idle = 0, held = 0, n = 0;

	for (; n < ROUNDS || testjob_now_ns() < until; n++) {
		int i = n % ROUNDS;

		idle += wait_until_idle(s) && !is_pinned(s);
		if (i % 2) /* else right after: while the kernel still ends the links */
			poll(NULL, 0, SETTLE_MS);
		held += is_held(s, i % 2 ? &settled[i / 2] : &at_once[i / 2]);
		held += is_pinned(s) && is_held(s, &next[i]);
	}
	qsort(at_once, ROUNDS / 2, sizeof(*at_once), compare_ns);
	qsort(settled, ROUNDS / 2, sizeof(*settled), compare_ns);
	qsort(next, ROUNDS, sizeof(*next), compare_ns);
	tap_ok(idle == n, "without a job nothing is attached or pinned: %d of %d", idle, n);
	tap_ok(held == 2 * n, "a job that comes then is held, and so is the next: %d of %d",
	       held, 2 * n);
	tap_note(
		"adding a job, medians: %.2f ms right after the detaching, %.2f ms %d ms later, "
		"%.2f ms when attached",
		(double)at_once[ROUNDS / 4] / 1e6, (double)settled[ROUNDS / 4] / 1e6, SETTLE_MS,
		(double)next[ROUNDS / 2] / 1e6);
}

/* Another process has the link of a detached program open, so that the kernel does not end it. */
static void check_lent_link(struct scene *s)
{
	_cleanup_close_ int link = -1;
	struct vmem_request none = { 0 };
	char path[256];
	struct testjob j;
	uint64_t ns;

	vmem_test_job(&s->t, &j, "lends", &none);
	snprintf(path, sizeof(path), "%s/vmem-v%d/%s", pin_dir, VMEM_VERSION, s->hot);
	link = bpf_obj_get(path);
	vmem_test_drop(&s->t, &j);
	tap_ok(link >= 0 && wait_until_idle(s),
	       "the programs are detached while another process has a link open");
	tap_ok(is_held(s, &ns),
	       "a job is held although the old link still exists: the programs are loaded again");
	tap_ok(is_pinned(s) && is_held(s, &ns),
	       "the new programs are pinned, and hold the next job");
	tap_ok(wait_until_idle(s) && !is_pinned(s),
	       "the new programs are detached without a job");
	tap_ok(is_held(s, &ns), "the new programs are attached again");
}

/* A job that lives through the idle time keeps the programs. */
static void check_job_keeps(struct scene *s)
{
	struct vmem_request none = { 0 };
	struct testjob j;

	vmem_test_job(&s->t, &j, "keeps", &none);
	for (int i = 0; i < 5; i++) {
		poll(NULL, 0, 20);
		vmem_dispatch(s->t.v, NULL);
	}
	tap_ok(!vmem_is_idle(s->t.v) && is_pinned(s), "with a job they stay attached");
	vmem_test_drop(&s->t, &j);
}

/* Runs fn in a child that opens vmem, and kills the child when fn has returned. */
static void die_after(struct scene *s, void (*fn)(struct scene *s))
{
	struct vmem_signal done;
	pid_t pid;

	vmem_signal_init(&done);
	pid = fork();
	if (pid == 0) {
		reopen_vmem(s);
		fn(s);
		vmem_signal_send(&done);
		for (;;)
			pause();
	}
	if (!vmem_signal_wait(&done)) {
		printf("Bail out! the holder ended\n");
		exit(1);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void become_idle(struct scene *s)
{
	wait_until_idle(s);
}

static void check_idle_death(struct scene *s)
{
	uint64_t ns;
	bool gone;

	die_after(s, become_idle);
	gone = !is_pinned(s);
	reopen_vmem(s);
	tap_ok(gone && vmem_origin(s->t.v) == VMEM_ADOPTED,
	       "an agent that died without jobs left nothing attached; the next adopts (origin "
	       "%d)",
	       vmem_origin(s->t.v));
	tap_ok(is_held(s, &ns), "and holds a job");
	tap_ok(wait_until_idle(s) && !is_pinned(s), "and detaches what it took over");
	tap_ok(is_held(s, &ns), "and holds a job again");
	s->t.v = vmem_close(s->t.v);
}

static struct testjob survivor;

static void add_survivor(struct scene *s)
{
	struct vmem_request r = { .job_id = 77, .cgroup_id = survivor.id };

	wait_until_idle(s);
	r.cgroup_fd = open(survivor.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (vmem_add(s->t.v, &r, NULL) < 0)
		exit(1);
}

/* With a job in the table a set without them is damaged: it is made again, and counts again. */
static void check_death_with_job(struct scene *s)
{
	char path[256];

	testjob_make(&survivor, "survivor", 77);
	die_after(s, add_survivor);
	tap_ok(is_pinned(s), "an agent that died with a job left them attached");
	reopen_vmem(s);
	tap_ok(vmem_origin(s->t.v) == VMEM_ADOPTED, "and the next adopts (origin %d)",
	       vmem_origin(s->t.v));
	s->t.v = vmem_close(s->t.v);
	snprintf(path, sizeof(path), "%s/vmem-v%d/%s", pin_dir, VMEM_VERSION, s->hot);
	unlink(path);
	reopen_vmem(s);
	tap_ok(vmem_origin(s->t.v) == VMEM_REBUILT && is_pinned(s),
	       "with a job and one of them missing, the set is rebuilt (origin %d)",
	       vmem_origin(s->t.v));
	vmem_remove(s->t.v, survivor.id, NULL);
	testjob_remove(&survivor);
	tap_ok(wait_until_idle(s) && !is_pinned(s), "the last job gone, they go too");
	s->t.v = vmem_close(s->t.v);
}

static int mount_bpf(void)
{
	snprintf(mount_dir, sizeof(mount_dir), "/tmp/reeve-test-bpf-%d", (int)getpid());
	snprintf(pin_dir, sizeof(pin_dir), "%s/pins", mount_dir);
	if (mkdir(mount_dir, 0700))
		return -errno;
	if (mount("bpf", mount_dir, "bpf", 0, NULL)) {
		rmdir(mount_dir);
		return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct scene s;

	vmem_test_open(&s.t, "vmem-idle", argc, argv, &s.config);
	if (s.t.tier == 3) {
		printf("1..0 # SKIP tier 3 has no programs\n");
		return 0;
	}
	s.t.v = vmem_close(s.t.v);
	if (mount_bpf() < 0) {
		printf("1..0 # SKIP no bpf file system: %s\n", strerror(errno));
		return 0;
	}
	s.hot = s.t.tier == 1 ? "mmap_check" : "lock_released";
	s.config.pin_dir = pin_dir;
	s.config.first_tier = s.t.tier;
	s.config.scratch_dir = testjob_root("vmem-idle");
	s.config.idle_ms = 10;
	reopen_vmem(&s);
	check_rounds(&s);
	check_lent_link(&s);
	check_job_keeps(&s);
	s.t.v = vmem_close(s.t.v);
	check_idle_death(&s);
	check_death_with_job(&s);
	vmem_unpin(pin_dir, NULL);
	rmdir(pin_dir);
	umount(mount_dir);
	rmdir(mount_dir);
	return tap_done();
}
