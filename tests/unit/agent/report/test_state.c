/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_state - what the agent has saved of its jobs is loaded again, whatever happens in between. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "agent/report/state.h"
#include "agent/report/store.h"
#include "common/err.h"
#include "common/model/series/series.h"
#include "tests/unit/rig/db_fault.h"

static char dir[] = "/tmp/reeve-test-state-XXXXXX";
static char path[128];

static int make_dir(void **unused)
{
	(void)unused;
	if (db_fault_install() < 0 || !mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/agent.db", dir);
	return 0;
}

static int empty_dir(void **unused)
{
	char command[256];

	(void)unused;
	db_fault_left = 0;
	snprintf(command, sizeof(command), "rm -rf '%s' && mkdir '%s'", dir, dir);
	return system(command) ? -1 : 0;
}

static int drop_dir(void **unused)
{
	(void)unused;
	empty_dir(NULL);
	return rmdir(dir);
}

static struct db *open_store(void)
{
	struct err err = { "" };
	struct db *db;

	if (store_open(path, &db, &err) != 0)
		fail_msg("%s", err.text);
	return db;
}

static char *words[] = { (char *)"sleep", (char *)"10", NULL };
static char *environment[] = { (char *)"A=1", (char *)"B=ä", NULL };

static const struct job_end limit_end = { .kind = END_LIMIT,
					  .exit_status = -1,
					  .signal = 9,
					  .reason = { .limit = LIMIT_VMEM,
						      .requested = 1 << 30,
						      .reached = 2LL << 30,
						      .at_ns = 5,
						      .host = "n1" } };

/* Borrowed texts and arrays: not for state_attempt_done(). What an earlier fill_attempt() made goes. */
static void fill_attempt(struct state_attempt *a, int64_t job)
{
	struct usage u = { 0 };

	free(a->end.reason);
	free(a->usage);
	free(a->base);
	state_attempt_init(a);
	a->job = a->jobfs.job = job;
	a->attempt = a->jobfs.attempt = 2;
	a->state = JOB_SUSPENDED;
	strcpy(a->step, "frozen");
	strcpy(a->wanted, "suspend");
	strcpy(a->unit, "reeve-7-2.service");
	a->cgroup_id = UINT64_MAX - 5;
	a->pid = 4711;
	cpulist_parse("2-5,66", &a->cpus, NULL);
	cpulist_parse("0-1", &a->mem_nodes, NULL);
	a->mem_max_bytes = INT64_MAX;
	a->slurm_nodes = 2;
	a->slurm_ncpus = 48;
	a->slurm_ngpus = 8;
	a->pbs_sister = 1;
	a->jobfs.projid = 0x7fffffff;
	a->jobfs.limit_bytes = 500 << 20;
	a->jobfs.base_bytes = 20480;
	a->clock = (struct state_clock){ 11, 22, 33, "boot-a", 44, 0 };
	a->err_path = (char *)"/home/ä/x.e7";
	a->err_dev = 1ULL << 40;
	a->err_ino = UINT64_MAX;
	a->cgroup = (char *)"/reeve.slice/reeve-7-2.service";
	a->note = (char *)"not guarded for 2 s";
	a->gpus = (char *)"GPU-1,MIG-2";
	state_end_set(a, &limit_end);
	usage_set(&u, &u.cpu_ns, 123456789);
	u.cores[u.n_cores++] = (struct usage_core){ 3, 23456789 };
	u.cores[u.n_cores++] = (struct usage_core){ 66, 100000000 };
	assert_int_equal(state_usage_set(a, &u), 0);
	u.cpu_ns = 1000;
	assert_int_equal(state_base_set(a, &u), 0);
	strcpy(a->request.name, "x");
	a->request.res.ncpus = 4;
	a->request.argv = words;
	a->request.env = environment;
	a->request.workdir = (char *)"/home/ä";
}

struct seen {
	struct state_attempt a;
	int n, bad;
	char why[512];
};

static int on_attempt(void *ctx, struct state_attempt *a, bool bad, const struct err *err)
{
	struct seen *s = ctx;

	s->n++;
	s->bad += bad;
	if (bad)
		snprintf(s->why, sizeof(s->why), "%s", err->text);
	state_attempt_done(&s->a);
	state_attempt_take(&s->a, a);
	return 0;
}

static struct seen *load_states(struct db *db)
{
	static struct seen seen;
	struct err err = { "" };

	state_attempt_done(&seen.a);
	memset(&seen, 0, sizeof(seen));
	if (state_load(db, on_attempt, &seen, &err) < 0)
		fail_msg("%s", err.text);
	return &seen;
}

static void a_saved_attempt_is_loaded_whole(void **unused)
{
	static struct state_attempt a;
	struct db *db = open_store();
	struct job_end end;
	struct usage usage, base;
	struct seen *s;

	(void)unused;
	fill_attempt(&a, 7);
	assert_int_equal(state_save(db, &a, NULL), 0);
	db_close(db);
	db = open_store();
	s = load_states(db);
	state_end_get(&s->a, &end);
	state_usage_get(&s->a, &usage);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->bad, 0);
	assert_string_equal(s->a.request.argv[1], "10");
	assert_string_equal(s->a.request.env[1], "B=ä");
	assert_string_equal(s->a.request.workdir, "/home/ä");
	assert_int_equal(s->a.request.res.ncpus, 4);
	assert_int_equal(s->a.end.kind, END_LIMIT);
	assert_int_equal(end.signal, 9);
	assert_int_equal(end.reason.reached, 2LL << 30);
	assert_string_equal(end.reason.host, "n1");
	assert_int_equal(usage.cpu_ns, 123456789);
	assert_true(usage_has(&usage, &usage.cpu_ns));
	assert_false(usage_has(&usage, &usage.vmem_bytes));
	state_base_get(&s->a, &base);
	assert_int_equal(base.cpu_ns, 1000);
	assert_int_equal(usage.n_cores, 2);
	assert_int_equal(usage.cores[1].cpu, 66);
	assert_int_equal(usage.cores[1].ns, 100000000);
	/* Every plain member, byte for byte. */
	assert_memory_equal(&s->a, &a, offsetof(struct state_attempt, err_path));
	assert_string_equal(s->a.err_path, a.err_path);
	assert_int_equal(s->a.err_dev, a.err_dev);
	assert_int_equal(s->a.err_ino, a.err_ino);
	assert_string_equal(s->a.cgroup, a.cgroup);
	assert_string_equal(s->a.note, a.note);
	assert_string_equal(s->a.gpus, a.gpus);
	db_close(db);
}

