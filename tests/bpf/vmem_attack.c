/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_attack.c - what a job can do to pass its limit, and how far it gets.
 *
 * Each attack runs in a job of its own until it is refused or dead. It writes down, in memory
 * that the test shares, every byte it has touched of what it was granted; touched bytes beyond
 * the limit are the overshoot. A neighbour job computes all the while and must not notice.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "tests/bpf/vmem_test.h"

#define KIB 1024UL
#define ROOM (192 * MIB) /* what an attacker may map above what it starts with */
#define TOO_MANY 4096

/* Shared with every attacker by fork. */
struct board {
	uint64_t touched; /* bytes, of mappings granted after the start */
	uint64_t refused; /* calls that failed */
	uint64_t heartbeats;
	uint64_t hosts; /* processes begun */
};

static struct board *board;
static struct vmem_signal go;

static void touch_pages(char *at, size_t bytes, bool writable)
{
	size_t i;

	if (!writable) {
		__atomic_add_fetch(&board->touched, bytes, __ATOMIC_RELAXED);
		return; /* PROT_NONE: granted is as good as used */
	}
	for (i = 0; i < bytes; i += 4096) {
		((volatile char *)at)[i] = 1;
		__atomic_add_fetch(&board->touched, 4096, __ATOMIC_RELAXED);
	}
}

static void was_refused(void)
{
	__atomic_add_fetch(&board->refused, 1, __ATOMIC_RELAXED);
}

/* What an ended process had touched is no longer used. */
static void leave_board(uint64_t bytes)
{
	__atomic_sub_fetch(&board->touched, bytes, __ATOMIC_RELAXED);
}

