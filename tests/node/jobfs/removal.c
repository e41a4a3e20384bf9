/* SPDX-License-Identifier: GPL-2.0-or-later */
/* removal DIR [IMAGE] - on a real file system, as root: whatever a job leaves is removed,
 * and a crash at any moment leaves nothing that is not found. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/quota.h"
#include "tests/node/jobfs/rig.h"

/* What a user may leave: deep beyond any path, unreadable, odd names, links to outside. */
static int64_t leave_a_mess(const char *work, int depth)
{
	struct sockaddr_un sock = { .sun_family = AF_UNIX, .sun_path = "socket" };
	char name[256];

	(void)work;
	memset(name, 'n', 255);
	name[255] = '\0';
	if (symlink("/canary", "link") < 0 || symlink("/canary/dir", "dirlink") < 0 ||
	    symlink("loop", "loop") < 0)
		return -errno;
	mkfifo("fifo", 0000);
	bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&sock, sizeof(sock));
	close(open(name, O_CREAT | O_WRONLY, 0000));
	close(open("new\nline \xff", O_CREAT | O_WRONLY, 0000));
	if (link("new\nline \xff", "hard") < 0)
		return -errno;
	mkdir(".moved-0", 0700); /* as the remover calls its own */
	close(open(".moved-0/x", O_CREAT | O_WRONLY, 0000));
	mkdir("locked", 0700);
	mkdir("locked/in", 0700);
	close(open("locked/in/side", O_CREAT | O_WRONLY, 0000));
	chmod("locked/in", 0000);
	chmod("locked", 0000);
	for (int i = 0; i < depth; i++) {
		snprintf(name, sizeof(name), "%d%0200d", i % 7, i);
		close(open("file", O_CREAT | O_WRONLY, 0000));
		mkdir("side", 0700);
		mkdir("side/in", 0700);
		if (mkdir(name, 0700) < 0 || chdir(name) < 0)
			return -errno;
	}
	return 0;
}

static void set_flags(const char *path, int flags)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &flags), 0);
	close(fd);
}

static void anything_a_user_leaves_is_removed_and_nothing_else(void **unused)
{
	struct jobfs_job job = create(6, 256 * MIB, 100000), again;
	int fd;

	(void)unused;
	mkdir("/canary", 0777);
	mkdir("/canary/dir", 0777);
	close(open("/canary/dir/bird", O_CREAT | O_WRONLY, 0666));
	assert_int_equal(as_user(&job, leave_a_mess, 2000), 0);
	mkdir(path_of(&job, "/work/fixed"), 0700);
	close(open(path_of(&job, "/work/fixed/file"), O_CREAT | O_WRONLY, 0600));
	close(open(path_of(&job, "/work/append"), O_CREAT | O_WRONLY, 0600));
	set_flags(path_of(&job, "/work/fixed/file"), FS_IMMUTABLE_FL);
	set_flags(path_of(&job, "/work/fixed"), FS_IMMUTABLE_FL);
	set_flags(path_of(&job, "/work/append"), FS_APPEND_FL);
	fd = open(path_of(&job, "/work/append"), O_RDONLY);
	drop(&job);
	close(fd);
	assert_int_equal(access(path_of(&job, ""), F_OK), -1);
	assert_int_equal(access("/canary/dir/bird", F_OK), 0);
	drop(&job);			 /* already gone is success */
	again = create_again(&job, MIB); /* released */
	drop(&again);
}

static void a_full_directory_is_removed_too(void **unused)
{
	struct jobfs_job job = create(7, 4 * MIB, 1024);

	(void)unused;
	assert_int_equal(as_user(&job, leave_a_mess, 100), 0);
	as_user(&job, make_files, 0);
	as_user(&job, write_until_refused, 65536);
	assert_true(usage(&job).files_full || usage(&job).bytes_full);
	drop(&job);
	assert_int_equal(access(path_of(&job, ""), F_OK), -1);
}

