/* jobfs on a real file system, as root: limits are exact, hostile trees go, crashes leave
 * nothing.  usage: jobfs_holds DIR [IMAGE]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <cmocka.h>
#include "agent/enforce/jobfs.h"
#include "common/err.h"

#define MIB ((int64_t)1 << 20)
#define USER 4242

static struct jobfs_config config;
static struct jobfs *fs;

static void must(int r, const struct err *err)
{
	if (r < 0)
		fail_msg("%d: %s", r, err->text);
}

static struct jobfs_job create(int64_t job, int64_t bytes, int64_t files)
{
	struct jobfs_spec spec = { .job = job,
				   .attempt = 1,
				   .uid = USER,
				   .gid = USER,
				   .limit_bytes = bytes,
				   .limit_files = files,
				   .script = "#!/bin/sh\necho hello\n",
				   .script_size = 21 };
	struct jobfs_job ret;
	struct err err = { "" };

	must(jobfs_create(fs, &spec, &ret, &err), &err);
	return ret;
}

static void drop(const struct jobfs_job *job)
{
	struct err err = { "" };

	must(jobfs_remove_now(fs, job, &err), &err);
}

static struct jobfs_usage usage(const struct jobfs_job *job)
{
	struct jobfs_usage u;
	struct err err = { "" };

	must(jobfs_usage(fs, job, &u, &err), &err);
	return u;
}

static const char *path_of(const struct jobfs_job *job, const char *rest)
{
	static char path[4200];
	char top[4096];

	snprintf(path, sizeof(path), "%s%s", jobfs_path(fs, job, top, sizeof(top)), rest);
	return path;
}

/* Creates the job once its former id is free again: XFS frees inodes in the background, and a
 * killed child's own child may hold files for a moment yet. An id that was never released
 * shows here as another id. */
static struct jobfs_job create_again(const struct jobfs_job *former, int64_t bytes)
{
	struct jobfs_job job = create(former->job, bytes, 0);

	for (int try = 0; job.projid != former->projid && try < 250; try++) {
		drop(&job);
		usleep(20000);
		job = create(former->job, bytes, 0);
	}
	assert_int_equal(job.projid, former->projid);
	return job;
}

static size_t count_jobs(void)
{
	_cleanup_free_ struct jobfs_job *jobs = NULL;
	struct err err = { "" };
	size_t n;

	must(jobfs_list(fs, &jobs, &n, NULL, &err), &err);
	return n;
}

typedef int64_t (*user_fn)(const char *work, int arg);

/* Runs `fn` as the job's user, without capabilities, in its work directory. */
static int64_t as_user(const struct jobfs_job *job, user_fn fn, int arg)
{
	const char *work = path_of(job, "/work");
	int64_t result = -EIO;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setgid(USER) < 0 || setuid(USER) < 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || chdir(work) < 0)
			result = -errno;
		else
			result = fn(work, arg);
		_exit(write(fds[1], &result, sizeof(result)) != sizeof(result));
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &result, sizeof(result)), sizeof(result));
	close(fds[0]);
	waitpid(pid, &status, 0);
	return result;
}

