/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs' directories where the site has chosen no limit (Jobfs = none): plain ones on any file
 * system. Needs root. */
#include <errno.h>
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
#include <unistd.h>
#include <cmocka.h>
#include <systemd/sd-event.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "common/err.h"

#define USER 4242
#define MIB ((int64_t)1 << 20)

static char dir[64];
static struct jobfs *fs;

static int open_jobfs(void **state)
{
	struct jobfs_config c = { .dir = dir, .image = "/nowhere/image", .is_unlimited = true };
	struct err err = { "" };

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/reeve-jobfs.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	return jobfs_open(&c, &fs, &err);
}

static int close_jobfs(void **state)
{
	(void)state;
	fs = jobfs_close(fs);
	return rmdir(dir); /* nothing may be left in it */
}

static struct jobfs_job make_job(int64_t job)
{
	struct jobfs_spec spec = { .job = job,
				   .attempt = 2,
				   .uid = USER,
				   .gid = USER,
				   .limit_bytes = MIB,
				   .script = "echo",
				   .script_size = 4 };
	struct jobfs_job ret;

	assert_int_equal(jobfs_create(fs, &spec, &ret, NULL), 0);
	return ret;
}

static void check_mode(const struct jobfs_job *job, const char *name, uid_t owner, mode_t mode)
{
	char path[4200], top[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", jobfs_path(fs, job, top, sizeof(top)), name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, owner);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void a_job_has_its_directory_which_is_the_users_alone(void **state)
{
	struct jobfs_job job = make_job(1);

	(void)state;
	check_mode(&job, "", 0, 0711);
	check_mode(&job, "work", USER, 0700);
	check_mode(&job, "tmp", USER, 01700);
	check_mode(&job, "script", USER, 0500);
	assert_int_equal(jobfs_remove_now(fs, &job, NULL), 0);
}

static void what_it_uses_is_said_not_to_be_measured(void **state)
{
	struct jobfs_job job = make_job(1);
	struct jobfs_usage u;
	struct err err = { "" };

	(void)state;
	assert_true(jobfs_is_unlimited(fs));
	assert_int_equal(jobfs_usage(fs, &job, &u, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "not measured"));
	assert_string_equal(err.text, jobfs_describe(fs));
	assert_int_equal(jobfs_remove_now(fs, &job, NULL), 0);
}

/* As after a restart of the agent: the whole one is the job's, the half-made one is no job's. */
static void directories_are_found_again_and_half_made_ones_known(void **state)
{
	struct jobfs_job one = make_job(1), *list;
	char half[80];
	size_t n;

	(void)state;
	snprintf(half, sizeof(half), "%s/7-1", dir);
	assert_int_equal(mkdir(half, 0700), 0);
	assert_int_equal(jobfs_list(fs, &list, &n, NULL, NULL), 0);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(list[i].projid, list[i].job == 1 ? one.projid : 0);
		assert_int_equal(jobfs_remove_now(fs, &list[i], NULL), 0);
	}
	free(list);
}

static void the_disk_less_the_reserve_is_its_capacity(void **state)
{
	int64_t all, less;
	struct jobfs_config c = { .dir = dir, .is_unlimited = true };
	struct jobfs *other;

	(void)state;
	assert_int_equal(jobfs_capacity(fs, &all, NULL), 0);
	assert_true(all > 0);
	c.reserve_bytes = all / 2;
	assert_int_equal(jobfs_open(&c, &other, NULL), 0);
	assert_int_equal(jobfs_capacity(other, &less, NULL), 0);
	assert_true(less > 0 && less < all * 3 / 4);
	c.reserve_bytes = INT64_MAX / 2;
	jobfs_close(other);
	assert_int_equal(jobfs_open(&c, &other, NULL), 0);
	assert_int_equal(jobfs_capacity(other, &less, NULL), 0);
	assert_int_equal(less, 0);
	jobfs_close(other);
}

struct outcome {
	sd_event *event;
	int n, result;
};

static void on_removed(void *ctx, const struct jobfs_job *job, int result,
		       const struct err *err)
{
	struct outcome *o = ctx;

	(void)job, (void)err;
	o->n++;
	o->result = result;
}

static void begin_removal(struct outcome *o, const struct jobfs_job *job)
{
	struct jobfs_removal how = { o->event, on_removed, o };

	o->n = 0;
	assert_int_equal(jobfs_remove(fs, job, &how, NULL), 0);
	assert_int_equal(jobfs_remove(fs, job, &how, NULL), -EALREADY);
}

static int end_removal(struct outcome *o)
{
	for (int i = 0; i < 50 && !o->n; i++)
		assert_true(sd_event_run(o->event, 1000000) >= 0);
	assert_int_equal(o->n, 1);
	return o->result;
}

static bool is_there(const struct jobfs_job *job)
{
	char path[4096];

	return access(jobfs_path(fs, job, path, sizeof(path)), F_OK) == 0;
}

/* Killed, and dead when this returns; still to be reaped. */
static void kill_remover(void)
{
	siginfo_t info;

	assert_int_equal(kill(fs->remover.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)fs->remover.pid, &info, WEXITED | WNOWAIT), 0);
}

