/* test_auth - a credential is worth something once, for what it was made for, with munged
 * there. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/socket.h>
#include <time.h>
#include <cmocka.h>
#include "common/auth/auth.h"
#include "common/cleanup.h"
#include "common/err.h"

static char dir[] = "/tmp/reeve-auth-XXXXXX", sock[96], other[96];

static int start_munged(const char *name, char socket_path[96])
{
	char command[1024];

	snprintf(socket_path, 96, "%s/%s.sock", dir, name);
	snprintf(command, sizeof(command),
		 "cd %s && head -c 128 /dev/urandom >%s.key && chmod 600 %s.key && "
		 "PATH=$PATH:/usr/sbin "
		 "munged --force --key-file=%s/%s.key --socket=%s --pid-file=%s/%s.pid "
		 "--seed-file=%s/%s.seed --log-file=%s/%s.log 2>%s/%s.err",
		 dir, name, name, dir, name, socket_path, dir, name, dir, name, dir, name, dir,
		 name);
	return system(command) == 0 ? 0 : -1;
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	return start_munged("ours", sock) < 0 || start_munged("other", other) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command),
		 "cd %s && for f in *.pid; do p=$(cat $f) && kill $p && while kill -0 $p "
		 "2>/dev/null;"
		 " do :; done; done; cd / && rm -rf %s",
		 dir, dir);
	return system(command) == 0 ? 0 : -1;
}

static const struct auth_text text = { "POST /v1/jobs", "body", 4 };

static void what_was_signed_is_verified_once(void **state)
{
	char credential[AUTH_HEADER_MAX];
	struct auth_who who = { 0 };
	struct err err = { "" };

	(void)state;
	assert_int_equal(auth_sign(sock, text, credential, &err), 0);
	assert_int_equal(strncmp(credential, "Munge MUNGE:", 12), 0);
	assert_int_equal(auth_verify(sock, credential, text, &who, &err), 0);
	assert_int_equal(who.uid, getuid());
	assert_int_equal(who.gid, getgid());
	assert_true(*who.host);
	assert_int_equal(auth_verify(sock, credential, text, &who, &err), -EACCES);
	assert_non_null(strstr(err.text, "eplayed"));
}

static void no_other_text_passes(void **state)
{
	static const struct auth_text others[] = {
		{ "GET /v1/jobs", "body", 4 },	  { "POST /v1/jobs", "Body", 4 },
		{ "POST /v1/jobs", "body", 3 },	  { "POST /v1/jobs", "", 0 },
		{ "POST /v1/jobs\nb", "ody", 3 }, { "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		char credential[AUTH_HEADER_MAX];
		struct auth_who who;
		struct err err = { "" };

		assert_int_equal(auth_sign(sock, text, credential, &err), 0);
		assert_int_equal(auth_verify(sock, credential, others[i], &who, &err), -EACCES);
		assert_null(strstr(err.text, "MUNGE:"));
	}
}

static void damaged_foreign_and_missing_credentials_are_refused(void **state)
{
	char credential[AUTH_HEADER_MAX], copy[2 * AUTH_HEADER_MAX];
	struct auth_who who;
	struct err err;

	(void)state;
	assert_int_equal(auth_sign(sock, text, credential, &err), 0);
	assert_int_equal(auth_verify(other, credential, text, &who, &err), -EACCES);
	for (size_t i = 0; credential[i]; i += 7) {
		strcpy(copy, credential);
		copy[i] = copy[i] == 'x' ? 'y' : 'x';
		/* Base64 has bits to spare at its end: what still decodes was not altered. */
		if (i + 4 < strlen(credential))
			assert_int_equal(auth_verify(sock, copy, text, &who, &err), -EACCES);
	}
	assert_int_equal(auth_verify(sock, NULL, text, &who, &err), -EACCES);
	assert_int_equal(auth_verify(sock, "", text, &who, &err), -EACCES);
	assert_int_equal(auth_verify(sock, "Basic YTpi", text, &who, &err), -EACCES);
	memset(copy, 'A', sizeof(copy) - 1);
	memcpy(copy, "Munge ", 6);
	copy[sizeof(copy) - 1] = '\0';
	assert_int_equal(auth_verify(sock, copy, text, &who, &err), -EACCES);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void a_munged_that_is_away_is_noticed_at_once(void **state)
{
	struct sockaddr_un stale = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char credential[AUTH_HEADER_MAX];
	struct err err = { "" };
	int64_t start = now_ms();

	(void)state;
	snprintf(stale.sun_path, sizeof(stale.sun_path), "%s/stale", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&stale, sizeof(stale)), 0);
	close(TAKE_FD(fd));
	assert_int_equal(auth_sign(stale.sun_path, text, credential, &err), -ENOENT);
	assert_int_equal(auth_sign("/nonexistent", text, credential, &err), -ENOENT);
	assert_non_null(strstr(err.text, "systemctl start munge"));
	assert_true(now_ms() - start < 500);
}

static void who_it_is_is_known_before_the_body_is(void **state)
{
	static const struct auth_text foreign = { "POST /v1/jobs", "other", 5 };
	char credential[AUTH_HEADER_MAX];
	struct auth_said said;
	struct err err = { "" };

	(void)state;
	assert_int_equal(auth_sign(sock, text, credential, &err), 0);
	assert_int_equal(auth_decode(sock, credential, &said, &err), 0);
	assert_int_equal(said.who.uid, getuid());
	assert_int_equal(auth_match(&said, foreign, &err), -EACCES);
	assert_int_equal(auth_match(&said, text, &err), 0);
	/* It is used up, whatever came of its body. */
	assert_int_equal(auth_decode(sock, credential, &said, &err), -EACCES);
}

/* Anybody may send anything: munged is asked only about what can be a credential. */
static void what_cannot_be_a_credential_does_not_reach_munged(void **state)
{
	static const char *const bad[] = { "Munge x",	       "Munge MUNGE:",
					   "Munge MUNGE::",    "Munge MUNGE:AA",
					   "Munge MUNGE:A A:", "Munge MUNGE:A:A:" };
	struct auth_said said;
	struct err err = { "" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(auth_decode("/nowhere", bad[i], &said, &err), -EACCES);
	assert_int_equal(auth_decode("/nowhere", "Munge MUNGE:AA:", &said, &err), -ENOENT);
}

static void names_and_numbers_agree(void **state)
{
	char name[64];
	uint32_t uid, gid;
	struct err err = { "" };

	(void)state;
	assert_int_equal(auth_user_name(0, name, sizeof(name), &err), 0);
	assert_string_equal(name, "root");
	assert_int_equal(auth_user_lookup("root", &uid, &gid, &err), 0);
	assert_int_equal(uid, 0);
	assert_int_equal(auth_user_name(4242424, name, sizeof(name), &err), -ENOENT);
	assert_non_null(strstr(err.text, "4242424"));
	assert_int_equal(auth_user_lookup("no-such-user", &uid, &gid, &err), -ENOENT);
	assert_int_equal(auth_user_name(0, name, 3, &err), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_signed_is_verified_once),
		cmocka_unit_test(no_other_text_passes),
		cmocka_unit_test(damaged_foreign_and_missing_credentials_are_refused),
		cmocka_unit_test(a_munged_that_is_away_is_noticed_at_once),
		cmocka_unit_test(who_it_is_is_known_before_the_body_is),
		cmocka_unit_test(what_cannot_be_a_credential_does_not_reach_munged),
		cmocka_unit_test(names_and_numbers_agree),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
