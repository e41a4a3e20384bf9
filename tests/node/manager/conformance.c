/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conformance.c - the laws of manager.h, asked of either manager with real jobs.
 *
 *	conformance systemd|cgroup LAUNCHER PARENT DIR UID	TAP
 *
 * Runs as root in a node. PARENT is a slice, or a directory below the cgroup mount; DIR is
 * made, and belongs to the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "tests/node/manager/conformance.h"
#include "tests/node/manager/host.h"

#define HUNGRY_JOB "head -c 200000000 /dev/zero | tail -c 150000000 >/dev/null"
#define LONG_JOB "while :; do echo x; sleep 0.05; done"

static bool load_final(struct world *w, struct manager_id id, struct final *ret)
{
	struct err err;
	int r = final_load(w->final_dir, id.job, id.attempt, ret, &err);

	if (r < 0)
		note("%s", err.text);
	return r == 0;
}

/* Nothing of it is left, and it was said once. */
static void ok_gone(struct world *w, struct manager_id id, const char *what)
{
	bool good = until(w, 20, is_gone, id) && until(w, 5, is_swept, id);

	for_ms(w, 200);
	ok(good && count_gone(w, id) == 1 && is_swept(w, id),
	   "%s: gone, said once, cgroup removed (said %d times)", what, count_gone(w, id));
}

static void test_life(struct world *w)
{
	struct manager_spec s = world_spec(w);
	struct final f = { 0 };
	struct job_end end;

	w->script = "echo begun; exit 7";
	ok(start(w, &s), "start is accepted");
	ok(answer_to(w, s.id, MANAGER_START) == 0 && !w->said_inside,
	   "and answered from the event loop, not from inside the call");
	ok(until(w, 20, is_waiting, s.id),
	   "the launcher asks at the gate, from the job's cgroup");
	for_ms(w, 300);
	ok(!strcmp(output(w, s.id), ""), "nothing of the user's runs before the gate opens");
	ok(let_through(w, s.id) && says(w, s.id, "begun"), "it runs once the gate is open");
	ok_gone(w, s.id, "an ended job");
	ok(load_final(w, s.id, &f) && !strcmp(f.code, "exited") && !strcmp(f.status, "7"),
	   "the final record has the exit status (%s %s)", f.code, f.status);
	final_end(&f, &end);
	ok(end.kind == END_EXITED && end.exit_status == 7 && f.usage.cpu_ns > 0,
	   "and the last counters (cpu %" PRId64 " ns)", f.usage.cpu_ns);
	clear(w, s.id);
	ok(!has_record(w, s.id) && w->ops->forget(w->m, s.id, NULL) == 0,
	   "forgetting twice is fine");
}

static void test_start_twice(struct world *w)
{
	struct manager_spec s = world_spec(w);
	struct final f = { 0 };

	w->script = "echo begun; exec sleep 100";
	start(w, &s);
	ok(start(w, &s) && !answer_to(w, s.id, MANAGER_START) &&
		   !answer_to(w, s.id, MANAGER_START),
	   "started twice: both are answered with success");
	let_through(w, s.id);
	ok(start(w, &s) && !answer_to(w, s.id, MANAGER_START), "and while it runs");
	for_ms(w, 500);
	ok(w->n_waiting == 0 && !strcmp(output(w, s.id), "begun\n"), "but it runs once");
	clear(w, s.id);
	ok(!load_final(w, s.id, &f), "its record is gone when it is forgotten");
}

static void ok_value(struct world *w, struct manager_id id, const char *file, const char *want)
{
	char why[200];

	snprintf(why, sizeof(why), "%s", host_why_without(w, file));
	if (why[0])
		skip(file, why);
	else
		ok(!strcmp(value(w, id, file), want), "%s is %s (%s)", file, want,
		   value(w, id, file));
}

