/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits DIR [IMAGE] - on a real file system, as root: a job's limits are exact. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include "tests/node/jobfs/rig.h"

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

static void a_deleted_file_held_open_counts_and_keeps_its_project(void **unused)
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

/* What was removed before may still be on its way: the same for a second. */
static int64_t settled_capacity(void)
{
	int64_t now = -1, last = -1;

	for (int try = 0, calm = 0; try < 300 && calm < 5; try++, last = now) {
		usleep(200000);
		sync();
		assert_int_equal(jobfs_capacity(fs, &now, NULL), 0);
		calm = now == last ? calm + 1 : 0;
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

static int run_list(void)
{
	const struct CMUnitTest list[] = {
		cmocka_unit_test(one_big_file_stops_exactly_at_the_limit),
		cmocka_unit_test(small_files_stop_exactly_at_the_inode_limit),
		cmocka_unit_test(preallocation_counts),
		cmocka_unit_test(removing_twice_does_not_lift_the_limit_of_the_next_job),
		cmocka_unit_test(directories_are_the_users_and_nobody_elses),
		cmocka_unit_test(capacity_stays_while_jobs_write_and_never_exceeds_the_disk),
		cmocka_unit_test(every_file_of_the_user_is_in_the_project),
		cmocka_unit_test(a_deleted_file_held_open_counts_and_keeps_its_project),
		cmocka_unit_test(bad_requests_and_repeats_leave_nothing),
		cmocka_unit_test(what_is_not_ours_is_left_alone),
		cmocka_unit_test(directories_that_cannot_serve_are_refused_in_words),
		cmocka_unit_test(it_is_found_again_after_a_restart),
	};

	return cmocka_run_group_tests(list, NULL, NULL);
}

int main(int argc, char **argv)
{
	return rig_run(argc, argv, run_list);
}