static struct db *save_first(struct state_attempt *a)
{
	struct db *db = open_store();

	fill_attempt(a, 7);
	assert_int_equal(state_save(db, a, NULL), 0);
	return db;
}

static void a_row_of_an_older_agent_is_whole(void **unused)
{
	static struct state_attempt a;
	struct db *db = save_first(&a);
	struct seen *s;

	(void)unused;
	assert_int_equal(
		db_run(db, NULL,
		       "UPDATE attempts SET body = json_remove(body, '$.slurm_nodes', '$.slurm_ncpus', '$.slurm_ngpus', '$.pbs_sister')",
		       ""),
		0);
	s = load_states(db);
	assert_int_equal(s->bad, 0);
	assert_int_equal(s->a.slurm_ncpus, 0);
	assert_int_equal(s->a.slurm_ngpus, 0);
	assert_int_equal(s->a.pbs_sister, 0);
	db_close(db);
}

/* The points of a job go on where they were; a row whose points are damaged still gives the job. */
static void the_points_of_a_job_survive_the_agent(void **unused)
{
	static struct state_attempt a;
	struct series_sample x = { 25000, { 40000, 1024, -1, -1, -1, -1, -1 }, 0 };
	struct db *db = open_store();
	struct series points, back;
	struct seen *s;

	(void)unused;
	fill_attempt(&a, 7);
	series_init(&points, 10000);
	assert_int_equal(series_add(&points, &x), 0);
	assert_int_equal(state_series_set(&a, &points), 0);
	assert_int_equal(state_save(db, &a, NULL), 0);
	s = load_states(db);
	assert_int_equal(s->bad, 0);
	assert_non_null(s->a.series);
	assert_int_equal(state_series_get(&s->a, &back), 0);
	assert_int_equal(series_points(&back), 3);
	x.elapsed_ms = 35000;
	x.value[SERIES_CPU_MS] = 60000;
	assert_int_equal(series_add(&back, &x), 0);
	assert_int_equal(series_total(&back, SERIES_CPU_MS), 60000);
	series_done(&back);
	assert_int_equal(db_run(db, NULL,
				"UPDATE attempts SET body = json_set(body, '$.series', 'AAAA')",
				""),
			 0);
	s = load_states(db);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->bad, 0);
	assert_null(s->a.series);
	series_done(&points);
	free(a.series);
	db_close(db);
}