static void test_limits(struct world *w)
{
	struct manager_id id = run(w, "grep Cpus_allowed_list /proc/self/status; sleep 100");
	char why[200];

	says(w, id, "Cpus_allowed");
	ok_value(w, id, "memory.max", "67108864");
	ok_value(w, id, "memory.swap.max", "0");
	ok_value(w, id, "memory.oom.group", "1");
	ok_value(w, id, "pids.max", "40");
	ok_value(w, id, "cpuset.cpus.effective", "1");
	ok_value(w, id, "cpuset.mems.effective", "0");
	snprintf(why, sizeof(why), "%s", host_why_without(w, "cpuset.cpus"));
	if (why[0])
		skip("the job is on its cores", why);
	else
		ok(says(w, id, "Cpus_allowed_list:\t1\n"), "the job is on its cores: %s",
		   output(w, id));
	clear(w, id);
}

static void test_identity(struct world *w)
{
	struct manager_id id = run(
		w, "echo uid $(id -u) gid $(id -g) groups $(id -G) of $(id -G $(id -un));"
		   "grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status;"
		   "echo oom $(cat /proc/self/oom_score_adj) nice $(nice) core $(ulimit -c);"
		   "echo fds $(ls /proc/self/fd | tr '\\n' ' ');"
		   "echo done");
	char uid[64];

	ok(says(w, id, "done\n"), "the job tells who it is");
	snprintf(uid, sizeof(uid), "uid %u gid %u", w->uid, w->gid);
	ok(strstr(output(w, id), uid) != NULL, "user and group are the job's: %s", uid);
	ok(strstr(output(w, id), host_groups(w)) != NULL,
	   "with the user's groups, no others: %s", host_groups(w));
	ok(strstr(output(w, id), "NoNewPrivs:\t1") &&
		   strstr(output(w, id), "CapEff:\t0000000000000000"),
	   "no privileges, and no new ones");
	ok(strstr(output(w, id), "oom 0 nice 0 core 0") != NULL,
	   "none of the agent's priority or protection, no core files");
	ok(strstr(output(w, id), "fds 0 1 2 3\n") != NULL, "none of its descriptors");
	clear(w, id);
}

static void test_view(struct world *w)
{
	struct manager_id id;
	char path[300];

	ok(host_leave("/tmp/reeve-conformance-host") &&
		   host_leave("/dev/shm/reeve-conformance-host") &&
		   host_leave("/run/lock/reeve-conformance-host"),
	   "the host has files in /tmp, /dev/shm and /run/lock");
	id = run(w, "echo tmp $(ls -A /tmp /var/tmp /dev/shm /run/lock | wc -l);"
		    "touch /tmp/mine /var/tmp/mine /dev/shm/mine /run/lock/mine && echo wrote;"
		    "ls /run/user /var/spool/cron >/dev/null 2>&1 || echo hidden;"
		    /* The last line of a mount point is the one on top. */
		    "awk '$5 ~ /^.sys.fs.cgroup/ { split($6, o, \",\"); top[$5] = o[1] }"
		    " END { for (p in top) { n++; if (top[p] != \"ro\") bad = 1 }"
		    " print \"cgroups\", (n > 0 && !bad) }'"
		    " /proc/self/mountinfo; df -k /dev/shm | tail -n 1; echo done");
	ok(says(w, id, "done\n"), "the job looks around");
	/* Four names with a colon, three blank lines between: no entries. */
	ok(strstr(output(w, id), "tmp 7\n") != NULL,
	   "its /tmp, /var/tmp, /dev/shm and /run/lock are empty");
	ok(strstr(output(w, id), "wrote") != NULL, "and it may write there");
	snprintf(path, sizeof(path), "%s/jobfs/%" PRId64 "/tmp/mine", w->dir, id.job);
	ok(access(path, F_OK) == 0, "onto its own disk");
	ok(access("/tmp/mine", F_OK) < 0 && access("/dev/shm/mine", F_OK) < 0 &&
		   access("/run/lock/mine", F_OK) < 0,
	   "not the host's");
	ok(strstr(output(w, id), "hidden") != NULL,
	   "/run/user and cron's spool are out of reach");
	ok(strstr(output(w, id), "cgroups 1") != NULL, "the cgroup file systems are read-only");
	ok(strstr(output(w, id), " 16384 ") != NULL, "its /dev/shm is bounded");
	if (strstr(output(w, id), "cgroups 1") == NULL ||
	    strstr(output(w, id), "tmp 7") == NULL)
		note("%s", output(w, id));
	clear(w, id);
	unlink("/tmp/reeve-conformance-host");
	unlink("/dev/shm/reeve-conformance-host");
	unlink("/run/lock/reeve-conformance-host");
}