/* Bytes written until the kernel refused; -errno of another kind. */
static int64_t write_until_refused(const char *work, int chunk)
{
	static char data[1 << 20];
	int64_t sum = 0;
	int fd = open("big", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	(void)work;
	memset(data, 'x', sizeof(data));
	while ((n = write(fd, data, (size_t)chunk)) > 0)
		sum += n;
	if (errno != EDQUOT && errno != ENOSPC)
		return -errno;
	while ((n = write(fd, data, 4096)) > 0)
		sum += n;
	return fsync(fd) < 0 ? -errno : sum;
}

static void one_big_file_stops_exactly_at_the_limit(void **unused)
{
	struct jobfs_job job = create(1, 16 * MIB, 0);
	struct jobfs_usage u;

	(void)unused;
	assert_int_equal(usage(&job).bytes, 0);
	for (int chunk = 4096; chunk <= 1 << 20; chunk <<= 4) {
		int64_t n = as_user(&job, write_until_refused, chunk);

		assert_in_range(n, 16 * MIB - 65536, 16 * MIB);
		u = usage(&job);
		assert_in_range(u.bytes, n, 16 * MIB);
		print_message("# %d byte writes: %lld of %lld bytes written\n", chunk,
			      (long long)n, (long long)(16 * MIB));
	}
	assert_true(u.bytes_full);
	drop(&job);
}

static int64_t make_files(const char *work, int unused)
{
	char name[32];
	int64_t n = 0;
	int fd;

	(void)work;
	(void)unused;
	for (;; n++, close(fd)) {
		snprintf(name, sizeof(name), "f%lld", (long long)n);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			return errno == EDQUOT || errno == ENOSPC ? n : -errno;
	}
}

static void small_files_stop_exactly_at_the_inode_limit(void **unused)
{
	struct jobfs_job job = create(2, 64 * MIB, 500);

	(void)unused;
	assert_int_equal(as_user(&job, make_files, 0), 500);
	assert_true(usage(&job).files_full);
	assert_false(usage(&job).bytes_full);
	assert_int_equal(usage(&job).files, 500);
	drop(&job);
}

static int64_t fallocate_one(const char *work, int mib)
{
	int fd = open("alloc", O_WRONLY | O_CREAT, 0600);

	(void)work;
	return fallocate(fd, 0, 0, mib * MIB) < 0 ? -errno : 0;
}

static void preallocation_counts(void **unused)
{
	struct jobfs_job job = create(3, 16 * MIB, 0);
	int64_t r;

	(void)unused;
	r = as_user(&job, fallocate_one, 17);
	assert_true(r == -EDQUOT || r == -ENOSPC);
	assert_true(usage(&job).bytes <= 16 * MIB);
	drop(&job);
	job = create(3, 16 * MIB, 0);
	assert_int_equal(as_user(&job, fallocate_one, 15), 0);
	assert_in_range(usage(&job).bytes, 15 * MIB, 15 * MIB + 65536);
	drop(&job);
}

static void removing_twice_does_not_lift_the_limit_of_the_next_job(void **unused)
{
	struct jobfs_job job = create(17, 4 * MIB, 0), next;

	(void)unused;
	drop(&job);
	next = create_again(&job, 4 * MIB);
	job.job = 18; /* a directory that is gone, with an id that is in use again */
	drop(&job);
	assert_in_range(as_user(&next, write_until_refused, 65536), 4 * MIB - 65536, 4 * MIB);
	drop(&next);
}

static int64_t write_elsewhere(const char *work, int unused)
{
	(void)unused;
	(void)work;
	return open("../x", O_WRONLY | O_CREAT, 0600) < 0 ? -errno : 0;
}

static void directories_are_the_users_and_nobody_elses(void **unused)
{
	static const struct {
		const char *name;
		mode_t mode;
		uid_t uid;
	} want[] = { { "", 0711 | S_IFDIR, 0 },
		     { "/work", 0700 | S_IFDIR, USER },
		     { "/tmp", 01700 | S_IFDIR, USER },
		     { "/vartmp", 01700 | S_IFDIR, USER },
		     { "/script", 0500 | S_IFREG, USER } };
	struct jobfs_job job = create(4, MIB, 0);
	char text[64] = "";
	struct stat st;
	int fd;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_int_equal(lstat(path_of(&job, want[i].name), &st), 0);
		assert_int_equal(st.st_mode, want[i].mode);
		assert_int_equal(st.st_uid, want[i].uid);
	}
	fd = open(path_of(&job, "/script"), O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text)), 21);
	assert_string_equal(text, "#!/bin/sh\necho hello\n");
	close(fd);
	assert_int_equal(as_user(&job, write_elsewhere, 0), -EACCES);
	drop(&job);
}