/* Figures that were measured as 0 stay apart from those that were not, and the cores from both, also when fewer or more are
 * measured than before. */
static void a_usage_keeps_what_was_measured_and_no_more(void **unused)
{
	static struct state_attempt a;
	struct usage u = { 0 }, back;

	(void)unused;
	state_usage_get(&a, &back);
	assert_int_equal(back.have, 0);
	for (int i = 0; usage_fields[i].name; i++) {
		int64_t *field = (int64_t *)((char *)&u + usage_fields[i].offset);

		usage_set(&u, field, i % 3 ? INT64_C(1) << (i % 50) : 0);
		u.cores[u.n_cores++] = (struct usage_core){ i, 1000 + i };
		assert_int_equal(state_usage_set(&a, &u), 0);
		state_usage_get(&a, &back);
		assert_memory_equal(&back, &u, sizeof(u));
	}
	u = (struct usage){ 0 };
	usage_set(&u, &u.gpu_busy_ns, 7);
	assert_int_equal(state_usage_set(&a, &u), 0);
	state_usage_get(&a, &back);
	assert_memory_equal(&back, &u, sizeof(u));
	free(a.usage);
}

static void a_second_save_changes_all_but_the_request(void **unused)
{
	static struct state_attempt a;
	struct db *db = save_first(&a);
	struct seen *s;

	(void)unused;
	a.state = JOB_RUNNING;
	strcpy(a.step, "running");
	a.clock.running_ns = 99;
	a.request.res.ncpus = 1;
	assert_int_equal(state_save(db, &a, NULL), 0);
	s = load_states(db);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->a.state, JOB_RUNNING);
	assert_string_equal(s->a.step, "running");
	assert_int_equal(s->a.clock.running_ns, 99);
	assert_int_equal(s->a.request.res.ncpus, 4);
	assert_int_equal(state_forget(db, 7, 2, NULL), 0);
	assert_int_equal(state_forget(db, 7, 2, NULL), 0);
	assert_int_equal(load_states(db)->n, 0);
	db_close(db);
}

static void a_command_that_was_dropped_from_memory_is_loaded_again(void **unused)
{
	static struct state_attempt a;
	struct db *db = save_first(&a);
	struct seen *s;

	(void)unused;
	s = load_states(db);
	request_shed(&s->a.request);
	assert_null(s->a.request.argv);
	assert_null(s->a.request.env);
	assert_string_equal(s->a.request.workdir, "/home/ä");
	/* Saving without them takes nothing away. */
	assert_int_equal(state_save(db, &s->a, NULL), 0);
	assert_int_equal(state_load_command(db, 7, 2, &s->a.request, NULL), 0);
	assert_string_equal(s->a.request.argv[1], "10");
	assert_string_equal(s->a.request.env[1], "B=ä");
	assert_string_equal(s->a.request.workdir, "/home/ä");
	assert_int_equal(state_load_command(db, 8, 2, &s->a.request, NULL), -ENOENT);
	db_close(db);
}

static int forget_it(void *ctx, struct state_attempt *a, bool bad, const struct err *err)
{
	(void)bad;
	(void)err;
	return state_forget(ctx, a->job, a->attempt, NULL);
}

static void rows_may_be_deleted_while_they_are_listed(void **unused)
{
	static struct state_attempt a;
	struct db *db = open_store();

	(void)unused;
	for (int64_t job = 1; job <= 20; job++) {
		fill_attempt(&a, job);
		assert_int_equal(state_save(db, &a, NULL), 0);
	}
	assert_int_equal(load_states(db)->n, 20);
	assert_int_equal(state_load(db, forget_it, db, NULL), 0);
	assert_int_equal(load_states(db)->n, 0);
	db_close(db);
}

