/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_storm.c - the count stays exact whatever the processes of a job do to their memory.
 *
 * Eight workers do random operations in rounds; between rounds all pause and the count
 * must equal the audit to the byte, and the plain sum of statm, which is right as long as
 * no process shares an address space or has lost its main thread. Then the cases in which it is
 * wrong.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include "common/cleanup.h"
#include "tests/bpf/vmem_test.h"

#define WORKERS 8
#define ROUNDS 20
#define REGIONS 64
#define KEPT 3
#define PAGE 4096UL
#define MAX_PAGES 256

struct region {
	char *at;
	size_t bytes;
};

struct worker {
	unsigned int seed;
	struct region regions[REGIONS];
	pid_t kept[KEPT];
	char *brk_base;
	size_t brk_pages;
	int file;
};

static unsigned int draw_number(struct worker *w, unsigned int n)
{
	return (unsigned int)rand_r(&w->seed) % n;
}

static struct region *any_region(struct worker *w)
{
	return &w->regions[draw_number(w, REGIONS)];
}

static void op_mmap(struct worker *w)
{
	static const int flags[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, MAP_PRIVATE };
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	unsigned int kind = draw_number(w, ARRAY_LEN(flags));
	struct region *r = any_region(w);

	if (r->at)
		munmap(r->at, r->bytes);
	r->bytes = (1 + draw_number(w, MAX_PAGES)) * PAGE;
	r->at = mmap(NULL, r->bytes, prots[draw_number(w, 3)], flags[kind],
		     kind == 3 ? w->file : -1, 0);
	if (r->at == MAP_FAILED)
		r->at = NULL;
}

