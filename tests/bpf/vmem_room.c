/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_room.c - more address spaces than the table of them has room for: a fork is refused or
 * the job is killed, and none is ever left uncounted. The table here is made for 64 processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/bpf/vmem_test.h"

#define PROCESSES 64
#define MANY 400	 /* children that a storm asks for */
#define JOB_PROCESSES 16 /* bound of a job that states one */
#define JOB_SPACES 19	 /* 16 + 16 / 8 + 1 */

struct board {
	uint32_t born, refused;
	int error;
	bool is_done;
};

static struct board *board; /* shared with every child */
static struct vmem_excess told;
static int n_told;
static const struct testjob *told_job;

/* What the agent does. */
static void on_excess(void *ctx, const struct vmem_excess *x)
{
	(void)ctx;
	told = *x;
	n_told++;
	if (told_job && x->job_id == (uint64_t)told_job->job)
		vmem_test_kill(told_job);
}

static void try_child(void (*run)(void))
{
	pid_t pid = run ? vfork() : fork();

	if (pid == 0 && run)
		run();
	while (pid == 0)
		pause();
	if (pid > 0)
		__atomic_add_fetch(&board->born, 1, __ATOMIC_RELAXED);
	else
		board->error = errno;
	if (pid < 0)
		__atomic_add_fetch(&board->refused, 1, __ATOMIC_RELAXED);
}

static int fork_storm(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < MANY && !board->refused; i++)
		try_child(NULL);
	board->is_done = true;
	for (;;)
		pause();
	return 0;
}

static void run_again(void)
{
	static char name[] = "vmem_room", stay[] = "--stay";
	char *argv[] = { name, stay, NULL };

	execv("/proc/self/exe", argv);
	_exit(1);
}

/* posix_spawn() and system() do so: no hook sees the fork, the new address space comes with exec. */
static int exec_storm(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < MANY && !board->refused; i++)
		try_child(run_again);
	board->is_done = true;
	for (;;)
		pause();
	return 0;
}

