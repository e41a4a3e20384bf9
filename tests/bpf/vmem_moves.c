/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_moves.c - a mapping that moves is counted twice by the kernel for a moment, and no thread
 * or process of the job is killed for that.
 *
 * One thread moves a large mapping to and fro; others, and another process of the job, map and
 * unmap a page at a time. The job's limit is far below what it would have with the large mapping
 * counted twice, and above what it ever has. In tier 1 the hazard is the hook behind the release
 * of the mmap lock: `vmtest.sh --kernel-arg preempt=full` interrupts there.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "tests/bpf/vmem_test.h"

#define PAGE 4096UL
#define LARGE (16 * MIB)
#define GROWTH (64 * PAGE) /* by which the large mapping grows in each second move */
#define SLACK MIB
#define UNMAPPERS 2

/* Apart from all else, and a page off the other's 2 MiB: the kernel moves page by page. */
#define HERE ((char *)0x100000000000)
#define THERE ((char *)0x110000001000)

/* Shared with the job. */
struct moves {
	unsigned long n;
	bool begun, ended;
};

static struct moves *moves;
static struct vmem_signal ready;

static bool has_ended(void)
{
	return __atomic_load_n(&moves->ended, __ATOMIC_ACQUIRE);
}

/* Until the limit is set: a job has its threads, with their stacks, before. */
static void wait_for_begin(void)
{
	while (!__atomic_load_n(&moves->begun, __ATOMIC_ACQUIRE))
		poll(NULL, 0, 1);
}

static bool map_page(void)
{
	void *at = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at != MAP_FAILED && munmap(at, PAGE) == 0;
}

static void *unmap_pages(void *ctx)
{
	(void)ctx;
	wait_for_begin();
	while (!has_ended())
		if (!map_page())
			_exit(2);
	return NULL;
}

/* Moves with growth, then back and smaller; each keeps what was written. */
static bool move_large(char **at)
{
	char *to = *at == HERE ? THERE : HERE;
	size_t was = *at == HERE ? LARGE : LARGE + GROWTH;
	size_t is = *at == HERE ? LARGE + GROWTH : LARGE;

	if (mremap(*at, was, is, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		return false;
	*at = to;
	return to[LARGE - 1] == 1;
}

static void *move_to_and_fro(void *ctx)
{
	char *at = HERE;
	unsigned long i;

	(void)ctx;
	wait_for_begin();
	for (i = 0; i < moves->n; i++)
		if (!move_large(&at))
			_exit(3);
	__atomic_store_n(&moves->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Another address space of the same job, which the sum of the job refuses or kills too. */
static pid_t start_neighbour(void)
{
	pid_t pid = fork();

	if (pid == 0)
		unmap_pages(NULL);
	if (pid == 0)
		_exit(0);
	return pid;
}

static int job_main(void *ctx)
{
	pthread_t at[UNMAPPERS + 1];
	int status = 1;
	pid_t pid;
	int i;

	(void)ctx;
	pid = start_neighbour();
	if (pid < 0 || mmap(HERE, LARGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != HERE)
		return 1;
	memset(HERE, 1, LARGE);
	for (i = 0; i <= UNMAPPERS; i++)
		if (pthread_create(&at[i], NULL, i ? unmap_pages : move_to_and_fro, NULL))
			return 1;
	vmem_signal_send(&ready);
	for (i = 0; i <= UNMAPPERS; i++)
		pthread_join(at[i], NULL);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int finish_moves(struct vmem_test *t, pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd p = { .fd = vmem_fd(t->v), .events = POLLIN };

		if (poll(&p, 1, 10) > 0)
			vmem_dispatch(t->v, NULL);
	}
	return status;
}

static void case_moves(struct vmem_test *t, struct testjob *j)
{
	struct vmem_request count_only = { 0 };
	struct vmem_usage use = { 0 };
	uint64_t start, bytes = 0;
	int status;
	pid_t pid;

	vmem_test_job(t, j, "moves", &count_only);
	pid = testjob_run(j, job_main, NULL);
	vmem_signal_wait(&ready);
	start = vmem_test_now(t, j);
	vmem_set_limit(t->v, j->id, start + GROWTH + SLACK, NULL);
	__atomic_store_n(&moves->begun, true, __ATOMIC_RELEASE);
	status = finish_moves(t, pid);
	vmem_read(t->v, j->id, &use, NULL);
	tap_ok(status == 0 && !use.is_exceeded && use.n_refused == 0,
	       "%lu moves of %llu MiB beside threads and a process that unmap: none is killed",
	       moves->n, LARGE / MIB);
	if (status != 0 || use.is_exceeded)
		tap_note("wait status %x, refused %llu, peak %llu bytes of %llu",
			 (unsigned)status, (unsigned long long)use.n_refused,
			 (unsigned long long)use.peak_bytes,
			 (unsigned long long)use.limit_bytes);
	tap_ok(use.peak_bytes <= start + GROWTH + SLACK,
	       "the peak counts no page twice: %llu KiB",
	       (unsigned long long)use.peak_bytes / 1024);
	tap_ok(vmem_test_equal(t, j, &bytes) && bytes == 0,
	       "ended: nothing is left of the count");
	vmem_test_drop(t, j);
}

/* What the agent does: the signal has reached one process only. */
static void on_excess(void *ctx, const struct vmem_excess *x)
{
	vmem_test_kill(ctx);
	tap_note("excess: %s of %llu bytes reached %llu", x->operation,
		 (unsigned long long)x->requested_bytes, (unsigned long long)x->reached_bytes);
}

int main(int argc, char **argv)
{
	struct vmem_test t = { .ops = 100000, .seed = 1 };
	struct testjob j = { .path = "" };
	struct vmem_config config = { .on_excess = on_excess, .ctx = &j };

	moves = testjob_shared(sizeof(*moves));
	vmem_test_open(&t, "vmem-moves", argc, argv, &config);
	moves->n = t.ops / 20;
	vmem_signal_init(&ready);
	case_moves(&t, &j);
	vmem_close(t.v);
	return tap_done();
}