/* Over the middle of what is there, and past its end. */
static void op_mmap_fixed(struct worker *w)
{
	struct region *r = any_region(w);
	size_t pages = r->bytes / PAGE, from;

	if (!r->at || pages < 4)
		return;
	from = 1 + draw_number(w, (unsigned int)pages - 2);
	mmap(r->at + from * PAGE, PAGE * (pages - from), PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void op_munmap(struct worker *w)
{
	struct region *r = any_region(w);
	size_t half = r->bytes / PAGE / 2 * PAGE;

	if (!r->at)
		return;
	if (half && draw_number(w, 2)) {
		munmap(r->at + half, r->bytes - half);
		r->bytes = half;
		return;
	}
	munmap(r->at, r->bytes);
	r->at = NULL;
}

/* Of one mapping's own first page on, so that it can move; whatever it returns is tracked. */
static void op_mremap(struct worker *w)
{
	struct region *r = any_region(w);
	size_t bytes = (1 + draw_number(w, MAX_PAGES)) * PAGE;
	char *at;

	if (!r->at)
		return;
	at = mremap(r->at, r->bytes, bytes, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return;
	r->at = at;
	r->bytes = bytes;
}

static void op_mprotect(struct worker *w)
{
	struct region *r = any_region(w);

	if (r->at)
		mprotect(r->at, PAGE, draw_number(w, 2) ? PROT_NONE : PROT_READ | PROT_WRITE);
}

static void op_shm(struct worker *w)
{
	int id = shmget(IPC_PRIVATE, (1 + draw_number(w, MAX_PAGES)) * PAGE, IPC_CREAT | 0600);
	char *at, *again;

	if (id < 0)
		return;
	at = shmat(id, NULL, 0);
	again = shmat(id, NULL, SHM_RDONLY);
	shmctl(id, IPC_RMID, NULL);
	if (at != (char *)-1)
		shmdt(at);
	if (again != (char *)-1)
		shmdt(again);
}

static void op_brk(struct worker *w)
{
	size_t pages = draw_number(w, MAX_PAGES);

	if (!w->brk_base)
		w->brk_base = (char *)syscall(SYS_brk, 0);
	if ((char *)syscall(SYS_brk, w->brk_base + pages * PAGE) == w->brk_base + pages * PAGE)
		w->brk_pages = pages;
}

static void op_touch(struct worker *w)
{
	struct region *r = any_region(w);

	if (r->at)
		madvise(r->at, r->bytes, draw_number(w, 2) ? MADV_WILLNEED : MADV_DONTNEED);
}

static void op_fork_exit(struct worker *w)
{
	pid_t pid = fork();
	int i;

	if (pid == 0) {
		for (i = 0; i < 5; i++) {
			op_mmap(w);
			op_mremap(w);
			op_munmap(w);
		}
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* A child that stays over the quiet point; its predecessor is killed. */
static void op_fork_keep(struct worker *w)
{
	pid_t *slot = &w->kept[draw_number(w, KEPT)];

	if (*slot > 0) {
		kill(*slot, SIGKILL);
		waitpid(*slot, NULL, 0);
	}
	*slot = fork();
	while (*slot == 0)
		pause();
}

static void op_vfork_exec(struct worker *w)
{
	static char *const argv[] = { (char *)"vmem_storm", (char *)"--leave", NULL };
	pid_t pid;

	(void)w;
	pid = vfork();
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void op_fork_exec(struct worker *w)
{
	static char *const argv[] = { (char *)"vmem_storm", (char *)"--leave", NULL };
	pid_t pid = fork();

	(void)w;
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void *thread_main(void *ctx)
{
	unsigned int seed = *(unsigned int *)ctx;
	size_t bytes;
	char *at;
	int i;

	for (i = 0; i < 4; i++) {
		bytes = (1 + (size_t)rand_r(&seed) % MAX_PAGES) * PAGE;
		at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at != MAP_FAILED)
			munmap(at, bytes);
	}
	return NULL;
}

static void op_threads(struct worker *w)
{
	unsigned int seeds[3];
	pthread_t threads[3];
	int i, n = 0;

	for (i = 0; i < 3; i++) {
		seeds[i] = (unsigned int)rand_r(&w->seed);
		if (pthread_create(&threads[n], NULL, thread_main, &seeds[i]) == 0)
			n++;
	}
	while (n-- > 0)
		pthread_join(threads[n], NULL);
}

__attribute__((noinline)) static void use_stack(unsigned int pages)
{
	volatile char here[4096];

	here[0] = (char)pages;
	if (pages)
		use_stack(pages - 1);
	here[1] = here[0];
}

static void op_stack(struct worker *w)
{
	use_stack(draw_number(w, 200));
}

static const struct {
	unsigned int weight;
	void (*fn)(struct worker *w);
} ops[] = {
	{ 28, op_mmap },     { 6, op_mmap_fixed }, { 16, op_munmap },	{ 14, op_mremap },
	{ 8, op_mprotect },  { 10, op_brk },	   { 6, op_touch },	{ 2, op_fork_exit },
	{ 1, op_fork_keep }, { 1, op_vfork_exec }, { 1, op_fork_exec }, { 2, op_threads },
	{ 3, op_stack },     { 2, op_shm },
};

static void op_any(struct worker *w)
{
	unsigned int at = draw_number(w, 100);
	size_t i;

	for (i = 0; i < ARRAY_LEN(ops) - 1 && at >= ops[i].weight; i++)
		at -= ops[i].weight;
	ops[i].fn(w);
}

struct crew {
	unsigned int seed;
	unsigned long per_round;
	struct vmem_signal go, done;
};

static int worker_main(void *ctx)
{
	static struct worker w;
	struct crew *crew = ctx;
	unsigned long i;

	w.seed = crew->seed ^ ((unsigned int)getpid() * 2654435761u);
	w.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	while (vmem_signal_wait(&crew->go)) {
		for (i = 0; i < crew->per_round; i++)
			op_any(&w);
		vmem_signal_send(&crew->done);
		/* `go` is one pipe for all: do not take a neighbour's token. */
		raise(SIGSTOP);
	}
	return 0;
}

static void round_play(struct crew *crew, pid_t *pids)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		vmem_signal_send(&crew->go);
	for (i = 0; i < WORKERS; i++)
		kill(pids[i], SIGCONT);
	for (i = 0; i < WORKERS; i++)
		vmem_signal_wait(&crew->done);
	for (i = 0; i < WORKERS; i++)
		waitpid(pids[i], NULL, WUNTRACED);
}

static void run_storm(struct vmem_test *t)
{
	struct crew crew = { .seed = t->seed, .per_round = t->ops / ROUNDS / WORKERS };
	struct vmem_request count_only = { 0 };
	pid_t pids[WORKERS];
	struct testjob j;
	uint64_t bytes = 0;
	bool equal, same;
	int i;

	vmem_test_job(t, &j, "storm", &count_only);
	vmem_signal_init(&crew.go);
	vmem_signal_init(&crew.done);
	for (i = 0; i < WORKERS; i++)
		pids[i] = testjob_run(&j, worker_main, &crew);
	for (i = 0; i < ROUNDS; i++) {
		round_play(&crew, pids);
		equal = vmem_test_equal(t, &j, &bytes);
		same = vmem_test_statm(&j) == bytes;
		tap_ok(equal && same, "after %lu operations: %llu bytes, audit %s, statm %s",
		       (unsigned long)(i + 1) * crew.per_round * WORKERS,
		       (unsigned long long)bytes, equal ? "equal" : "DIFFERS",
		       same ? "equal" : "DIFFERS");
	}
	vmem_test_kill(&j);
	for (i = 0; i < WORKERS; i++)
		waitpid(pids[i], NULL, 0);
	equal = vmem_test_equal(t, &j, &bytes);
	tap_ok(equal && bytes == 0, "all killed: nothing is left of the count");
	vmem_test_drop(t, &j);
}

/* The cases where /proc is wrong. */

static struct vmem_signal ready;

static void *map_and_stay(void *ctx)
{
	(void)ctx;
	if (mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		_exit(1);
	vmem_signal_send(&ready);
	for (;;)
		pause();
	return NULL;
}

static int leader_leaves(void *ctx)
{
	pthread_t thread;

	(void)ctx;
	pthread_create(&thread, NULL, map_and_stay, NULL);
	syscall(SYS_exit, 0); /* this thread only */
	return 1;
}

static bool is_zombie(pid_t pid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'Z';
}

static void case_leader_gone(struct vmem_test *t)
{
	struct vmem_request count_only = { 0 };
	struct testjob j;
	uint64_t bytes = 0;
	bool equal;
	pid_t pid;

	vmem_test_job(t, &j, "leader", &count_only);
	pid = testjob_run(&j, leader_leaves, NULL);
	vmem_signal_wait(&ready);
	while (!is_zombie(pid))
		sched_yield();
	equal = vmem_test_equal(t, &j, &bytes);
	tap_ok(equal && bytes >= 64 * MIB && vmem_test_statm(&j) == 0,
	       "main thread exited: %llu bytes are counted where statm says %llu",
	       (unsigned long long)bytes, (unsigned long long)vmem_test_statm(&j));
	vmem_test_drop(t, &j);
	waitpid(pid, NULL, 0);
}

static int stay_alive(void *ctx)
{
	(void)ctx;
	vmem_signal_send(&ready);
	for (;;)
		pause();
	return 0;
}

static int pair_main(void *ctx)
{
	char *stack =
		mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx;
	mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (clone(stay_alive, stack + MIB, CLONE_VM | SIGCHLD, NULL) < 0)
		return 1;
	for (;;)
		pause();
	return 0;
}

static void case_clone_vm(struct vmem_test *t)
{
	struct vmem_request count_only = { 0 };
	struct testjob j;
	uint64_t bytes = 0;
	bool equal;
	pid_t pid;

	vmem_test_job(t, &j, "pair", &count_only);
	pid = testjob_run(&j, pair_main, NULL);
	vmem_signal_wait(&ready);
	equal = vmem_test_equal(t, &j, &bytes);
	tap_ok(equal && vmem_test_statm(&j) == 2 * bytes,
	       "CLONE_VM pair: %llu bytes are counted once, statm counts them twice",
	       (unsigned long long)bytes);
	vmem_test_drop(t, &j);
	waitpid(pid, NULL, 0);
}

/* Coming and going between cgroups. */

static int map_some(void *ctx)
{
	mmap(NULL, 32 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return stay_alive(ctx);
}

static void case_move(struct vmem_test *t)
{
	struct vmem_request count_only = { 0 };
	struct testjob a, b;
	uint64_t in_a = 0, in_b = 0, before;
	char text[16];
	pid_t pid;
	bool good;

	vmem_test_job(t, &a, "from", &count_only);
	vmem_test_job(t, &b, "to", &count_only);
	pid = testjob_run(&a, map_some, NULL);
	vmem_signal_wait(&ready);
	before = vmem_test_now(t, &a);
	snprintf(text, sizeof(text), "%d", (int)pid);
	testjob_write(&b, "cgroup.procs", text);
	good = vmem_test_equal(t, &a, &in_a) & vmem_test_equal(t, &b, &in_b);
	tap_ok(good && in_a == 0 && in_b == before && before >= 32 * MIB,
	       "moved to another job: the charge of %llu bytes moves along",
	       (unsigned long long)before);
	vmem_test_drop(t, &a);
	vmem_test_drop(t, &b);
	waitpid(pid, NULL, 0);
}

static void case_insiders(struct vmem_test *t)
{
	struct vmem_request r = { 0 };
	struct err err = { "" };
	struct testjob j;
	uint64_t bytes = 0, again = 0;
	pid_t pids[2];
	bool good;

	testjob_make(&j, "insiders", 90);
	pids[0] = testjob_run(&j, map_some, NULL);
	pids[1] = testjob_run(&j, leader_leaves, NULL);
	vmem_signal_wait(&ready);
	vmem_signal_wait(&ready);
	while (!is_zombie(pids[1]))
		sched_yield();
	r.job_id = 90;
	r.cgroup_id = j.id;
	r.cgroup_fd = open(j.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	good = vmem_add(t->v, &r, &err) == 0 && vmem_test_equal(t, &j, &bytes);
	tap_ok(good && bytes >= 96 * MIB, "processes already inside are counted: %llu bytes %s",
	       (unsigned long long)bytes, err.text);
	vmem_remove(t->v, j.id, NULL);
	good = vmem_add(t->v, &r, &err) == 0 && vmem_test_equal(t, &j, &again);
	tap_ok(good && again == bytes, "taken out and entered again alive: the same %llu bytes",
	       (unsigned long long)again);
	close(r.cgroup_fd);
	vmem_test_drop(t, &j);
	waitpid(pids[0], NULL, 0);
	waitpid(pids[1], NULL, 0);
}

static void case_clone_into(struct vmem_test *t)
{
	struct vmem_request count_only = { 0 };
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	struct testjob j;
	uint64_t bytes = 0;
	bool equal;
	pid_t pid;
	int fd;

	vmem_test_job(t, &j, "into", &count_only);
	fd = open(j.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	args.cgroup = (uint64_t)fd;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(stay_alive(NULL));
	vmem_signal_wait(&ready);
	equal = vmem_test_equal(t, &j, &bytes);
	tap_ok(pid > 0 && equal && bytes > 0 && bytes == vmem_test_statm(&j),
	       "born into the job by a parent outside (CLONE_INTO_CGROUP): %llu bytes",
	       (unsigned long long)bytes);
	close(fd);
	vmem_test_drop(t, &j);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct vmem_test t = { .ops = 100000, .seed = (unsigned int)getpid() };
	struct vmem_config config = { 0 };

	if (argc == 2 && !strcmp(argv[1], "--leave")) /* what a worker executes */
		return 0;
	vmem_test_open(&t, "vmem-storm", argc, argv, &config);
	tap_note("--seed %u --ops %lu", t.seed, t.ops);
	vmem_signal_init(&ready);
	run_storm(&t);
	case_leader_gone(&t);
	case_clone_vm(&t);
	case_move(&t);
	case_insiders(&t);
	case_clone_into(&t);
	vmem_close(t.v);
	return tap_done();
}
