/* SPDX-License-Identifier: GPL-2.0-or-later */
/* selftest.c - a child maps, grows, forks and exceeds a limit; after each step the count is
 * compared with the task list. See vmem/selftest.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "agent/enforce/vmem/selftest.h"
#include "common/cleanup.h"

#define MIB (1024UL * 1024)
#define SETTLE_TRIES 50 /* x 1 ms: a process may keep the address space of a dead one open */

/* What the child does between two comparisons. It makes system calls only: the agent that forked
 * it may have held locks of libc. */
struct actor {
	char *map;
	size_t map_bytes;
	char *brk;
	pid_t fork_pid, share_pid;
	char stack[16384] __attribute__((aligned(16)));
};

typedef int (*step_fn)(struct actor *a);

static int do_nothing(struct actor *a)
{
	(void)a;
	return 0;
}

static int do_mmap(struct actor *a)
{
	a->map_bytes = 8 * MIB;
	a->map = mmap(NULL, a->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return a->map == MAP_FAILED ? errno : 0;
}

static int do_brk(struct actor *a)
{
	a->brk = (char *)syscall(SYS_brk, 0);
	return (char *)syscall(SYS_brk, a->brk + 3 * MIB) == a->brk + 3 * MIB ? 0 : ENOMEM;
}

static int do_mremap(struct actor *a)
{
	a->map = mremap(a->map, a->map_bytes, 24 * MIB, MREMAP_MAYMOVE);
	a->map_bytes = 24 * MIB;
	return a->map == MAP_FAILED ? errno : 0;
}

/* Returns 0; the result passes through memory so that the array is not optimised away. */
__attribute__((noinline)) static int do_stack(struct actor *a)
{
	volatile char deep[MIB];

	deep[0] = 1;
	return (a->stack[0] = (char)(deep[0] - 1));
}

/* Ends with its parent at the latest. */
static _Noreturn void sit_still(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static int do_fork(struct actor *a)
{
	a->fork_pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (a->fork_pid == 0)
		sit_still();
	return a->fork_pid < 0 ? errno : 0;
}

static int share_main(void *ctx)
{
	(void)ctx;
	sit_still();
}

static int do_share(struct actor *a)
{
	a->share_pid = clone(share_main, a->stack + sizeof(a->stack), CLONE_VM | SIGCHLD, NULL);
	return a->share_pid < 0 ? errno : 0;
}

static int do_end(struct actor *a)
{
	pid_t pids[] = { a->fork_pid, a->share_pid };
	size_t i;

	for (i = 0; i < ARRAY_LEN(pids); i++)
		if (kill(pids[i], SIGKILL) || waitpid(pids[i], NULL, 0) != pids[i])
			return errno;
	return 0;
}

static int do_shrink(struct actor *a)
{
	if (munmap(a->map, a->map_bytes))
		return errno;
	return (char *)syscall(SYS_brk, a->brk) == a->brk ? 0 : EIO;
}

static int do_too_much(struct actor *a)
{
	a->map = mmap(NULL, 16 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return a->map == MAP_FAILED ? errno : 0;
}

static const struct {
	const char *name;
	step_fn fn;
} steps[] = {
	{ "start", do_nothing },
	{ "mmap", do_mmap },
	{ "brk", do_brk },
	{ "mremap", do_mremap },
	{ "stack growth", do_stack },
	{ "fork", do_fork },
	{ "clone(CLONE_VM)", do_share },
	{ "exit", do_end },
	{ "munmap and brk back", do_shrink },
	{ "exceeding", do_too_much },
};

#define STEP_EXCEED (ARRAY_LEN(steps) - 1)

struct stage {
	struct vmem *v;
	char path[PATH_MAX];
	int cgroup_fd;
	uint64_t cgroup_id;
	pid_t child;
	int to_child, from_child;
};

/* A copy of the agent that stays root's and within this file: no user may stop it or look into it. It ends with the agent
 * at the latest. */
static void child_main(int procs_fd, int in, int out)
{
	static struct actor actor;
	unsigned char step, result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(procs_fd, "0", 1) != 1)
		_exit(1);
	while (read(in, &step, 1) == 1 && step < ARRAY_LEN(steps)) {
		result = (unsigned char)steps[step].fn(&actor);
		if (write(out, &result, 1) != 1)
			break;
	}
	_exit(0);
}

static int stage_fork(struct stage *s, struct err *err)
{
	_cleanup_close_ int procs = openat(s->cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };

	if (procs < 0)
		return err_set(err, -errno, "open %s/cgroup.procs: %m", s->path);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
		closep(&in[0]);
		closep(&in[1]);
		return err_set(err, -errno, "make pipes: %m");
	}
	s->child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (s->child == 0) {
		close(in[1]);
		close(out[0]);
		child_main(procs, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	s->to_child = in[1];
	s->from_child = out[0];
	return s->child < 0 ? err_set(err, -errno, "fork: %m") : 0;
}

static int stage_open(struct stage *s, const char *dir, struct err *err)
{
	struct vmem_request r = { 0 };
	struct stat st;
	int rc;

	snprintf(s->path, sizeof(s->path), "%s/reeve-vmem-selftest-%d", dir, (int)getpid());
	if (mkdir(s->path, 0755) && errno != EEXIST)
		return err_set(err, -errno, "make scratch cgroup %s: %m", s->path);
	s->cgroup_fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->cgroup_fd < 0 || fstat(s->cgroup_fd, &st))
		return err_set(err, -errno, "open %s: %m", s->path);
	s->cgroup_id = st.st_ino;
	r.cgroup_id = s->cgroup_id;
	r.cgroup_fd = s->cgroup_fd;
	r.action = vmem_tier(s->v) == VMEM_TIER_DENY ? VMEM_DENY : VMEM_KILL;
	rc = vmem_add(s->v, &r, err);
	return rc < 0 ? rc : stage_fork(s, err);
}

/* Whatever stage it got to: kills the child, reaps it, removes job and cgroup. */
static void stage_close(struct stage *s)
{
	_cleanup_close_ int fd = s->cgroup_fd;
	_cleanup_close_ int kill_fd =
		fd < 0 ? -1 : openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	int tries;

	closep(&s->to_child);
	closep(&s->from_child);
	if (kill_fd >= 0 && write(kill_fd, "1", 1) != 1 && s->child > 0)
		kill(s->child, SIGKILL);
	if (s->child > 0)
		waitpid(s->child, NULL, 0);
	vmem_remove(s->v, s->cgroup_id, NULL);
	for (tries = 0; s->path[0] && rmdir(s->path) && errno == EBUSY && tries < SETTLE_TRIES;
	     tries++)
		poll(NULL, 0, 1); /* a cgroup is empty only when its last task is reaped */
}

/* > 0: the child's errno; -ECHILD: it died. */
static int stage_step(struct stage *s, unsigned char step)
{
	unsigned char result;

	if (write(s->to_child, &step, 1) != 1)
		return -ECHILD;
	return read(s->from_child, &result, 1) == 1 ? result : -ECHILD;
}

/* Repeated for a while: another process that reads /proc/PID may keep an address space alive for
 * a moment after its process has ended. */
static int stage_compare(struct stage *s, const char *after, struct err *err)
{
	struct vmem_usage use = { 0 };
	uint64_t truth = 0;
	uint32_t n = 0;
	int rc, tries;

	for (tries = 0; tries < SETTLE_TRIES; tries++) {
		rc = vmem_audit(s->v, s->cgroup_id, &truth, &n, err);
		if (rc == 0)
			rc = vmem_read(s->v, s->cgroup_id, &use, err);
		if (rc < 0)
			return rc;
		if (use.now_bytes == truth && use.n_processes == n && n > 0)
			return 0;
		poll(NULL, 0, 1);
	}
	return err_set(err, -EPROTO,
		       "self-test: after %s the count is %llu bytes in %u address "
		       "spaces, the task list says %llu in %u",
		       after, (unsigned long long)use.now_bytes, use.n_processes,
		       (unsigned long long)truth, n);
}

static int stage_exceed(struct stage *s, struct err *err)
{
	struct vmem_usage use;
	int rc, got;

	rc = vmem_read(s->v, s->cgroup_id, &use, err);
	if (rc == 0)
		rc = vmem_set_limit(s->v, s->cgroup_id, use.now_bytes + MIB, err);
	if (rc < 0)
		return rc;
	got = stage_step(s, STEP_EXCEED);
	if (vmem_tier(s->v) == VMEM_TIER_DENY && got != ENOMEM)
		return err_set(err, -EPROTO, "self-test: 16 MiB above the limit: %s",
			       got == 0	 ? "granted"
			       : got > 0 ? strerror(got)
					 : "the caller died instead of ENOMEM");
	if (vmem_tier(s->v) == VMEM_TIER_SIGNAL && got != -ECHILD)
		return err_set(err, -EPROTO, "self-test: the caller outlived its limit");
	return 0;
}

static int stage_play(struct stage *s, struct err *err)
{
	size_t i;
	int rc;

	for (i = 0; i < STEP_EXCEED; i++) {
		rc = stage_step(s, (unsigned char)i);
		if (rc != 0)
			return err_set(err, rc < 0 ? rc : -rc, "self-test: %s: %s",
				       steps[i].name, rc < 0 ? "the child died" : strerror(rc));
		rc = stage_compare(s, steps[i].name, err);
		if (rc < 0)
			return rc;
	}
	return stage_exceed(s, err);
}

int vmem_selftest(struct vmem *v, const char *scratch_dir, struct err *err)
{
	struct stage s = { .v = v, .cgroup_fd = -1, .to_child = -1, .from_child = -1 };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int rc;

	sigaction(SIGPIPE, &ignore, &before); /* the child may be killed before a write to it */
	rc = stage_open(&s, scratch_dir, err);
	if (rc == 0)
		rc = stage_play(&s, err);
	stage_close(&s);
	sigaction(SIGPIPE, &before, NULL);
	return rc;
}
