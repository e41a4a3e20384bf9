/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The waiter of a step (agent/launch/step/step.h) as it is started by the agent: a real cgroup, a
 * real mount namespace, another user. Needs root and cgroup v2.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/job/handshake/plan.h"
#include "agent/launch/step/step.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "tests/unit/rig/views/views_rig.h"

#define LAUNCHER "build/bin/reeve-launch"
#define USER 65534
#define DEADLINE_S 60

static char unit[200], group[256], dir[64]; /* the job's, and its "work" */
static char views[96];			    /* socket of the process that keeps views */
static pid_t sitter, keeper;		    /* the job's only process; that one */
static int n_steps;

struct world {
	struct step_spec spec;
	struct request request;
	struct job_plan plan;
	char *argv[4], *env[3];
	char path[128];
};

/* ---- the job ---- */

static void write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void start_sitter(void)
{
	sitter = views_rig_start_main(CLONE_NEWNS | CLONE_NEWIPC, group);
	views_rig_keep(views, (struct views_id){ 7, 1 }, sitter);
}

static int make_job(void **unused)
{
	const char *mount = access("/sys/fs/cgroup/cgroup.procs", F_OK)
				    ? "/sys/fs/cgroup/unified"
				    : "/sys/fs/cgroup";

	(void)unused;
	snprintf(unit, sizeof(unit), "%s/reeve-test-step-%d", mount, getpid());
	snprintf(group, sizeof(group), "%s/work", unit);
	if (getuid() || mkdir(unit, 0755) < 0 || mkdir(group, 0755) < 0) {
		fprintf(stderr, "needs root and cgroup v2: %s: %s\n", group, strerror(errno));
		return -1;
	}
	strcpy(dir, "/tmp/reeve-step.XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0711) < 0)
		return -1;
	snprintf(views, sizeof(views), "%s/" VIEWS_SOCKET, dir);
	keeper = views_rig_start_keeper(views);
	start_sitter();
	return 0;
}

static int unmake_job(void **unused)
{
	char command[400];

	(void)unused;
	views_rig_end(sitter);
	views_rig_end(keeper);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
	/* The last of it may just be being buried. */
	snprintf(command, sizeof(command), "%s/" STEP_WAITERS, unit);
	for (int i = 0; i < 100 && rmdir(unit) < 0; i++) {
		rmdir(group);
		rmdir(command);
		usleep(20000);
	}
	return access(unit, F_OK) == 0 ? -1 : 0;
}

/* ---- a step ---- */

static void make_world(struct world *w, const char *script)
{
	*w = (struct world){ .argv = { (char *)"sh", (char *)"-c", (char *)script },
			     .env = { (char *)"HOME=/h", (char *)"A=b" } };
	w->request = (struct request){
		.stream = true, .argv = w->argv, .env = w->env, .workdir = (char *)"/"
	};
	w->plan = (struct job_plan){ .request = &w->request,
				     .job = 7,
				     .attempt = 1,
				     .node = "n1",
				     .cpus = "0",
				     .dir = "/d",
				     .jobfs = "/d/work" };
	w->spec = (struct step_spec){ .version = STEP_SPEC_VERSION,
				      .attempt = 1,
				      .job = 7,
				      .number = ++n_steps,
				      .uid = USER,
				      .gid = USER,
				      .grace_s = 1 };
	snprintf(w->path, sizeof(w->path), "%s/%d", dir, n_steps);
	snprintf(w->spec.cgroup, STEP_PATH_MAX, "%s", group);
	snprintf(w->spec.out, STEP_PATH_MAX, "%s.out", w->path);
	snprintf(w->spec.err, STEP_PATH_MAX, "%s.err", w->path);
	snprintf(w->spec.end, STEP_PATH_MAX, "%s.end", w->path);
}

static void write_spec(struct world *w)
{
	_cleanup_close_ int fd = open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	_cleanup_free_ char *frame = NULL;
	const size_t head = sizeof(struct plan_head);
	struct err err = { "" };
	size_t size;

	if (job_plan_encode(&w->plan, &frame, &size, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(write(fd, &w->spec, sizeof(w->spec)), sizeof(w->spec));
	assert_int_equal(write(fd, frame + head, size - head), size - head);
}

static pid_t start_launcher(const struct world *w)
{
	pid_t pid = fork();

	if (!pid) {
		execl(LAUNCHER, "reeve-launch", "--step", w->path, views, NULL);
		_exit(99);
	}
	return pid;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct step_end read_end(const struct world *w)
{
	_cleanup_close_ int fd = open(w->spec.end, O_RDONLY | O_CLOEXEC);
	struct step_end end = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(read(fd, &end, sizeof(end)), sizeof(end));
	assert_int_equal(end.version, STEP_VERSION);
	return end;
}

static const char *text_of(const char *path)
{
	static char text[65536];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	assert_true(n >= 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static struct step_end run_step(struct world *w)
{
	write_spec(w);
	assert_int_equal(wait_for(start_launcher(w)), 0);
	return read_end(w);
}

static int count_processes(void)
{
	char path[300];
	int n = 0;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	for (const char *c = text_of(path); *c; c++)
		n += *c == '\n';
	return n;
}

static void await_processes(int n)
{
	for (int i = 0; i < DEADLINE_S * 50 && count_processes() != n; i++)
		usleep(20000);
	assert_int_equal(count_processes(), n);
}

static void await_text(const char *path, const char *text)
{
	for (int i = 0; i < DEADLINE_S * 50; i++) {
		if (access(path, F_OK) == 0 && strstr(text_of(path), text))
			return;
		usleep(20000);
	}
	fail_msg("%s never had '%s'", path, text);
}

/* ---- what must hold ---- */

static void status_and_output_are_kept(void **unused)
{
	struct step_end end;
	struct world w;
	struct stat st;

	(void)unused;
	make_world(&w, "echo to out; echo to err >&2; exit 3");
	end = run_step(&w);
	assert_int_equal(end.exit_status, 3);
	assert_int_equal(end.signal, 0);
	assert_string_equal(end.text, "");
	assert_string_equal(text_of(w.spec.out), "to out\n");
	assert_string_equal(text_of(w.spec.err), "to err\n");
	assert_int_equal(stat(w.spec.out, &st), 0);
	assert_true(st.st_uid == USER && st.st_gid == USER && (st.st_mode & 0777) == 0600);
	make_world(&w, "kill -SEGV $$");
	end = run_step(&w);
	assert_int_equal(end.exit_status, -1);
	assert_int_equal(end.signal, SIGSEGV);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in: %s", part, text);
}

/* Without 32 and 33, which the C library keeps for itself and lets no program set: they are as
 * they were when the tests started. */
static unsigned long long ignored_signals(const char *text)
{
	unsigned long long set = ~0ULL;

	sscanf(strstr(text, "SigIgn:"), "SigIgn:\t%llx", &set);
	return set & ~(3ULL << 31);
}

static void a_step_runs_in_its_job_as_the_user_without_privileges(void **unused)
{
	const char *name = strrchr(unit, '/'), *text;
	struct world w;

	(void)unused;
	make_world(&w, "cat /proc/self/cgroup; ls /mnt; id -u; id -g; echo core $(ulimit -c);"
		       "grep -E '^(NoNewPrivs|CapPrm|CapBnd|Groups|SigBlk|SigIgn)' "
		       "/proc/self/status; echo pid $$ $(cut -d' ' -f6 /proc/$$/stat);"
		       "echo in $(cat | wc -c); echo fds; ls /proc/self/fd; umask;"
		       "echo oom $(cat /proc/self/oom_score_adj)");
	assert_int_equal(run_step(&w).exit_status, 0);
	text = text_of(w.spec.out);
	assert_has(text, name);
	assert_has(text, "\ninside\n65534\n65534\ncore 0\n");
	assert_has(text, "NoNewPrivs:\t1\n");
	assert_has(text, "CapPrm:\t0000000000000000\n");
	assert_has(text, "Groups:\t65534 \n");
	assert_has(text, "SigBlk:\t0000000000000000\n");
	assert_int_equal(ignored_signals(text), 0);
	assert_has(text, "\nin 0\nfds\n0\n1\n2\n3\n0022\noom 0\n");
	{
		int pid = 0, session = 1;

		sscanf(strstr(text, "pid "), "pid %d %d", &pid, &session);
		assert_int_equal(pid, session);
	}
	assert_string_equal(text_of(w.spec.err), "");
}

static void a_step_has_the_environment_of_its_plan(void **unused)
{
	struct world w;
	const char *text;

	(void)unused;
	make_world(&w, "env; pwd");
	w.request.workdir = (char *)"/usr";
	setenv("SECRET_OF_THE_STARTER", "1", 1);
	assert_int_equal(run_step(&w).exit_status, 0);
	text = text_of(w.spec.out);
	assert_has(text, "A=b\n");
	assert_has(text, "REEVE_JOB=7\n");
	assert_has(text, "TMPDIR=/d/work\n");
	assert_has(text, "\n/usr\n");
	assert_null(strstr(text, "SECRET"));
}

static void the_plans_limits_are_in_force(void **unused)
{
	struct world w;
	const char *text;

	(void)unused;
	make_world(&w, "ulimit -v; grep ^Seccomp: /proc/self/status");
	w.plan.rlimit_as = 1 << 30;
	w.plan.deny = PLAN_DENY_PTRACE | PLAN_DENY_PROJECT;
	assert_int_equal(run_step(&w).exit_status, 0);
	text = text_of(w.spec.out);
	assert_has(text, "1048576\n");
	assert_has(text, "Seccomp:\t2\n");
}

static void a_step_that_cannot_start_says_why(void **unused)
{
	struct step_end end;
	struct world w;

	(void)unused;
	make_world(&w, "");
	w.argv[0] = (char *)"no-such-command";
	end = run_step(&w);
	assert_has(end.text, "command not found: no-such-command");
	assert_true(end.exit_status == -1 && end.signal == 0);
	make_world(&w, "");
	w.request.workdir = (char *)"/no/such/place";
	assert_has(run_step(&w).text, "cannot enter working directory /no/such/place");
	make_world(&w, "");
	snprintf(w.spec.out, STEP_PATH_MAX, "%s/none/x", dir);
	assert_has(run_step(&w).text, "cannot make the file for its output");
	make_world(&w, "");
	snprintf(w.spec.cgroup, STEP_PATH_MAX, "%s/none/work", unit);
	assert_has(run_step(&w).text, "the job is not here any more");
	make_world(&w, "");
	w.spec.uid = 0;
	assert_has(run_step(&w).text, "no ordinary user");
	make_world(&w, "");
	assert_int_equal(symlink("/etc/passwd", w.spec.out), 0);
	assert_has(run_step(&w).text, "cannot make the file for its output");
}

/* It is the job's, not the node's: in the unit's cgroup, where memory.max and pids.max are. */
static void the_waiter_is_in_the_job_and_outlives_its_step(void **unused)
{
	char path[300], text[64];
	struct step_end end;
	struct world w;
	pid_t pid;

	(void)unused;
	make_world(&w, "echo ran; exec sleep 1000");
	write_spec(&w);
	pid = start_launcher(&w);
	await_text(w.spec.out, "ran");
	snprintf(path, sizeof(path), "%s/" STEP_WAITERS "/cgroup.procs", unit);
	snprintf(text, sizeof(text), "%d\n", (int)pid);
	assert_string_equal(text_of(path), text);
	/* As at a limit, or when the OOM killer takes the job. */
	snprintf(path, sizeof(path), "%s/cgroup.kill", group);
	write_text(path, "1");
	assert_int_equal(wait_for(pid), 0);
	end = read_end(&w);
	assert_int_equal(end.signal, SIGKILL);
	waitpid(sitter, NULL, 0);
	start_sitter();
}

/* For both: the waiter would be attached, and the child; attaching asks no limit. */
static void a_step_without_room_for_its_waiter_does_not_start(void **unused)
{
	char path[300];
	struct world w;

	(void)unused;
	snprintf(path, sizeof(path), "%s/pids.max", unit);
	if (access(path, F_OK) < 0)
		skip();
	write_text(path, "2");
	make_world(&w, "true");
	assert_has(run_step(&w).text, "reached its limit of 2 processes");
	write_text(path, "max");
}

static void a_spec_is_begun_once(void **unused)
{
	struct stat st;
	struct world w;
	pid_t first;

	(void)unused;
	make_world(&w, "echo once; until [ -e /proc/1/no ]; do sleep 1000; done");
	write_spec(&w);
	first = start_launcher(&w);
	await_text(w.spec.out, "once");
	assert_int_equal(wait_for(start_launcher(&w)), 0); /* while it runs */
	kill(first, SIGTERM);
	assert_int_equal(wait_for(first), 0);
	assert_int_equal(unlink(w.spec.out) | unlink(w.spec.err), 0);
	assert_int_equal(wait_for(start_launcher(&w)), 0); /* and when it is over */
	assert_int_equal(access(w.spec.out, F_OK), -1);
	assert_int_equal(stat(w.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0400);
	unlink(w.path);
	assert_int_equal(wait_for(start_launcher(&w)), 0); /* given up */
}

/* Cut off anywhere, with any byte of its head changed: nothing runs, nothing crashes. */
static void a_damaged_spec_starts_nothing(void **unused)
{
	struct world w;
	off_t sizes[] = { 0, 1, sizeof(struct step_spec) - 1, sizeof(struct step_spec),
			  sizeof(struct step_spec) + 5 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		make_world(&w, "echo ran");
		write_spec(&w);
		assert_int_equal(truncate(w.path, sizes[i]), 0);
		wait_for(start_launcher(&w));
		assert_int_equal(access(w.spec.out, F_OK), -1);
	}
	make_world(&w, "echo ran");
	memset(w.spec.end, 'x', STEP_PATH_MAX);
	write_spec(&w);
	assert_int_equal(wait_for(start_launcher(&w)), 1);
	assert_int_equal(access(w.spec.out, F_OK), -1);
	make_world(&w, "echo ran");
	w.spec.version++;
	write_spec(&w);
	assert_int_equal(wait_for(start_launcher(&w)), 1);
	assert_int_equal(access(w.spec.out, F_OK), -1);
}

static void an_order_to_end_reaches_all_processes_of_a_step_and_no_others(void **unused)
{
	struct step_end end;
	struct world w;
	pid_t waiter;

	(void)unused;
	make_world(&w, "setsid sh -c 'trap \"\" TERM; (sleep 1000 &); echo ready; sleep 1000' &"
		       "sleep 1000");
	write_spec(&w);
	waiter = start_launcher(&w);
	await_text(w.spec.out, "ready");
	await_processes(1 + 5);
	kill(waiter, SIGTERM);
	assert_int_equal(wait_for(waiter), 0);
	end = read_end(&w);
	assert_int_equal(end.signal, SIGTERM);
	await_processes(1);
	assert_int_equal(kill(sitter, 0), 0);
}

static void processes_that_a_step_leaves_behind_keep_running(void **unused)
{
	struct world w;
	int pid = 0;

	(void)unused;
	make_world(&w, "sleep 1000 >/dev/null 2>&1 & echo $!");
	assert_int_equal(run_step(&w).exit_status, 0);
	sscanf(text_of(w.spec.out), "%d", &pid);
	assert_true(pid > 1);
	assert_int_equal(count_processes(), 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	await_processes(1);
}

static void a_step_of_a_suspended_job_does_not_run(void **unused)
{
	char freeze[300], events[300];
	struct world w;
	pid_t waiter;

	(void)unused;
	snprintf(freeze, sizeof(freeze), "%s/cgroup.freeze", group);
	snprintf(events, sizeof(events), "%s/cgroup.events", group);
	write_text(freeze, "1");
	make_world(&w, "echo ran");
	write_spec(&w);
	waiter = start_launcher(&w);
	await_processes(2);
	await_text(events, "frozen 1");
	assert_string_equal(text_of(w.spec.out), "");
	write_text(freeze, "0");
	assert_int_equal(wait_for(waiter), 0);
	assert_string_equal(text_of(w.spec.out), "ran\n");
	write_text(freeze, "1");
	make_world(&w, "echo ran");
	write_spec(&w);
	waiter = start_launcher(&w);
	await_processes(2);
	kill(waiter, SIGTERM);
	assert_int_equal(wait_for(waiter), 0);
	/* The kernel lets a fatal signal through the freezer: which, is its affair. */
	assert_true(read_end(&w).signal != 0);
	assert_string_equal(text_of(w.spec.out), "");
	write_text(freeze, "0");
}

/* In a user's namespaces root would run among paths that the user chose; in the node's it would be outside the job. */
static void the_view_of_the_job_is_entered_wherever_its_processes_are(void **unused)
{
	char link[64], its[64] = "";
	struct world w;

	(void)unused;
	views_rig_go_elsewhere(sitter);
	make_world(&w, "ls /mnt; readlink /proc/self/ns/mnt /proc/self/ns/ipc");
	assert_int_equal(run_step(&w).exit_status, 0);
	assert_has(text_of(w.spec.out), "inside\n");
	snprintf(link, sizeof(link), "/proc/%d/ns/ipc", sitter);
	assert_true(readlink(link, its, sizeof(its) - 1) > 0);
	assert_null(strstr(text_of(w.spec.out), its));
	assert_true(readlink("/proc/self/ns/ipc", its, sizeof(its) - 1) > 0);
	assert_null(strstr(text_of(w.spec.out), its));
	views_rig_end(sitter);
	start_sitter();
}

static void without_a_view_that_is_kept_no_step_runs(void **unused)
{
	struct world w;

	(void)unused;
	views_rig_end(keeper);
	make_world(&w, "echo ran");
	assert_has(run_step(&w).text, "the process that keeps the jobs' views");
	assert_int_equal(access(w.spec.out, F_OK), -1);
	keeper = views_rig_start_keeper(views);
	make_world(&w, "echo ran");
	assert_has(run_step(&w).text, "the job's view of the file system is not kept");
	assert_int_equal(access(w.spec.out, F_OK), -1);
	views_rig_keep(views, (struct views_id){ 7, 1 }, sitter);
	make_world(&w, "echo ran");
	assert_int_equal(run_step(&w).exit_status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_and_output_are_kept),
		cmocka_unit_test(a_step_runs_in_its_job_as_the_user_without_privileges),
		cmocka_unit_test(a_step_has_the_environment_of_its_plan),
		cmocka_unit_test(the_plans_limits_are_in_force),
		cmocka_unit_test(a_step_that_cannot_start_says_why),
		cmocka_unit_test(the_waiter_is_in_the_job_and_outlives_its_step),
		cmocka_unit_test(a_step_without_room_for_its_waiter_does_not_start),
		cmocka_unit_test(a_spec_is_begun_once),
		cmocka_unit_test(a_damaged_spec_starts_nothing),
		cmocka_unit_test(an_order_to_end_reaches_all_processes_of_a_step_and_no_others),
		cmocka_unit_test(processes_that_a_step_leaves_behind_keep_running),
		cmocka_unit_test(a_step_of_a_suspended_job_does_not_run),
		cmocka_unit_test(the_view_of_the_job_is_entered_wherever_its_processes_are),
		cmocka_unit_test(without_a_view_that_is_kept_no_step_runs),
	};

	return cmocka_run_group_tests(tests, make_job, unmake_job);
}