static void a_damaged_row_is_reported_as_bad_and_hides_no_other(void **unused)
{
	static struct state_attempt a;
	struct db *db = open_store();
	struct seen *s;

	(void)unused;
	fill_attempt(&a, 1);
	assert_int_equal(state_save(db, &a, NULL), 0);
	fill_attempt(&a, 2);
	assert_int_equal(state_save(db, &a, NULL), 0);
	assert_int_equal(db_run(db, NULL, "UPDATE attempts SET body = '{}' WHERE job = 1", ""),
			 0);
	s = load_states(db);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->bad, 1);
	assert_non_null(strstr(s->why, "saved state of job 1"));
	assert_int_equal(s->a.job, 2);
	db_close(db);
}

/* A job that could not be saved could not be ended either. */
static void text_that_is_not_utf8_keeps_no_job_from_being_saved(void **unused)
{
	static struct state_attempt a;
	struct db *db = open_store();
	struct job_end end;
	struct seen *s;

	(void)unused;
	fill_attempt(&a, 7);
	a.note = (char *)"process 9 (\xff\xfe) tried";
	a.err_path = (char *)"/home/\xd0";
	strcpy(a.step, "\xff");
	state_end_get(&a, &end);
	strcpy(end.reason.text, "no directory \xd0\x96\xd0");
	strcpy(end.reason.host, "n\xff");
	strcpy(end.reason.procs[0].comm, "\xff\xfe");
	state_end_set(&a, &end);
	assert_int_equal(state_save(db, &a, NULL), 0);
	s = load_states(db);
	assert_int_equal(s->bad, 0);
	assert_string_equal(s->a.note, "process 9 (?"
				       "?) tried");
	assert_string_equal(s->a.err_path, "/home/");
	assert_string_equal(s->a.end.reason->text, "no directory \xd0\x96");
	db_close(db);
}

/* For every n: the n-th write of a save fails. The save reports it; what is then on disk is the
 * former or the new state, whole; and the next save works. */
static void a_failed_write_leaves_the_old_or_the_new_state(void **unused)
{
	static struct state_attempt a;
	int failures = 0;

	(void)unused;
	for (int n = 1; n < 200; n++) {
		struct db *db;
		struct seen *s;
		int r;

		empty_dir(NULL);
		db = open_store();
		fill_attempt(&a, 7);
		assert_int_equal(state_save(db, &a, NULL), 0);
		a.clock.running_ns = 1000;
		strcpy(a.step, "later");
		db_fault_left = n;
		db_fault_errno = n % 2 ? ENOSPC : EIO;
		r = state_save(db, &a, NULL);
		if (db_fault_left) { /* fewer than n writes: all cases seen */
			assert_int_equal(r, 0);
			db_fault_left = 0;
			db_close(db);
			break;
		}
		failures += r < 0;
		s = load_states(db);
		assert_int_equal(s->n, 1);
		assert_int_equal(s->a.clock.running_ns, r < 0 ? 11 : 1000);
		assert_string_equal(s->a.step, r < 0 ? "frozen" : "later");
		assert_int_equal(state_save(db, &a, NULL), 0);
		db_close(db);
		db = open_store();
		assert_int_equal(load_states(db)->a.clock.running_ns, 1000);
		db_close(db);
	}
	assert_true(failures > 0);
}

/* A child saves 1, 2, 3 ... and reports each; it is killed with -9 at some moment. What
 * it said is there, and never more than one that it had not said yet. */
static void kill_9_loses_nothing_that_was_saved(void **unused)
{
	static struct state_attempt a;

	(void)unused;
	for (int round = 0; round < 20; round++) {
		int64_t said = 0, v;
		int fds[2];
		struct db *db;
		pid_t pid;

		empty_dir(NULL);
		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			db = open_store();
			fill_attempt(&a, 7);
			for (v = 1;; v++) {
				a.clock.running_ns = v;
				if (state_save(db, &a, NULL) < 0 ||
				    write(fds[1], &v, sizeof(v)) < 0)
					_exit(1);
			}
		}
		close(fds[1]);
		for (int i = 0; i < 5 + round; i++)
			assert_int_equal(read(fds[0], &said, sizeof(said)), sizeof(said));
		usleep((useconds_t)(round * 137));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(fds[0], &v, sizeof(v)) == sizeof(v))
			said = v;
		close(fds[0]);
		db = open_store();
		assert_in_range(load_states(db)->a.clock.running_ns, said, said + 1);
		db_close(db);
	}
}