/* Does the host know a SysV segment, or a message queue, of the jobs' user? */
static bool host_has_ipc(const struct world *w, const char *kind)
{
	char path[64], line[512];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned uid;

	snprintf(path, sizeof(path), "/proc/sysvipc/%s", kind);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %u", &uid) == 1 && uid == w->uid)
			return true;
	return false;
}

/* Shared memory and message queues are the job's own, and go with it. */
static void test_memory(struct world *w)
{
	int host = shmget(0x52656576, 4096, IPC_CREAT | 0666);
	struct manager_id id, other;

	ok(host >= 0, "the host has a shared memory segment");
	id = run(w, "ipcs -m | grep -c 0x52656576; ipcmk -M 4096 && ipcmk -Q && ipcmk -S 1;"
		    "ls -A /dev/mqueue | wc -l; awk '$5 == \"/dev/mqueue\" { o = $3 }"
		    " END { print \"mqueue\", o }' /proc/self/mountinfo; echo mine; sleep 30");
	ok(says(w, id, "mine\n"), "a job makes shared memory, a queue and a semaphore");
	ok(!strncmp(output(w, id), "0\n", 2), "it does not see the host's");
	ok(!host_has_ipc(w, "shm") && !host_has_ipc(w, "msg"), "nor the host its");
	other = run(w, "ipcs | grep -c '^0x'; echo looked");
	ok(says(w, other, "looked\n") && !strncmp(output(w, other), "0\n", 2),
	   "nor another job of the same user");
	clear(w, other);
	clear(w, id);
	ok(!host_has_ipc(w, "shm") && !host_has_ipc(w, "msg"),
	   "nothing of it outlives the job");
	shmctl(host, IPC_RMID, NULL);
}

/* A job keeps no other job's files open, if it cannot come to them. */
static void test_disks(struct world *w)
{
	struct manager_id id = run(w, "echo mine; sleep 30"), other;
	char script[512];

	ok(says(w, id, "mine\n"), "a job runs");
	snprintf(script, sizeof(script),
		 "cd %s/jobfs; ls -d %" PRId64 "/tmp %" PRId64
		 "/tmp 2>&1; touch x 2>&1; echo looked",
		 w->dir, id.job, id.job + 1);
	other = run(w, script);
	snprintf(script, sizeof(script), "%" PRId64 "/tmp\n", other.job);
	ok(says(w, other, "looked\n") && strstr(output(w, other), script),
	   "another of the same user sees its own disk");
	ok(strstr(output(w, other), "No such file") != NULL, "and not that of the first");
	ok(strstr(output(w, other), "touch: ") != NULL, "and makes nothing beside its own");
	clear(w, other);
	clear(w, id);
}

static bool is_frozen(struct world *w, struct manager_id id)
{
	char path[MANAGER_PATH_MAX + 32], text[128] = "";
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/cgroup.events", job_path(w, id));
	f = fopen(path, "re");
	if (f)
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	return strstr(text, "frozen 1") != NULL;
}

static bool stands_still(struct world *w, struct manager_id id)
{
	size_t before = strlen(output(w, id));

	for_ms(w, 400);
	return strlen(output(w, id)) == before;
}

static int order_and_wait(struct world *w, struct manager_id id, enum manager_order what)
{
	struct err err;
	int r;

	w->is_ordering = true;
	r = what == MANAGER_FREEZE ? w->ops->freeze(w->m, id, &err)
				   : w->ops->thaw(w->m, id, &err);
	w->is_ordering = false;
	return r < 0 ? r : answer_to(w, id, what);
}