static bool one_child(bool is_vfork, bool does_exec)
{
	pid_t pid = is_vfork ? vfork() : fork();
	int status;

	if (pid == 0 && does_exec)
		execl("/proc/self/exe", "vmem_room", "--end", NULL);
	if (pid == 0)
		_exit(0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int fork_and_end(void *ctx)
{
	bool good = true;

	(void)ctx;
	for (int i = 0; good && i < 20 * PROCESSES; i++)
		good = one_child(i & 1, i % 3 == 0);
	return !good;
}

/* Serve events until the storm is over: it is done, or the job dead. True: dead. */
static bool serve_until_exit(struct vmem_test *t, pid_t pid)
{
	uint64_t end = testjob_now_ns() + 20000000000U;
	int status;

	while (testjob_now_ns() < end) {
		struct pollfd p = { .fd = vmem_fd(t->v), .events = POLLIN };

		if (poll(&p, 1, 2) > 0)
			vmem_dispatch(t->v, NULL);
		if (waitpid(pid, &status, WNOHANG) == pid)
			return true;
		if (board->is_done && t->tier < 3)
			return false;
	}
	return false;
}

struct outcome {
	bool is_dead;
	uint64_t counted, there;
	uint32_t n_there;
	struct vmem_usage use;
	uint32_t born, refused;
};

static struct outcome run_storm(struct vmem_test *t, const struct testjob *j,
				int (*main)(void *))
{
	struct outcome o = { 0 };
	pid_t pid;

	memset(board, 0, sizeof(*board));
	n_told = 0;
	told_job = j;
	pid = testjob_run(j, main, NULL);
	o.is_dead = serve_until_exit(t, pid);
	poll(NULL, 0, 50); /* the last that were born */
	vmem_dispatch(t->v, NULL);
	vmem_read(t->v, j->id, &o.use, NULL);
	o.counted = o.use.now_bytes;
	vmem_audit(t->v, j->id, &o.there, &o.n_there, NULL);
	o.born = board->born;
	o.refused = board->refused;
	if (!o.is_dead) {
		vmem_test_kill(j);
		waitpid(pid, NULL, 0);
	}
	return o;
}

/* Nothing lives that is not counted; and the storm did not just go on. */
static bool is_held(struct vmem_test *t, const struct outcome *o, uint32_t max_spaces)
{
	if (o->is_dead)
		return o->n_there == 0 && told.is_no_room && told.reached_spaces > 1;
	return t->tier == 1 && o->counted == o->there && o->n_there <= max_spaces &&
	       o->refused && board->error == EAGAIN && o->use.n_no_room && n_told == 0;
}

static void note_outcome(const struct outcome *o)
{
	tap_note("dead %d, %u born, %u refused (%s), %u there, counted %llu of %llu bytes, "
		 "told %d, no room %llu",
		 o->is_dead, o->born, o->refused, strerror(board->error), o->n_there,
		 (unsigned long long)o->counted, (unsigned long long)o->there, n_told,
		 (unsigned long long)o->use.n_no_room);
}

static uint64_t own_bytes(struct vmem_test *t)
{
	struct vmem_request count_only = { 0 };
	struct testjob j;
	uint64_t bytes = 0;
	pid_t pid;

	vmem_test_job(t, &j, "own", &count_only);
	memset(board, 0, sizeof(*board));
	board->refused = 1; /* no children */
	pid = testjob_run(&j, fork_storm, NULL);
	while (!board->is_done)
		poll(NULL, 0, 1);
	vmem_test_equal(t, &j, &bytes);
	vmem_test_drop(t, &j);
	waitpid(pid, NULL, 0);
	return bytes;
}

static void case_fork(struct vmem_test *t, const struct vmem_room *room)
{
	/* More than the table holds, so that only the table can end the storm; less than MANY.
	 */
	struct vmem_request r = { .limit_bytes = own_bytes(t) * MANY * 3 / 4 };
	struct outcome o;
	struct testjob j;

	if (t->tier == 3) {
		/* There is no table: the job's own bound is what holds. The limit is out of reach: the whole storm may be over
		 * before /proc is read. */
		r.max_processes = JOB_PROCESSES;
		r.limit_bytes *= 4;
	}
	vmem_test_job(t, &j, "fork", &r);
	o = run_storm(t, &j, fork_storm);
	tap_ok(is_held(t, &o, (uint32_t)room->max_spaces),
	       "a fork storm in a full table: %s, nothing lives uncounted",
	       o.is_dead ? "the job is killed" : "fork fails with EAGAIN");
	note_outcome(&o);
	vmem_test_drop(t, &j);
}

static void case_exec(struct vmem_test *t)
{
	struct vmem_request r = { .max_processes = JOB_PROCESSES };
	struct outcome o;
	struct testjob j;

	vmem_test_job(t, &j, "exec", &r);
	o = run_storm(t, &j, exec_storm);
	tap_ok(o.is_dead && is_held(t, &o, JOB_SPACES),
	       "a storm of vfork and exec: the job is killed, nothing lives uncounted");
	note_outcome(&o);
	vmem_test_drop(t, &j);
}

static void case_neighbour(struct vmem_test *t)
{
	struct vmem_request r = { .max_processes = JOB_PROCESSES };
	struct testjob greedy, other;
	struct vmem_usage use = { 0 };
	struct outcome o;
	int status = -1;
	pid_t pid;

	vmem_test_job(t, &greedy, "greedy", &r);
	vmem_test_job(t, &other, "other", &r);
	memset(board, 0, sizeof(*board));
	told_job = &greedy;
	pid = testjob_run(&greedy, fork_storm, NULL);
	serve_until_exit(t, pid);
	vmem_read(t->v, greedy.id, &use, NULL);
	tap_ok(use.n_processes <= JOB_SPACES,
	       "a job has no more address spaces than its own bound allows (%u of %d)",
	       use.n_processes, JOB_SPACES);
	waitpid(testjob_run(&other, fork_and_end, NULL), &status, 0);
	vmem_read(t->v, other.id, &use, NULL);
	tap_ok(status == 0 && !use.is_exceeded && !use.n_no_room,
	       "its neighbour forks and executes on, unharmed (status %d)", status);
	vmem_test_drop(t, &greedy);
	waitpid(pid, NULL, 0);
	vmem_test_drop(t, &other);
	/* The same slots once more. */
	vmem_test_job(t, &other, "again", &r);
	o = run_storm(t, &other, fork_storm);
	tap_ok(is_held(t, &o, JOB_SPACES), "and the next job is held the same way");
	note_outcome(&o);
	vmem_test_drop(t, &other);
}

static void case_given_back(struct vmem_test *t)
{
	struct vmem_room room = { 0 };

	for (int i = 0; i < 1000; i++) {
		vmem_room(t->v, &room);
		if (!room.held_spaces)
			break;
		poll(NULL, 0, 2);
	}
	tap_ok(room.held_spaces == 0,
	       "all room is given back with the last process (%llu left)",
	       (unsigned long long)room.held_spaces);
}

int main(int argc, char **argv)
{
	struct vmem_test t = { 0 };
	struct vmem_config config = { .on_excess = on_excess,
				      .max_processes = PROCESSES,
				      .poll_ms = 20 };
	struct vmem_room room;

	if (argc == 2 && !strcmp(argv[1], "--end"))
		return 0;
	while (argc == 2 && !strcmp(argv[1], "--stay"))
		pause();
	board = testjob_shared(sizeof(*board));
	vmem_test_open(&t, "vmem-room", argc, argv, &config);
	vmem_room(t.v, &room);
	tap_ok(room.max_processes == PROCESSES &&
		       (t.tier == 3 || room.max_spaces > PROCESSES + PROCESSES / 8),
	       "the table is made for %llu processes: %llu address spaces",
	       (unsigned long long)room.max_processes, (unsigned long long)room.max_spaces);
	case_fork(&t, &room);
	case_exec(&t);
	case_neighbour(&t);
	case_given_back(&t);
	vmem_close(t.v);
	return tap_done();
}