/* Map `bytes` at a time until refused. Physical memory is given back at once. */
static uint64_t map_until_refused(size_t bytes, int prot, int flags)
{
	bool writable = prot & PROT_WRITE;
	uint64_t granted = 0;
	char *at;

	for (;;) {
		at = mmap(NULL, bytes, prot, flags | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			break;
		touch_pages(at, bytes, writable);
		if (writable && !(flags & MAP_SHARED))
			madvise(at, bytes, MADV_DONTNEED);
		granted += bytes;
	}
	was_refused();
	return granted;
}

static int mmap_4k(void)
{
	map_until_refused(4 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	return 0;
}

static int mmap_1m(void)
{
	map_until_refused(MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	return 0;
}

static int mmap_64m(void)
{
	map_until_refused(64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	return 0;
}

static int prot_none(void)
{
	map_until_refused(16 * MIB, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
	return 0;
}

static int map_shared(void)
{
	map_until_refused(MIB, PROT_READ | PROT_WRITE, MAP_SHARED);
	return 0;
}

static int sysv_shared(void)
{
	int id = shmget(IPC_PRIVATE, 16 * MIB, IPC_CREAT | 0600);
	char *at;

	if (id < 0)
		return 1;
	do {
		at = shmat(id, NULL, 0);
		if (at != (char *)-1)
			touch_pages(at, 16 * MIB, false);
		shmctl(id, IPC_RMID, NULL);
	} while (at != (char *)-1);
	was_refused();
	return 0;
}

static int grow_brk(void)
{
	char *at = (char *)syscall(SYS_brk, 0);

	for (;;) {
		if ((char *)syscall(SYS_brk, at + MIB) != at + MIB)
			break;
		touch_pages(at, MIB, true);
		madvise(at, MIB, MADV_DONTNEED);
		at += MIB;
	}
	was_refused();
	return 0;
}

static int grow_mremap(void)
{
	size_t bytes = MIB;
	char *at =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *to;

	for (;;) {
		to = mremap(at, bytes, bytes + MIB, MREMAP_MAYMOVE);
		if (to == MAP_FAILED)
			break;
		touch_pages(to + bytes, MIB, true);
		madvise(to, bytes, MADV_DONTNEED);
		at = to;
		bytes += MIB;
	}
	was_refused();
	return 0;
}

__attribute__((noinline)) static void dig_stack(uint64_t pages)
{
	volatile char here[8192];

	here[0] = here[4096] = 1;
	__atomic_add_fetch(&board->touched, sizeof(here), __ATOMIC_RELAXED);
	if (pages)
		dig_stack(pages - 2);
	here[1] = here[0];
}

/* SIGSEGV is the refusal; the test sees the signal. */
static int grow_stack(void)
{
	dig_stack(ROOM / 4096 * 4);
	return 1;
}

static int run_processes(void)
{
	int i;

	for (i = 0; i < 8; i++) {
		if (fork() == 0) {
			leave_board(
				map_until_refused(MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE));
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static void *thread_hog(void *ctx)
{
	(void)ctx;
	mmap_1m();
	return NULL;
}

static int run_threads(void)
{
	pthread_t at[8];
	int i, n = 0;

	for (i = 0; i < 8; i++)
		n += pthread_create(&at[n], NULL, thread_hog, NULL) == 0;
	while (n-- > 0)
		pthread_join(at[n], NULL);
	return 0;
}

static uint64_t own_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * 4096;
}

/* Every child is a whole address space: used when its first instruction runs. */
static int fork_bomb(void)
{
	uint64_t own = own_bytes();
	pid_t pid;

	while (__atomic_add_fetch(&board->hosts, 1, __ATOMIC_RELAXED) < TOO_MANY) {
		pid = fork();
		if (pid < 0)
			break;
		if (pid == 0)
			__atomic_add_fetch(&board->touched, own, __ATOMIC_RELAXED);
	}
	was_refused();
	for (;;)
		pause();
	return 0;
}

/* Map a little more in each new program image; the image before is gone each time. */
static int exec_loop(void)
{
	static char text[32];
	char *argv[] = { (char *)"vmem_attack", (char *)"--again", text, NULL };

	snprintf(text, sizeof(text), "%d", 1);
	execv("/proc/self/exe", argv);
	return 1;
}

static int exec_again(const char *times)
{
	unsigned long n = strtoul(times, NULL, 10);
	char text[32];
	char *argv[] = { (char *)"vmem_attack", (char *)"--again", text, NULL };

	if (mmap(NULL, n * 8 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		return 77;
	snprintf(text, sizeof(text), "%lu", n + 1);
	execv("/proc/self/exe", argv);
	return 1;
}

/* The holes: growth that no check announces. */
static int fixed_growth(void)
{
	char *base = (char *)0x100000000000;
	size_t at = 0;

	for (;;) {
		if (mmap(base + at, 16 * MIB, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
			 0) == MAP_FAILED)
			break;
		touch_pages(base + at, 16 * MIB, false);
		at += 16 * MIB;
	}
	was_refused();
	return 0;
}

static int unaccounted_mremap(void)
{
	size_t bytes = 4096;
	char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (;;) {
		at = mremap(at, bytes, bytes + 16 * MIB, MREMAP_MAYMOVE);
		if (at == MAP_FAILED)
			break;
		touch_pages(at, 16 * MIB, false);
		bytes += 16 * MIB;
	}
	was_refused();
	return 0;
}

/* Never grows anything, but takes the mmap lock again and again, for a short time: it waits
 * spinning and has the lock the moment that another thread lets go of it. */
#define LOCK_STACK MIB

static void *lock_holder(void *ctx)
{
	char *at = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx;
	if (at == MAP_FAILED)
		return NULL;
	touch_pages(at, 3 * 4096 + LOCK_STACK, false);
	__atomic_add_fetch(&board->hosts, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0;; i++)
		mprotect(at + 4096, 4096, i & 1 ? PROT_READ : PROT_NONE);
	return NULL;
}

#define LOCK_HOLDERS 3
#define RACES 8 /* who wins is chance */

/* In the midst of another thread's change a sum that is too large could be a passing one. */
static int mremap_beside(void)
{
	pthread_attr_t attr;
	pthread_t at;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, LOCK_STACK);
	for (int i = 0; i < LOCK_HOLDERS; i++)
		if (pthread_create(&at, &attr, lock_holder, NULL))
			return 1;
	while (__atomic_load_n(&board->hosts, __ATOMIC_ACQUIRE) < LOCK_HOLDERS)
		poll(NULL, 0, 1);
	return unaccounted_mremap();
}

enum outcome { REFUSABLE, HOLE };

static const struct attack {
	const char *name;
	int (*run)(void);
	enum outcome deny; /* HOLE: VMEM_DENY too can only kill */
} attacks[] = {
	{ "mmap of 4 KiB", mmap_4k, REFUSABLE },
	{ "mmap of 1 MiB", mmap_1m, REFUSABLE },
	{ "mmap of 64 MiB", mmap_64m, REFUSABLE },
	{ "PROT_NONE reservations", prot_none, REFUSABLE },
	{ "brk", grow_brk, REFUSABLE },
	{ "stack growth", grow_stack, REFUSABLE },
	{ "8 processes", run_processes, REFUSABLE },
	{ "8 threads", run_threads, REFUSABLE },
	{ "fork bomb", fork_bomb, REFUSABLE },
	{ "mremap", grow_mremap, REFUSABLE },
	{ "shared mappings", map_shared, REFUSABLE },
	{ "System V shared memory", sysv_shared, HOLE },
	{ "exec in a loop", exec_loop, REFUSABLE },
	{ "MAP_FIXED growth", fixed_growth, HOLE },
	{ "mremap of unaccounted memory", unaccounted_mremap, HOLE },
	{ "the same beside threads that hold the mmap lock", mremap_beside, HOLE },
};

struct result {
	struct vmem_excess x;
	struct vmem_process top[4];
	size_t n_processes;
	uint64_t dead_ns, limit, start;
	int n_events, status;
	const struct testjob *job;
	struct vmem *v;
};

static struct result result;

/* What the agent does: kill first, then make the table. */
static void on_excess(void *ctx, const struct vmem_excess *x)
{
	struct vmem_test *t = ctx;

	result.n_events++;
	result.x = *x;
	if (x->job_id != (uint64_t)result.job->job)
		return;
	if (result.x.is_killed || !x->is_refused)
		vmem_test_kill(result.job);
	vmem_processes(t->v, x->cgroup_id, result.top, ARRAY_LEN(result.top),
		       &result.n_processes);
}

static int attacker_main(void *ctx)
{
	const struct attack *a = ctx;
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_STACK, &none);
	if (!vmem_signal_wait(&go))
		return 1;
	return a->run();
}

static int neighbour_main(void *ctx)
{
	(void)ctx;
	for (;;) {
		void *at = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED || munmap(at, MIB))
			return 1;
		__atomic_add_fetch(&board->heartbeats, 1, __ATOMIC_RELAXED);
		poll(NULL, 0, 1);
	}
	return 0;
}

/* Serve events until the attacker has ended, at most twenty seconds. */
static bool serve_events(struct vmem_test *t, pid_t pid)
{
	uint64_t end = testjob_now_ns() + 20000000000u;

	while (testjob_now_ns() < end) {
		struct pollfd p = { .fd = vmem_fd(t->v), .events = POLLIN };

		if (poll(&p, 1, 2) > 0)
			vmem_dispatch(t->v, NULL);
		if (waitpid(pid, &result.status, WNOHANG) == pid)
			return true;
	}
	return false;
}

static bool play_attack(struct vmem_test *t, const struct attack *a, enum vmem_action action)
{
	static char name[64];
	static int n;
	struct vmem_request r = { .action = action };
	static struct testjob j;
	bool ended;
	pid_t pid;

	memset(&result, 0, sizeof(result));
	memset(board, 0, sizeof(*board));
	snprintf(name, sizeof(name), "attack-%d", n++);
	vmem_test_job(t, &j, name, &r);
	result.job = &j;
	pid = testjob_run(&j, attacker_main, (void *)(uintptr_t)a);
	while (testjob_number(&j, "cgroup.events", "populated") <= 0)
		poll(NULL, 0, 1);
	result.start = vmem_test_now(t, &j);
	result.limit = result.start + ROOM;
	vmem_set_limit(t->v, j.id, result.limit, NULL);
	vmem_signal_send(&go);
	ended = serve_events(t, pid);
	vmem_dispatch(t->v, NULL);
	result.dead_ns = testjob_now_ns();
	if (!ended) {
		vmem_test_kill(&j);
		waitpid(pid, &result.status, 0);
	}
	vmem_test_drop(t, &j);
	return ended;
}

static uint64_t compute_overshoot(void)
{
	return board->touched > ROOM ? board->touched - ROOM : 0;
}

/* Tier 3 promises nothing but that it ends; so does tier 2 about fork on kernels where a
 * newborn cannot be killed before it runs. */
static uint64_t allowed_overshoot(const struct vmem_test *t, const struct attack *a)
{
	bool may_be_born = t->tier == 2 && a->run == fork_bomb &&
			   !strstr(vmem_hooks(t->v), "fork_kill, fork_seen");

	return t->tier == 3 || may_be_born ? UINT64_MAX : 0;
}

static void attack_kill(struct vmem_test *t, const struct attack *a)
{
	bool ended = play_attack(t, a, VMEM_KILL), good;
	double ms = (double)(result.dead_ns - result.x.at_ns) / 1e6;

	good = ended && result.n_events == 1 && result.n_processes > 0 &&
	       result.x.reached_bytes > result.limit &&
	       compute_overshoot() <= allowed_overshoot(t, a);
	tap_ok(good,
	       "kill: %s: %s of %llu KiB, overshoot %llu KiB, dead in %.1f ms, %zu in the "
	       "table, "
	       "largest %s %llu KiB",
	       a->name, result.x.operation ? result.x.operation : "(no event)",
	       (unsigned long long)(result.x.requested_bytes / KIB),
	       (unsigned long long)(compute_overshoot() / KIB), ms, result.n_processes,
	       result.top[0].comm, (unsigned long long)(result.top[0].bytes / KIB));
	if (!good)
		tap_note("ended %d events %d status %x reached %llu limit %llu touched %llu",
			 ended, result.n_events, (unsigned int)result.status,
			 (unsigned long long)result.x.reached_bytes,
			 (unsigned long long)result.limit, (unsigned long long)board->touched);
}

static void attack_deny(struct vmem_test *t, const struct attack *a)
{
	bool ended = play_attack(t, a, VMEM_DENY), good, bomb = a->run == fork_bomb;

	/* A bomb that is refused sits there; an exec without room kills its process by itself.
	 */
	good = result.n_events >= 1 && compute_overshoot() == 0 && (ended || bomb);
	if (a->deny == REFUSABLE)
		good = good && result.x.is_refused && !result.x.is_killed &&
		       (board->refused > 0 || WIFSIGNALED(result.status) ||
			WEXITSTATUS(result.status) == 77);
	tap_ok(good, "deny: %s: %s, overshoot %llu KiB", a->name,
	       result.x.is_refused ? "ENOMEM and the job lives" : "seen after, job killed",
	       (unsigned long long)(compute_overshoot() / KIB));
	if (!good)
		tap_note("ended %d events %d status %x refusals %llu; last: %s of %llu KiB by "
			 "%s, "
			 "reached %llu of %llu KiB, refused %d killed %d",
			 ended, result.n_events, (unsigned int)result.status,
			 (unsigned long long)board->refused, result.x.operation,
			 (unsigned long long)(result.x.requested_bytes / KIB), result.x.comm,
			 (unsigned long long)(result.x.reached_bytes / KIB),
			 (unsigned long long)(result.limit / KIB), result.x.is_refused,
			 result.x.is_killed);
}

int main(int argc, char **argv)
{
	struct vmem_test t = { 0 };
	struct vmem_config config = { .on_excess = on_excess, .ctx = &t, .poll_ms = 100 };
	struct vmem_request roomy = { .limit_bytes = 1024 * MIB };
	struct testjob neighbour;
	pid_t pid;
	size_t i;
	int n;

	if (argc == 3 && !strcmp(argv[1], "--again"))
		return exec_again(argv[2]);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	vmem_test_open(&t, "vmem-attack", argc, argv, &config);
	vmem_signal_init(&go);
	vmem_test_job(&t, &neighbour, "neighbour", &roomy);
	pid = testjob_run(&neighbour, neighbour_main, NULL);
	for (i = 0; i < ARRAY_LEN(attacks); i++)
		for (n = attacks[i].run == mremap_beside ? RACES : 1; n > 0; n--)
			attack_kill(&t, &attacks[i]);
	for (i = 0; i < ARRAY_LEN(attacks) && t.tier == 1; i++)
		attack_deny(&t, &attacks[i]);
	if (t.tier != 1)
		tap_skip("deny", "tier %d cannot refuse: %s", t.tier, vmem_tier_reason(t.v));
	board->heartbeats = 0;
	while (board->heartbeats < 10 && waitpid(pid, NULL, WNOHANG) == 0)
		poll(NULL, 0, 1);
	tap_ok(board->heartbeats >= 10, "the neighbour is unharmed");
	vmem_test_drop(&t, &neighbour);
	waitpid(pid, NULL, 0);
	vmem_close(t.v);
	return tap_done();
}