static bool has_core_0(struct world *w, struct manager_id id)
{
	return !strcmp(value(w, id, "cpuset.cpus.effective"), "0");
}

static void test_cores_while_frozen(struct world *w, struct manager_id id)
{
	struct cpulist cpus = { { 0 } }, nodes = { { 0 } };
	struct err err = { "" };
	char why[200];
	int r;

	cpulist_add(&cpus, 0);
	cpulist_add(&nodes, 0);
	r = w->ops->set_cpus(w->m, id, &cpus, &nodes, &err);
	ok(!r && !answer_to(w, id, MANAGER_SET_CPUS),
	   "other cores are given to a frozen job %s", err.text);
	snprintf(why, sizeof(why), "%s", host_why_without(w, "cpuset.cpus"));
	if (why[0])
		skip("and are in force", why);
	else
		ok(until(w, 5, has_core_0, id) && is_frozen(w, id), "and are in force");
	ok_value(w, id, "memory.oom.group", "1");
}

static void test_freeze(struct world *w)
{
	struct manager_id id = run(w, LONG_JOB);

	ok(says(w, id, "x\nx\n"), "a job works");
	ok(!order_and_wait(w, id, MANAGER_THAW), "thawing what is not frozen is fine");
	ok(!order_and_wait(w, id, MANAGER_FREEZE) && is_frozen(w, id) && stands_still(w, id),
	   "frozen when the answer comes, and it stands still");
	ok(!order_and_wait(w, id, MANAGER_FREEZE) && is_frozen(w, id),
	   "freezing it again is fine");
	test_cores_while_frozen(w, id);
	ok(!order_and_wait(w, id, MANAGER_THAW) && !is_frozen(w, id) && !stands_still(w, id),
	   "thawed, it goes on");
	ok(!order_and_wait(w, id, MANAGER_FREEZE), "frozen once more");
	ok(w->ops->signal(w->m, id, SIGKILL, NULL) == 0, "and killed");
	ok_gone(w, id, "a job killed while frozen");
	ok(!w->said_inside, "no answer came from inside a call");
	clear(w, id);
}

static void test_signal(struct world *w)
{
	struct manager_id id = run(
		w,
		"trap 'echo got TERM; exit 3' TERM; echo ready; while :; do sleep 0.1; done");
	struct final f = { 0 };

	says(w, id, "ready");
	ok(w->ops->signal(w->m, id, SIGTERM, NULL) == 0 && says(w, id, "got TERM"),
	   "a signal reaches the job");
	ok_gone(w, id, "a job that ends on TERM");
	ok(load_final(w, id, &f) && !strcmp(f.code, "exited") && !strcmp(f.status, "3"),
	   "with its own status (%s %s)", f.code, f.status);
	ok(w->ops->signal(w->m, id, SIGTERM, NULL) == 0 &&
		   w->ops->signal(w->m, id, SIGKILL, NULL) == 0,
	   "signalling what is gone is fine");
	clear(w, id);
}

static void test_kill(struct world *w)
{
	struct manager_id id =
		run(w, "trap '' TERM; sleep 100 & sleep 100 & echo ready; wait; wait");
	struct final f = { 0 };
	struct job_end end;

	says(w, id, "ready");
	ok(w->ops->signal(w->m, id, SIGKILL, NULL) == 0, "a job of three processes is killed");
	ok_gone(w, id, "a killed job");
	ok(load_final(w, id, &f), "it has a record");
	final_end(&f, &end);
	ok(end.kind == END_SIGNALED && end.signal == SIGKILL,
	   "and its end says killed (%s %s, %s)", f.code, f.status, f.result);
	clear(w, id);
}