static void files_that_escaped_to_another_project_are_removed(void **unused)
{
	struct jobfs_job job = create(8, 4 * MIB, 0);
	struct fsxattr x;
	int fd;

	(void)unused;
	mkdir(path_of(&job, "/work/out"), 0700);
	mkdir(path_of(&job, "/work/out/in"), 0700);
	mkdir(path_of(&job, "/work/out/in/deep"), 0700);
	fd = open(path_of(&job, "/work/out/in"), O_RDONLY);
	assert_int_equal(ioctl(fd, FS_IOC_FSGETXATTR, &x), 0);
	x.fsx_projid = 0;
	assert_int_equal(ioctl(fd, FS_IOC_FSSETXATTR, &x), 0);
	close(fd);
	drop(&job);
	assert_int_equal(access(path_of(&job, ""), F_OK), -1);
}

static void a_mount_inside_is_never_entered(void **unused)
{
	struct jobfs_job job = create(9, 4 * MIB, 0);
	struct err err = { "" };
	int r;

	(void)unused;
	mkdir("/canary2", 0777);
	close(open("/canary2/bird", O_CREAT | O_WRONLY, 0666));
	mkdir(path_of(&job, "/work/mnt"), 0700);
	assert_int_equal(mount("/canary2", path_of(&job, "/work/mnt"), NULL, MS_BIND, NULL), 0);
	r = jobfs_remove_now(fs, &job, &err);
	assert_true(r == -EBUSY || r == -EXDEV);
	assert_non_null(strstr(err.text, "mnt"));
	assert_int_equal(access("/canary2/bird", F_OK), 0);
	assert_int_equal(count_jobs(), 1); /* still known, so that it is tried again */
	assert_int_equal(umount(path_of(&job, "/work/mnt")), 0);
	drop(&job);
}

/* A process of the user, outside the job, that has a file of it open: writes until refused, or
 * 64 MiB, on demand, and prints how much. */
static pid_t hold_open(const char *path, int go, int told)
{
	static char data[1 << 20];
	int64_t sum = 0;
	pid_t pid = fork();
	ssize_t n;
	char byte;
	int fd;

	if (pid)
		return pid;
	fd = setgid(USER) < 0 || setuid(USER) < 0 ? -1 : open(path, O_WRONLY | O_CREAT, 0600);
	if (write(told, &sum, sizeof(sum)) < 0 || read(go, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < 64 && (n = write(fd, data, sizeof(data))) > 0; i++)
		sum += n;
	fsync(fd);
	_exit(fd < 0 || write(told, &sum, sizeof(sum)) < 0 || read(go, &byte, 1) != 1);
}

static void what_is_open_after_the_removal_cannot_grow_and_its_id_comes_back(void **unused)
{
	struct jobfs_job job = create(19, 4 * MIB, 0), again;
	struct quota_use use = { 0 };
	struct err err = { "" };
	int go[2], told[2], status;
	int64_t sum;
	pid_t pid;

	(void)unused;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(told), 0);
	pid = hold_open(path_of(&job, "/work/held"), go[0], told[1]);
	assert_int_equal(read(told[0], &sum, sizeof(sum)), sizeof(sum));
	drop(&job);
	fs = jobfs_close(fs); /* the next agent goes on with it */
	must(jobfs_open(&config, &fs, &err), &err);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(read(told[0], &sum, sizeof(sum)), sizeof(sum));
	print_message("# %lld bytes were written after the removal\n", (long long)sum);
	assert_in_range(sum, 0, 8192);
	again = create(19, 4 * MIB, 0);
	assert_int_not_equal(again.projid, job.projid); /* it is not free yet */
	drop(&again);
	assert_int_equal(write(go[1], "", 1), 1);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	close(go[0]), close(go[1]), close(told[0]), close(told[1]);
	for (int try = 0; try < 3000; try++) {
		must(jobfs_reclaim(fs, NULL, &err), &err);
		must(quota_get(fs->fd, job.projid, &use, &err), &err);
		if (!use.limit_bytes)
			break;
		usleep(20000);
	}
	assert_int_equal(use.limit_bytes, 0);
	assert_int_equal(use.limit_files, 0);
	again = create_again(&job, MIB);
	drop(&again);
}