static void
a_deleted_file_held_open_still_counts_and_frees_its_project_at_the_end(void **unused)
{
	struct jobfs_job job = create(5, 16 * MIB, 0), again;
	static char data[1 << 20];
	int fd = open(path_of(&job, "/work/held"), O_RDWR | O_CREAT, 0600);

	(void)unused;
	for (int i = 0; i < 4; i++)
		assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	fsync(fd);
	unlink(path_of(&job, "/work/held"));
	/* XFS holds blocks beyond the end of an open file. */
	assert_in_range(usage(&job).bytes, 4 * MIB, 16 * MIB);
	drop(&job);
	again = create(5, 16 * MIB, 0); /* its id is still busy: another one */
	assert_int_not_equal(again.projid, job.projid);
	assert_int_equal(usage(&again).bytes, 0);
	close(fd);
	drop(&again);
}

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

/* Makes and drops job 10 over and over, for ever. */
static void churn(void)
{
	for (;;) {
		struct jobfs_job job = create(10, 4 * MIB, 0);

		as_user(&job, leave_a_mess, 20);
		drop(&job);
	}
}

static void kill_9_at_any_moment_leaves_nothing_that_is_not_found(void **unused)
{
	struct jobfs_job first = create(10, MIB, 0);
	int found = 0;

	(void)unused;
	drop(&first);
	for (int i = 0; i < 60; i++) {
		_cleanup_free_ struct jobfs_job *jobs = NULL;
		struct err err = { "" };
		pid_t pid = fork();
		struct jobfs_job again;
		size_t n;

		if (pid == 0)
			churn();
		usleep((useconds_t)(3000 + i * 1777));
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

/* What was removed before may still be on its way. */
static int64_t settled_capacity(void)
{
	int64_t now, last = -1;

	for (int try = 0; try < 50; try++, last = now, usleep(200000)) {
		sync();
		assert_int_equal(jobfs_capacity(fs, &now, NULL), 0);
		if (now == last)
			break;
	}
	return now;
}

static void capacity_stays_while_jobs_write_and_never_exceeds_the_disk(void **unused)
{
	struct jobfs_job job;
	struct statfs st;
	int64_t before, during;

	(void)unused;
	assert_int_equal(statfs(config.dir, &st), 0);
	before = settled_capacity();
	assert_true(before > 0);
	assert_true(before < (int64_t)st.f_blocks * st.f_bsize);
	assert_true(before <= (int64_t)st.f_bavail * st.f_bsize);
	job = create(12, 32 * MIB, 0);
	as_user(&job, write_until_refused, 1 << 20);
	during = settled_capacity();
	assert_in_range(during, before - MIB, before + MIB);
	drop(&job);
}

static int64_t reset_project(const char *work, int unused)
{
	struct fsxattr x;
	int fd = open("escape", O_RDWR | O_CREAT, 0600);

	(void)work;
	(void)unused;
	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return -errno;
	return x.fsx_projid;
}

static void every_file_of_the_user_is_in_the_project(void **unused)
{
	struct jobfs_job a = create(13, MIB, 0), b = create(14, MIB, 0);

	(void)unused;
	assert_true(a.projid > 1 << 24);
	assert_int_not_equal(a.projid, b.projid);
	assert_int_equal(as_user(&a, reset_project, 0), a.projid);
	assert_int_equal(as_user(&b, reset_project, 0), b.projid);
	assert_int_equal(count_jobs(), 2);
	drop(&a);
	drop(&b);
}

static void bad_requests_and_repeats_leave_nothing(void **unused)
{
	struct jobfs_spec spec = { .job = 15, .attempt = 1, .uid = USER, .gid = USER };
	struct jobfs_job job, ret;
	struct err err = { "" };

	(void)unused;
	assert_int_equal(jobfs_create(fs, &spec, &ret, &err), -EINVAL); /* no limit */
	spec.limit_bytes = INT64_MAX;
	assert_int_equal(jobfs_create(fs, &spec, &ret, &err), -EINVAL);
	job = create(15, MIB, 0);
	spec.limit_bytes = MIB;
	assert_int_equal(jobfs_create(fs, &spec, &ret, &err), -EEXIST);
	assert_int_equal(count_jobs(), 1);
	assert_int_equal(usage(&job).bytes, 0); /* the first one is untouched */
	drop(&job);
	assert_int_equal(count_jobs(), 0);
	assert_int_equal(jobfs_usage(fs, &job, &(struct jobfs_usage){ 0 }, &err), -ENOENT);
}

static void what_is_not_ours_is_left_alone(void **unused)
{
	static const char *const names[] = {
		"/home", "/0-1", "/1-0", "/01-1", "/1-1x", "/-1-1"
	};
	_cleanup_free_ struct jobfs_job *jobs = NULL;
	char path[4200];
	int foreign;
	size_t n;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s%s", config.dir, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(jobfs_list(fs, &jobs, &n, &foreign, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(foreign, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s%s", config.dir, names[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

static void directories_that_cannot_serve_are_refused_in_words(void **unused)
{
	struct jobfs_config c = { .dir = "/run/reeve-no-quota" };
	struct err err = { "" };
	struct jobfs *other;

	(void)unused;
	assert_int_equal(jobfs_open(&c, &other, &err), -EOPNOTSUPP); /* tmpfs */
	assert_non_null(strstr(err.text, "prjquota"));
	assert_int_equal(symlink(config.dir, "/run/reeve-link"), 0);
	c.dir = "/run/reeve-link";
	assert_int_equal(jobfs_open(&c, &other, &err), -ELOOP);
	mkdir("/run/reeve-open", 0777);
	chmod("/run/reeve-open", 0777);
	c.dir = "/run/reeve-open";
	assert_int_equal(jobfs_open(&c, &other, &err), -EACCES);
	assert_non_null(strstr(err.text, "chmod 711"));
	c.dir = "/run/no/such/place";
	assert_int_equal(jobfs_open(&c, &other, &err), -ENOENT);
}

static void it_is_found_again_after_a_restart(void **unused)
{
	struct jobfs_job job = create(16, 4 * MIB, 0);
	struct err err = { "" };

	(void)unused;
	as_user(&job, write_until_refused, 65536);
	fs = jobfs_close(fs);
	must(jobfs_open(&config, &fs, &err), &err);
	assert_int_equal(count_jobs(), 1);
	assert_true(usage(&job).bytes_full);
	drop(&job);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_big_file_stops_exactly_at_the_limit),
		cmocka_unit_test(small_files_stop_exactly_at_the_inode_limit),
		cmocka_unit_test(preallocation_counts),
		cmocka_unit_test(removing_twice_does_not_lift_the_limit_of_the_next_job),
		cmocka_unit_test(directories_are_the_users_and_nobody_elses),
		cmocka_unit_test(every_file_of_the_user_is_in_the_project),
		cmocka_unit_test(
			a_deleted_file_held_open_still_counts_and_frees_its_project_at_the_end),
		cmocka_unit_test(anything_a_user_leaves_is_removed_and_nothing_else),
		cmocka_unit_test(a_full_directory_is_removed_too),
		cmocka_unit_test(files_that_escaped_to_another_project_are_removed),
		cmocka_unit_test(a_mount_inside_is_never_entered),
		cmocka_unit_test(kill_9_at_any_moment_leaves_nothing_that_is_not_found),
		cmocka_unit_test(the_event_loop_lives_while_a_large_tree_goes),
		cmocka_unit_test(capacity_stays_while_jobs_write_and_never_exceeds_the_disk),
		cmocka_unit_test(bad_requests_and_repeats_leave_nothing),
		cmocka_unit_test(what_is_not_ours_is_left_alone),
		cmocka_unit_test(directories_that_cannot_serve_are_refused_in_words),
		cmocka_unit_test(it_is_found_again_after_a_restart),
	};
	struct err err = { "" };
	int r;

	if (argc < 2 || geteuid() != 0) {
		fprintf(stderr, "usage, as root: jobfs_holds DIR [IMAGE]\n");
		return 64;
	}
	config = (struct jobfs_config){ .dir = argv[1],
					.image = argc > 2 ? argv[2] : NULL,
					.image_bytes = 600 * MIB };
	if (jobfs_open(&config, &fs, &err) < 0) {
		fprintf(stderr, "jobfs_holds: %s\n", err.text);
		return 1;
	}
	printf("# %s\n", jobfs_describe(fs));
	r = cmocka_run_group_tests(tests, NULL, NULL);
	jobfs_close(fs);
	return r;
}