static void test_left_behind(struct world *w)
{
	struct manager_id id = run(w, "(trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; "
				      "exec sleep 100' &) ; sleep 0.3; exit 5");
	struct final f = { 0 };
	pid_t daemon;

	says(w, id, "\n");
	daemon = (pid_t)atoi(output(w, id));
	ok(daemon > 1 && kill(daemon, 0) == 0, "a daemon is made by the job: %d", daemon);
	ok_gone(w, id, "a job that left a daemon");
	ok(kill(daemon, 0) < 0 && errno == ESRCH, "the daemon is ended with it");
	ok(load_final(w, id, &f) && !strcmp(f.code, "exited") && !strcmp(f.status, "5"),
	   "the status is the main process's (%s %s)", f.code, f.status);
	clear(w, id);
}

/* The event of an OOM and the end of the job race each other: several times, for the record. */
static void test_oom_often(struct world *w)
{
	int n_records = 0;

	for (int i = 0; i < 5; i++) {
		struct final f = { 0 };
		struct manager_id id = run(w, HUNGRY_JOB);

		n_records +=
			until(w, 20, is_gone, id) && load_final(w, id, &f) && f.oom_kills > 0;
		clear(w, id);
	}
	ok(n_records == 5, "five jobs over their memory leave five records (%d)", n_records);
}

static void test_oom(struct world *w)
{
	struct final f = { 0 };
	struct job_end end;
	struct manager_id id;
	char why[200];

	snprintf(why, sizeof(why), "%s", host_why_without(w, "memory.max"));
	if (why[0]) {
		skip("a job over its memory is killed as a whole", why);
		return;
	}
	id = run(w, "sleep 100 & " HUNGRY_JOB "; echo survived; wait");
	ok_gone(w, id, "a job over its memory");
	ok(!strstr(output(w, id), "survived"), "all of it was killed");
	ok(load_final(w, id, &f) && f.oom_kills > 0, "the record counts the kill");
	final_end(&f, &end);
	ok(end.kind == END_LIMIT && end.reason.limit == LIMIT_MEM, "and names the limit");
	clear(w, id);
	test_oom_often(w);
}

static int n_listed;

static void on_listed(void *ctx, struct manager_id id)
{
	n_listed += id.job == *(int64_t *)ctx;
}

static bool is_listed(struct world *w, struct manager_id id)
{
	n_listed = 0;
	return manager_list(w->ops->parent(w->m), on_listed, &id.job, NULL) == 0 &&
	       n_listed == 1;
}

/* A busy node takes its time over an end. */
static bool load_soon(struct world *w, struct manager_id id, struct final *f)
{
	for (int i = 0; i < 300 && !load_final(w, id, f); i++)
		for_ms(w, 100);
	return load_final(w, id, f);
}

static void test_return(struct world *w)
{
	struct manager_id id = run(w, "echo $$; while [ ! -e go ]; do sleep 0.1; done; exit 9");
	struct manager_id other = run(w, "sleep 0.5; exit 4");
	struct final f = { 0 };
	char go[200];

	says(w, id, "\n");
	manager_let_go(w);
	for_ms(w, 1500);
	manager_start_up(w);
	ok(is_listed(w, id), "an agent that comes back finds the job");
	ok(load_soon(w, other, &f) && !strcmp(f.status, "4"),
	   "and the record of one that ended meanwhile");
	ok(until(w, 5, is_swept, other) && count_gone(w, other) <= 1,
	   "of which nothing is left, and that is not said twice");
	ok(!order_and_wait(w, id, MANAGER_FREEZE) && is_frozen(w, id) &&
		   !order_and_wait(w, id, MANAGER_THAW),
	   "the one that runs obeys as before");
	snprintf(go, sizeof(go), "%s/go", w->work);
	ok(host_leave(go), "it gets the order to end");
	ok_gone(w, id, "a job that was found again");
	ok(load_final(w, id, &f) && !strcmp(f.status, "9"), "with its status (%s)", f.status);
	unlink(go);
	clear(w, id);
	clear(w, other);
}

/* An agent in a process of its own: it opens, orders the start, and is killed. */
static void start_and_die(struct world *w, char **argv, const struct manager_spec *s)
{
	struct world child;

	w->m = NULL;
	world_open(&child, argv);
	start(&child, s);
	answer_to(&child, s->id, MANAGER_START);
	raise(SIGKILL);
}

