/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_restart.c - the agent dies, the limits stay.
 *
 * A holder process opens the guard with a pin directory, adds jobs and is killed with SIGKILL.
 * While no agent runs a job grows (its count must be exact afterwards) and another exceeds
 * (it must be dead, and the next holder must learn which job and how much). Then the pins are
 * renamed to look like another version's, and damaged, and taken over all the same.
 */
#include <dirent.h>
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
#include "bpf/vmem_abi.h"
#include "common/cleanup.h"
#include "tests/bpf/vmem_test.h"

static struct vmem_signal order, done;
static char mount_dir[64], pin_dir[128];
static struct vmem_excess told;
static int n_told;

static void on_excess(void *ctx, const struct vmem_excess *x)
{
	(void)ctx;
	told = *x;
	n_told++;
}

/* A job's process: maps 8 MiB at each command and confirms it. */
static int grow_on_signal(void *ctx)
{
	(void)ctx;
	while (vmem_signal_wait(&order)) {
		if (mmap(NULL, 8 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
			return 1;
		vmem_signal_send(&done);
	}
	return 0;
}

static int exceed_on_signal(void *ctx)
{
	struct vmem_signal *go = ctx;

	if (!vmem_signal_wait(go))
		return 1;
	mmap(NULL, 256 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return 0; /* it must not get here */
}

struct scene {
	struct vmem_test t;
	struct vmem_config config;
	struct testjob steady, greedy;
	struct vmem_signal go, held;
	pid_t grower, hog;
};

static void reopen_vmem(struct scene *s)
{
	struct err err = { "" };

	n_told = 0;
	if (vmem_open(&s->config, &s->t.v, &err) == 0 && (int)vmem_tier(s->t.v) == s->t.tier)
		return;
	printf("Bail out! vmem_open: %s %s\n", err.text,
	       s->t.v ? vmem_tier_reason(s->t.v) : "");
	exit(1);
}

static int add_job(struct scene *s, const struct testjob *j, uint64_t limit)
{
	struct vmem_request r = { .job_id = (uint64_t)j->job,
				  .cgroup_id = j->id,
				  .limit_bytes = limit };
	struct err err = { "" };
	int rc;

	r.cgroup_fd = open(j->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = vmem_add(s->t.v, &r, &err);
	close(r.cgroup_fd);
	if (rc < 0)
		tap_note("vmem_add: %s", err.text);
	return rc;
}

/* The holder: what an agent does, until it is killed. */
static int run_holder(struct scene *s)
{
	reopen_vmem(s);
	if (add_job(s, &s->steady, 0) < 0 || add_job(s, &s->greedy, 64 * MIB) < 0)
		return 1;
	vmem_signal_send(&s->held);
	for (;;)
		pause();
	return 0;
}

static void hold_and_die(struct scene *s)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(run_holder(s));
	if (!vmem_signal_wait(&s->held)) {
		printf("Bail out! the holder ended\n");
		exit(1);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void grow_once(void)
{
	vmem_signal_send(&order);
	vmem_signal_wait(&done);
}

static void while_away(struct scene *s)
{
	int status = 0;

	hold_and_die(s);
	grow_once();
	grow_once();
	vmem_signal_send(&s->go);
	waitpid(s->hog, &status, 0);
	tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	       "with the holder killed, the limit still kills: status %x", status);
}

static void come_back(struct scene *s)
{
	struct vmem_job_info jobs[4];
	struct vmem_process top[2] = { 0 };
	uint64_t bytes = 0;
	size_t n = 0;
	bool equal;

	reopen_vmem(s);
	tap_ok(vmem_origin(s->t.v) == VMEM_ADOPTED, "the next holder adopts (origin %d)",
	       vmem_origin(s->t.v));
	vmem_jobs(s->t.v, jobs, ARRAY_LEN(jobs), &n);
	tap_ok(n == 2, "both jobs are in the table: %zu", n);
	equal = vmem_test_equal(&s->t, &s->steady, &bytes);
	tap_ok(equal && bytes == vmem_test_statm(&s->steady),
	       "what grew meanwhile is counted exactly: %llu bytes", (unsigned long long)bytes);
	vmem_dispatch(s->t.v, NULL);
	tap_ok(n_told == 1 && told.job_id == (uint64_t)s->greedy.job && told.is_killed &&
		       told.tgid == (uint32_t)s->hog &&
		       !strncmp(told.comm, "vmem_restart", 12) &&
		       told.reached_bytes > 256 * MIB && told.at_ns > 0,
	       "and learns what happened: job %llu, %s of %llu bytes by %s[%u], would reach "
	       "%llu",
	       (unsigned long long)told.job_id, told.operation ? told.operation : "-",
	       (unsigned long long)told.requested_bytes, told.comm, told.tgid,
	       (unsigned long long)told.reached_bytes);
	vmem_processes(s->t.v, s->greedy.id, top, ARRAY_LEN(top), &n);
	tap_ok(n == 1 && top[0].is_gone && top[0].pid == (uint32_t)s->hog,
	       "the dead job's table is whole: %zu, %s[%u] %llu bytes", n, top[0].comm,
	       top[0].pid, (unsigned long long)top[0].bytes);
	tap_ok(add_job(s, &s->steady, 0) == 1, "adding a known job again returns 'known'");
	s->t.v = vmem_close(s->t.v);
	reopen_vmem(s);
	vmem_dispatch(s->t.v, NULL);
	tap_ok(n_told == 0, "an excess that was delivered is not delivered again");
	s->t.v = vmem_close(s->t.v);
}

/* Taken over by another version: the job table crosses, the sets change places. */
static void other_version(struct scene *s)
{
	char now[200], old[200];
	struct vmem_usage use = { 0 };
	struct stat st;
	uint64_t bytes = 0;
	bool equal;

	snprintf(now, sizeof(now), "%s/vmem-v%d", pin_dir, VMEM_VERSION);
	snprintf(old, sizeof(old), "%s/vmem-v0", pin_dir);
	if (rename(now, old))
		tap_note("rename: %s", strerror(errno));
	grow_once();
	reopen_vmem(s);
	tap_ok(vmem_origin(s->t.v) == VMEM_UPGRADED && stat(old, &st) && !stat(now, &st),
	       "another version's set is replaced (origin %d)", vmem_origin(s->t.v));
	equal = vmem_test_equal(&s->t, &s->steady, &bytes);
	tap_ok(equal && bytes == vmem_test_statm(&s->steady),
	       "its jobs are counted exactly: %llu", (unsigned long long)bytes);
	vmem_read(s->t.v, s->greedy.id, &use, NULL);
	tap_ok(use.is_exceeded && use.limit_bytes == 64 * MIB, "limit and latch crossed over");
	grow_once();
	equal = vmem_test_equal(&s->t, &s->steady, &bytes);
	tap_ok(equal, "the new set counts on: %llu", (unsigned long long)bytes);
	s->t.v = vmem_close(s->t.v);
}

/* MaxProcesses= was changed: the same programs on a table of another size. */
static void other_size(struct scene *s)
{
	struct vmem_room room;
	uint64_t bytes = 0;
	bool equal;

	s->config.max_processes = 4 * 65536;
	reopen_vmem(s);
	vmem_room(s->t.v, &room);
	equal = vmem_test_equal(&s->t, &s->steady, &bytes);
	tap_ok(vmem_origin(s->t.v) == VMEM_UPGRADED && equal &&
		       room.max_spaces > s->config.max_processes && room.held_spaces >= 1,
	       "a table of another size is taken over without a gap: %llu of %llu entries in "
	       "use, "
	       "count %llu",
	       (unsigned long long)room.held_spaces, (unsigned long long)room.max_spaces,
	       (unsigned long long)bytes);
	s->t.v = vmem_close(s->t.v);
}

static void check_damaged(struct scene *s)
{
	char link[200];
	uint64_t bytes = 0;
	bool equal;

	snprintf(link, sizeof(link), "%s/vmem-v%d/attach_seen", pin_dir, VMEM_VERSION);
	if (unlink(link))
		tap_note("unlink: %s", strerror(errno));
	reopen_vmem(s);
	equal = vmem_test_equal(&s->t, &s->steady, &bytes);
	tap_ok(vmem_origin(s->t.v) == VMEM_REBUILT && equal,
	       "a set with a hook missing is rebuilt and reported (origin %d), count %llu",
	       vmem_origin(s->t.v), (unsigned long long)bytes);
	tap_ok(vmem_remove(s->t.v, s->steady.id, NULL) == 0 &&
		       vmem_remove(s->t.v, s->greedy.id, NULL) == 0,
	       "jobs can be taken out");
	s->t.v = vmem_close(s->t.v);
}

/* A bpf file system of the test's own, so that no other pins are touched. */
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

static void clean_up(void)
{
	struct err err = { "" };

	if (vmem_unpin(pin_dir, &err))
		tap_note("%s", err.text);
	tap_ok(rmdir(pin_dir) == 0, "nothing stays pinned");
	umount(mount_dir);
	rmdir(mount_dir);
}

int main(int argc, char **argv)
{
	static struct scene s;

	s.config.on_excess = on_excess;
	vmem_test_open(&s.t, "vmem-restart", argc, argv, &s.config);
	if (s.t.tier == 3) {
		printf("1..0 # SKIP tier 3 holds nothing while its holder is away\n");
		return 0;
	}
	s.t.v = vmem_close(s.t.v);
	if (mount_bpf() < 0) {
		printf("1..0 # SKIP no bpf file system: %s\n", strerror(errno));
		return 0;
	}
	s.config.pin_dir = pin_dir;
	s.config.first_tier = s.t.tier;
	s.config.scratch_dir = testjob_root("vmem-restart");
	vmem_signal_init(&order);
	vmem_signal_init(&done);
	vmem_signal_init(&s.go);
	vmem_signal_init(&s.held);
	testjob_make(&s.steady, "steady", 1);
	testjob_make(&s.greedy, "greedy", 2);
	s.grower = testjob_run(&s.steady, grow_on_signal, NULL);
	s.hog = testjob_run(&s.greedy, exceed_on_signal, &s.go);
	while_away(&s);
	come_back(&s);
	other_version(&s);
	other_size(&s);
	check_damaged(&s);
	clean_up();
	vmem_test_kill(&s.steady);
	waitpid(s.grower, NULL, 0);
	return tap_done();
}
