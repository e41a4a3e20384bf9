/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From root to the owner of a job (agent/launch/become_user.c): no key of root's goes along. Needs root. */
#include <errno.h>
#include <linux/keyctl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/launch/launch.h"
#include "common/err.h"

#define USER 54321 /* of no account: its keys are this test's */
#define SECRET "reeve-test-secret"
enum { HAS_NONE, HAS_SECRET, FAILED, NO_KEYS };

static long find_secret(void)
{
	return syscall(SYS_request_key, "user", SECRET, NULL, 0);
}

static long add_key(const char *name, long keyring)
{
	return syscall(SYS_add_key, "user", name, "x", (size_t)1, keyring);
}

/* In a process of its own: no other has this session keyring. */
static int become_beside_secret(void)
{
	const gid_t group = USER;
	struct err err;

	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return NO_KEYS;
	if (add_key(SECRET, KEY_SPEC_SESSION_KEYRING) < 0 || find_secret() < 0)
		return FAILED;
	if (launch_become_user(&(struct launch_user){ USER, USER, &group, 1 }, &err) < 0)
		return FAILED;
	if (getuid() != USER)
		return FAILED;
	return find_secret() < 0 ? HAS_NONE : HAS_SECRET;
}

static int fill_quota(void)
{
	char name[32];

	if (setresuid(USER, USER, USER) < 0)
		return FAILED;
	for (int i = 0; i < 1000000; i++) {
		snprintf(name, sizeof(name), "reeve-test-%d", i);
		if (add_key(name, KEY_SPEC_USER_KEYRING) < 0)
			return errno == EDQUOT ? HAS_NONE : FAILED;
	}
	return FAILED;
}

static int empty_quota(void)
{
	return setresuid(USER, USER, USER) < 0 ||
			       syscall(SYS_keyctl, KEYCTL_CLEAR, KEY_SPEC_USER_KEYRING) < 0
		       ? FAILED
		       : HAS_NONE;
}

static int run_apart(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_job_possesses_no_key_of_roots(void **unused)
{
	int r = run_apart(become_beside_secret);

	(void)unused;
	if (r == NO_KEYS)
		skip();
	assert_int_equal(r, HAS_NONE);
}

static void nor_if_its_user_has_used_up_the_quota_of_keys(void **unused)
{
	int filled, r;

	(void)unused;
	if (run_apart(become_beside_secret) == NO_KEYS)
		skip();
	filled = run_apart(fill_quota);
	r = run_apart(become_beside_secret);
	run_apart(empty_quota);
	assert_int_equal(filled, HAS_NONE);
	assert_int_equal(r, HAS_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_possesses_no_key_of_roots),
		cmocka_unit_test(nor_if_its_user_has_used_up_the_quota_of_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