static void test_agent_killed(struct world *w, char **argv)
{
	struct manager_spec s = world_spec(w);
	struct final f = { 0 };
	pid_t pid;

	world_close(w);
	fflush(stdout);
	pid = fork();
	if (!pid)
		start_and_die(w, argv, &s);
	waitpid(pid, NULL, 0);
	world_open(w, argv);
	w->script = "echo begun; sleep 0.3; exit 6";
	ok(is_listed(w, s.id),
	   "an agent is killed with -9 after it started a job: the job is there");
	ok(start(w, &s) && !answer_to(w, s.id, MANAGER_START), "starting it again is fine");
	ok(let_through(w, s.id) && says(w, s.id, "begun"), "it waited at the gate");
	ok_gone(w, s.id, "a job whose first agent was killed");
	ok(load_final(w, s.id, &f) && !strcmp(f.status, "6"), "its status is known (%s)",
	   f.status);
	ok(!strcmp(output(w, s.id), "begun\n"), "it ran once");
	clear(w, s.id);
}

/* The launcher as a site may install it by mistake: root may execute it, users may not. */
static void test_no_launcher(struct world *w)
{
	struct manager_spec s = world_spec(w);
	const char *launcher = w->config.launcher;
	struct job_end end = { 0 };
	struct final f = { 0 };

	ok(chmod(launcher, 0700) == 0, "the launcher is for root alone");
	ok(start(w, &s), "a job whose user may not execute the launcher is begun");
	ok_gone(w, s.id, "it");
	ok(load_final(w, s.id, &f) && final_is_setup_failure(&f, launcher, &end) &&
		   end.kind == END_FAILED && strstr(end.reason.text, launcher),
	   "its record says what could not be executed (%s %s: %s)", f.code, f.status,
	   end.reason.text);
	chmod(launcher, 0755);
	clear(w, s.id);
}

static void test_unknown(struct world *w)
{
	struct manager_id id = { 999999, 1 };
	struct manager_spec s = world_spec(w);
	struct cpulist all = { { 3 } };
	char file[MANAGER_PATH_MAX];
	struct err err = { "" };

	ok(order_and_wait(w, id, MANAGER_FREEZE) < 0, "freezing an unknown job is an error");
	ok(w->ops->signal(w->m, id, SIGKILL, NULL) == 0 && w->ops->forget(w->m, id, NULL) == 0,
	   "killing and forgetting one is not");
	ok(w->ops->bound(w->m, &all, INT64_C(1) << 30, &err) == 0,
	   "all jobs are bound together %s", err.text);
	snprintf(file, sizeof(file), "%s", w->ops->parent(w->m));
	if (!host_why_without(w, "memory.max")[0]) {
		char text[64] = "";

		manager_read(file, "memory.max", text, sizeof(text), &err);
		ok(!strcmp(text, "1073741824"), "the parent's memory.max has it (%s)", text);
	}
	ok(!is_listed(w, s.id), "what was not started is not listed");
}

int main(int argc, char **argv)
{
	struct world w;

	if (argc != 6) {
		fprintf(stderr, "usage: %s systemd|cgroup LAUNCHER PARENT DIR UID\n", argv[0]);
		return 64;
	}
	world_open(&w, argv + 1);
	note("manager %s, parent %s", w.ops->name, w.ops->parent(w.m));
	host_note_lines(w.ops->status(w.m));
	test_life(&w);
	test_start_twice(&w);
	test_limits(&w);
	test_identity(&w);
	test_view(&w);
	test_memory(&w);
	test_disks(&w);
	test_freeze(&w);
	test_signal(&w);
	test_kill(&w);
	test_left_behind(&w);
	test_oom(&w);
	test_return(&w);
	test_agent_killed(&w, argv + 1);
	test_no_launcher(&w);
	test_unknown(&w);
	if (w.ops == &manager_cgroup)
		host_test_cgroup_alone(&w);
	world_close(&w);
	return tap_end();
}