static void spoil_bytes(off_t from, size_t n)
{
	int fd = open(path, O_WRONLY);

	for (size_t i = 0; i < n; i++)
		assert_int_equal(pwrite(fd, "\x5a", 1, from + (off_t)i), 1);
	close(fd);
}

static void a_damaged_store_is_set_aside_with_a_message(void **unused)
{
	static struct state_attempt a;
	struct err err = { "" };
	struct db *db;
	char aside[160];

	(void)unused;
	for (int damage = 0; damage < 3; damage++) {
		db = open_store();
		for (int64_t job = 1; job <= 50; job++) {
			fill_attempt(&a, job);
			assert_int_equal(state_save(db, &a, NULL), 0);
		}
		db_close(db);
		spoil_bytes(damage == 0	  ? 0
			    : damage == 1 ? 4096
					  : 100,
			    damage == 1 ? 8192 : 64);
		assert_int_equal(store_open(path, &db, &err), STORE_SET_ASIDE);
		snprintf(aside, sizeof(aside), "%s.damaged-%d", path, damage + 1);
		assert_non_null(strstr(err.text, aside));
		assert_int_equal(access(aside, F_OK), 0);
		assert_int_equal(load_states(db)->n, 0);
		fill_attempt(&a, 7);
		assert_int_equal(state_save(db, &a, NULL), 0);
		db_close(db);
		assert_int_equal(remove(path), 0);
	}
}

static void a_store_that_cannot_be_opened_is_an_error_and_stays(void **unused)
{
	struct err err = { "" };
	struct db *db;

	(void)unused;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(store_open(path, &db, &err) < 0);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(access(path, F_OK), 0);
}

static void boots_are_counted_once_each(void **unused)
{
	struct db *db = open_store();
	int64_t n;

	(void)unused;
	assert_int_equal(state_boot(db, "aaa", &n, NULL), STATE_NEW_BOOT);
	assert_int_equal(n, 1);
	assert_int_equal(state_boot(db, "aaa", &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(state_boot(db, "bbb", &n, NULL), STATE_NEW_BOOT);
	assert_int_equal(n, 2);
	db_close(db);
}

static void settings_are_kept_and_unset_ones_are_told_apart(void **unused)
{
	struct db *db = open_store();
	char value[8];

	(void)unused;
	assert_int_equal(state_get(db, "drain", value, sizeof(value), NULL), -ENOENT);
	assert_int_equal(state_set(db, "drain", "yes", NULL), 0);
	assert_int_equal(state_set(db, "drain", "no", NULL), 0);
	assert_int_equal(state_get(db, "drain", value, sizeof(value), NULL), 0);
	assert_string_equal(value, "no");
	assert_int_equal(state_set(db, "drain", "12345678", NULL), 0);
	assert_int_equal(state_get(db, "drain", value, sizeof(value), NULL), -ENAMETOOLONG);
	db_close(db);
}

#define TEST(f) cmocka_unit_test_setup(f, empty_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_saved_attempt_is_loaded_whole),
		TEST(a_row_of_an_older_agent_is_whole),
		TEST(the_points_of_a_job_survive_the_agent),
		TEST(a_usage_keeps_what_was_measured_and_no_more),
		TEST(a_second_save_changes_all_but_the_request),
		TEST(a_command_that_was_dropped_from_memory_is_loaded_again),
		TEST(rows_may_be_deleted_while_they_are_listed),
		TEST(a_damaged_row_is_reported_as_bad_and_hides_no_other),
		TEST(text_that_is_not_utf8_keeps_no_job_from_being_saved),
		TEST(a_failed_write_leaves_the_old_or_the_new_state),
		TEST(kill_9_loses_nothing_that_was_saved),
		TEST(a_damaged_store_is_set_aside_with_a_message),
		TEST(a_store_that_cannot_be_opened_is_an_error_and_stays),
		TEST(boots_are_counted_once_each),
		TEST(settings_are_kept_and_unset_ones_are_told_apart),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
