/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_refused.c - a mapping that fails with ENOMEM for the limit of vmem leaves a trace: the program may say no more than
 * that it failed.
 *
 * In tier 1 the limit itself refuses it (VMEM_DENY), whatever call was refused before. In tier 2 RLIMIT_AS refuses it,
 * 16 MiB above the limit, as the launcher sets it; the kernel side sees a call that has added nothing. A call that adds
 * nothing and succeeds is no refusal.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "tests/bpf/vmem_test.h"

#define ROOM (64 * MIB) /* from what the job has at its start to its limit */
#define ABOVE (16 * MIB)
#define BLOCK (40 * MIB)
#define MANY (1024 * MIB)
#define RW (PROT_READ | PROT_WRITE)
#define OWN (MAP_PRIVATE | MAP_ANONYMOUS)

static rlim_t *address_space; /* shared with the job; 0: as it is */
static bool *is_good;	      /* by the job: did its calls end as they should? */
static struct vmem_signal ready, begin, done, more;
static struct {
	int n;
	struct vmem_excess x;
} seen;

static void on_excess(void *ctx, const struct vmem_excess *x)
{
	(void)ctx;
	seen.n++;
	seen.x = *x;
}

/* Calls that succeed, of which the second adds nothing, and the third more than once. */
static bool calls_succeed(void)
{
	char *at = mmap(NULL, BLOCK, RW, OWN, -1, 0);
	bool good = at != MAP_FAILED && mmap(at, BLOCK, RW, OWN | MAP_FIXED, -1, 0) == at;
	char *to = good ? mremap(at, BLOCK, BLOCK, MREMAP_MAYMOVE) : MAP_FAILED;

	good = to == at && munmap(at, BLOCK) == 0;
	at = good ? mmap(NULL, BLOCK, RW, OWN | MAP_POPULATE, -1, 0) : MAP_FAILED;
	return at != MAP_FAILED && munmap(at, BLOCK) == 0;
}

static bool is_refused(const char *call, const void *at)
{
	bool good = at == MAP_FAILED && errno == ENOMEM;

	if (!good)
		tap_note("%s: %p, %s", call, at, strerror(errno));
	return good;
}

static bool calls_are_refused(void)
{
	char *at = mmap(NULL, MIB, RW, OWN, -1, 0);

	return is_refused("mmap", mmap(NULL, MANY, PROT_NONE, OWN, -1, 0)) &&
	       is_refused("mremap", mremap(at, MIB, MANY, MREMAP_MAYMOVE)) &&
	       munmap(at, MIB) == 0;
}

static int job_main(void *ctx)
{
	struct rlimit to;

	(void)ctx;
	vmem_signal_send(&ready);
	vmem_signal_wait(&begin);
	to = (struct rlimit){ *address_space, *address_space };
	if (*address_space && setrlimit(RLIMIT_AS, &to) < 0)
		return 1;
	*is_good = calls_succeed();
	vmem_signal_send(&done);
	vmem_signal_wait(&more);
	*is_good = calls_are_refused();
	vmem_signal_send(&done);
	vmem_signal_wait(&more);
	/* Above the limit; in tier 2 below RLIMIT_AS. */
	return mmap(NULL, ROOM + ABOVE / 2, PROT_NONE, OWN, -1, 0) == MAP_FAILED ? 0 : 4;
}

static void check_calls(struct vmem_test *t, const struct testjob *j)
{
	struct vmem_usage use = { 0 };

	tap_ok(vmem_signal_wait(&done) && *is_good && vmem_read(t->v, j->id, &use, NULL) == 0 &&
		       use.n_refused == 0 && !use.is_exceeded,
	       "calls that succeed and add nothing are no refusals (%llu counted)",
	       (unsigned long long)use.n_refused);
	vmem_signal_send(&more);
	tap_ok(vmem_signal_wait(&done) && *is_good,
	       "mmap() and mremap() far above the limit fail: ENOMEM");
	vmem_dispatch(t->v, NULL);
	vmem_read(t->v, j->id, &use, NULL);
	tap_ok(use.n_refused == 2 && use.is_survived, "both are counted: %llu",
	       (unsigned long long)use.n_refused);
	tap_ok(seen.n == 1 && seen.x.is_survived && seen.x.requested_bytes == MANY &&
		       strcmp(seen.x.operation, "mmap") == 0 &&
		       seen.x.reached_bytes > seen.x.limit_bytes,
	       "the first is reported once, as one that the job survives: %s of %llu MiB",
	       seen.n ? seen.x.operation : "none",
	       (unsigned long long)(seen.x.requested_bytes / MIB));
}

static void check_excess(struct vmem_test *t, const struct testjob *j, pid_t pid)
{
	struct vmem_usage use = { 0 };
	int status;

	vmem_signal_send(&more);
	status = testjob_wait(pid);
	vmem_dispatch(t->v, NULL);
	vmem_read(t->v, j->id, &use, NULL);
	tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && seen.n == 2 &&
		       !seen.x.is_survived && !use.is_survived && use.is_exceeded,
	       "an excess that is not refused still kills, and is reported");
}

static void check_denied(struct vmem_test *t, const struct testjob *j, pid_t pid)
{
	struct vmem_usage use = { 0 };
	int status;

	vmem_signal_send(&more);
	status = testjob_wait(pid);
	vmem_read(t->v, j->id, &use, NULL);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0 && use.n_refused == 3,
	       "a smaller excess is refused too, and counted: %llu",
	       (unsigned long long)use.n_refused);
}

int main(int argc, char **argv)
{
	struct vmem_test t = { .ops = 1, .seed = 1 };
	struct vmem_request like = { 0 };
	struct vmem_config config = { .on_excess = on_excess };
	struct testjob j = { .path = "" };
	bool is_denied;
	uint64_t start;
	pid_t pid;

	address_space = testjob_shared(sizeof(*address_space));
	is_good = testjob_shared(sizeof(*is_good));
	vmem_test_open(&t, "vmem-refused", argc, argv, &config);
	if (vmem_tier(t.v) == VMEM_TIER_POLL) {
		puts("1..0 # SKIP tier 3 does not see what the kernel refuses");
		return 0;
	}
	is_denied = vmem_tier(t.v) == VMEM_TIER_DENY;
	like.action = is_denied ? VMEM_DENY : VMEM_KILL;
	vmem_signal_init(&ready);
	vmem_signal_init(&begin);
	vmem_signal_init(&done);
	vmem_signal_init(&more);
	vmem_test_job(&t, &j, "refused", &like);
	pid = testjob_run(&j, job_main, NULL);
	vmem_signal_wait(&ready);
	start = vmem_test_now(&t, &j);
	vmem_set_limit(t.v, j.id, start + ROOM, NULL);
	*address_space = is_denied ? 0 : start + ROOM + ABOVE;
	vmem_signal_send(&begin);
	check_calls(&t, &j);
	if (is_denied)
		check_denied(&t, &j, pid);
	else
		check_excess(&t, &j, pid);
	vmem_test_drop(&t, &j);
	vmem_close(t.v);
	return tap_done();
}
