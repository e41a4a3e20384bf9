/* SPDX-License-Identifier: GPL-2.0-or-later */
/* testjob.h - cgroups that stand for jobs, processes in them, and TAP lines, for the tests of
 * sampling, events and guard. All cgroups are below one named for the test and the process;
 * they are removed at exit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct testjob {
	char path[256];
	uint64_t id;
	int64_t job;
};

/* TAP. tap_done() prints the plan and returns the exit status. */
bool tap_ok(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tap_skip(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int tap_done(void);

/* The test's own cgroup, made once: jobs go below it. Exits with a bail-out when it cannot. */
const char *testjob_root(const char *test);
/* A job's cgroup, or a sub-cgroup when `name` has a slash in it. */
void testjob_make(struct testjob *j, const char *name, int64_t job);
void testjob_remove(const struct testjob *j);
/* Run fn(arg) in a child inside the job; the child exits with its result. Returns when it is
 * inside. */
pid_t testjob_run(const struct testjob *j, int (*fn)(void *arg), void *arg);
/* Kill what is in the job and wait until it is empty. */
void testjob_kill(const struct testjob *j);
int testjob_write(const struct testjob *j, const char *file, const char *text);
/* -1: no such file. */
int testjob_read(const struct testjob *j, const char *file, char *text, size_t size);
/* The number after `key ` in a file of the job, or of the whole file when key is NULL. */
int64_t testjob_number(const struct testjob *j, const char *file, const char *key);
int testjob_wait(pid_t pid);	   /* wait status */
uint64_t testjob_now_ns(void);	   /* CLOCK_BOOTTIME */
void *testjob_shared(size_t size); /* zeroed memory that children share */