/* Makes and drops job 10. */
static void churn_once(void)
{
	struct jobfs_job job = create(10, 4 * MIB, 0);

	as_user(&job, leave_a_mess, 20);
	drop(&job);
}

/* How long that takes on this machine, microseconds. */
static int64_t churn_us(void)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	churn_once();
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
}

static void kill_9_at_any_moment_leaves_nothing_that_is_not_found(void **unused)
{
	struct jobfs_job first = create(10, MIB, 0);
	int64_t cycle_us;
	int found = 0;

	(void)unused;
	drop(&first);
	cycle_us = churn_us();
	for (int i = 0; i < 60; i++) {
		_cleanup_free_ struct jobfs_job *jobs = NULL;
		struct err err = { "" };
		pid_t pid = fork();
		struct jobfs_job again;
		size_t n;

		while (pid == 0) /* over and over, for ever */
			churn_once();
		usleep((useconds_t)(cycle_us * (i % 20 + 1) / 10)); /* up to two rounds of it */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		usleep(i % 5 * 1000);
		must(jobfs_list(fs, &jobs, &n, NULL, &err), &err);
		found += (int)n;
		for (size_t k = 0; k < n; k++)
			drop(&jobs[k]);
		assert_int_equal(count_jobs(), 0);
		again = create_again(&first, MIB); /* no limit was left behind */
		drop(&again);
	}
	print_message("# %d of 60 kills left a directory, all found\n", found);
	assert_true(found > 10);
}

static int n_ticks, n_done, done_result;

static int on_tick(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)usec;
	(void)ctx;
	n_ticks++;
	sd_event_source_set_time_relative(s, 5000);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static void on_removed(void *ctx, const struct jobfs_job *job, int result,
		       const struct err *err)
{
	(void)job;
	n_done++;
	done_result = result;
	if (result < 0)
		print_message("# %s\n", err->text);
	sd_event_exit(ctx, 0);
}

static void the_event_loop_lives_while_a_large_tree_goes(void **unused)
{
	struct jobfs_job job = create(11, 256 * MIB, 20000);
	sd_event *event;
	sd_event_source *tick;
	struct jobfs_removal how = { .done = on_removed };
	struct err err = { "" };

	(void)unused;
	assert_int_equal(as_user(&job, make_files, 0), 20000);
	assert_int_equal(sd_event_new(&event), 0);
	how.event = how.ctx = event;
	sd_event_add_time_relative(event, &tick, CLOCK_MONOTONIC, 5000, 100, on_tick, NULL);
	must(jobfs_remove(fs, &job, &how, &err), &err);
	assert_int_equal(jobfs_remove(fs, &job, &how, &err), -EALREADY);
	assert_int_equal(sd_event_loop(event), 0);
	assert_int_equal(n_done, 1);
	assert_int_equal(done_result, 0);
	assert_true(n_ticks > 5);
	assert_int_equal(count_jobs(), 0);
	sd_event_source_unref(tick);
	sd_event_unref(event);
}

static int run_list(void)
{
	const struct CMUnitTest list[] = {
		cmocka_unit_test(anything_a_user_leaves_is_removed_and_nothing_else),
		cmocka_unit_test(a_full_directory_is_removed_too),
		cmocka_unit_test(files_that_escaped_to_another_project_are_removed),
		cmocka_unit_test(a_mount_inside_is_never_entered),
		cmocka_unit_test(
			what_is_open_after_the_removal_cannot_grow_and_its_id_comes_back),
		cmocka_unit_test(kill_9_at_any_moment_leaves_nothing_that_is_not_found),
		cmocka_unit_test(the_event_loop_lives_while_a_large_tree_goes),
	};

	return cmocka_run_group_tests(list, NULL, NULL);
}

int main(int argc, char **argv)
{
	return rig_run(argc, argv, run_list);
}