static void one_process_removes_them_all_and_is_replaced_when_it_dies(void **state)
{
	struct jobfs_job one = make_job(1), two = make_job(2), three = make_job(3);
	struct outcome o = { 0 };
	pid_t pid = fs->remover.pid;

	(void)state;
	assert_int_equal(sd_event_new(&o.event), 0);
	begin_removal(&o, &one);
	assert_int_equal(end_removal(&o), 0);
	assert_false(is_there(&one));
	begin_removal(&o, &two);
	assert_int_equal(end_removal(&o), 0);
	assert_false(is_there(&two));
	assert_int_equal(fs->remover.pid, pid);
	kill_remover();
	begin_removal(&o, &three);
	assert_int_equal(end_removal(&o), 0);
	assert_false(is_there(&three));
	assert_int_not_equal(fs->remover.pid, pid);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* no zombie is left */
	sd_event_unref(o.event);
}

static void a_removal_that_is_cut_off_says_so_and_can_be_repeated(void **state)
{
	struct jobfs_job job = make_job(1);
	struct outcome o = { 0 };

	(void)state;
	assert_int_equal(sd_event_new(&o.event), 0);
	assert_int_equal(kill(fs->remover.pid, SIGSTOP), 0);
	begin_removal(&o, &job);
	kill_remover();
	assert_int_equal(end_removal(&o), -EIO);
	assert_true(is_there(&job));
	begin_removal(&o, &job);
	assert_int_equal(end_removal(&o), 0);
	assert_false(is_there(&job));
	sd_event_unref(o.event);
}

/* More than the kernel queues for other kinds of sockets, and more than are removed meanwhile. */
static void hundreds_at_once_are_all_removed(void **state)
{
	enum { COUNT = 300 };
	struct outcome o = { 0 };
	struct jobfs_removal how = { .done = on_removed, .ctx = &o };
	struct jobfs_job jobs[COUNT];

	(void)state;
	assert_int_equal(sd_event_new(&o.event), 0);
	how.event = o.event;
	for (int i = 0; i < COUNT; i++)
		jobs[i] = make_job(i + 1);
	assert_int_equal(kill(fs->remover.pid, SIGSTOP), 0);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(jobfs_remove(fs, &jobs[i], &how, NULL), 0);
	assert_int_equal(kill(fs->remover.pid, SIGCONT), 0);
	while (o.n < COUNT && sd_event_run(o.event, 50000000) > 0)
		assert_int_equal(o.result, 0);
	assert_int_equal(o.n, COUNT);
	sd_event_unref(o.event);
}

#define WITH_DIR(f) cmocka_unit_test_setup_teardown(f, open_jobfs, close_jobfs)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(a_job_has_its_directory_which_is_the_users_alone),
		WITH_DIR(what_it_uses_is_said_not_to_be_measured),
		WITH_DIR(directories_are_found_again_and_half_made_ones_known),
		WITH_DIR(the_disk_less_the_reserve_is_its_capacity),
		WITH_DIR(one_process_removes_them_all_and_is_replaced_when_it_dies),
		WITH_DIR(a_removal_that_is_cut_off_says_so_and_can_be_repeated),
		WITH_DIR(hundreds_at_once_are_all_removed),
	};

	if (geteuid() != 0) {
		puts("1..0 # SKIP needs root");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
