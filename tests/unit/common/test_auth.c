/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_auth - a credential is good once and for its purpose alone; a munged that does not answer is an error. */
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
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

static const struct auth_text text = { "POST /v1/jobs", "body", 4, NULL };

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
		{ "GET /v1/jobs", "body", 4, NULL },	{ "POST /v1/jobs", "Body", 4, NULL },
		{ "POST /v1/jobs", "body", 3, NULL },	{ "POST /v1/jobs", "", 0, NULL },
		{ "POST /v1/jobs\nb", "ody", 3, NULL }, { "", "", 0, NULL },
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
	for (size_t i = 0; i < strlen(credential); i += 7) {
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

static void a_munged_that_does_not_run_is_an_error_at_once(void **state)
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

static void the_caller_is_known_before_the_body_is_read(void **state)
{
	static const struct auth_text foreign = { "POST /v1/jobs", "other", 5, NULL };
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

/* Any user may send any bytes: munged gets only what can be a credential. */
static void a_text_that_is_no_credential_is_not_sent_to_munged(void **state)
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

/* ---- what only one reader is to have ---- */

__attribute__((format(printf, 1, 2))) static int command(const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_text_sealed_for_the_controller_is_read_by_no_other_user(void **state)
{
	static const uint32_t reader = 1;
	struct auth_text mine = text;
	char credential[AUTH_HEADER_MAX];
	struct auth_who who;
	struct err err = { "" };

	(void)state;
	mine.reader = &reader;
	assert_int_equal(auth_sign(sock, mine, credential, &err), 0);
	assert_int_equal(auth_verify(sock, credential, text, &who, &err), -EACCES);
	assert_non_null(strstr(err.text, "nauthorized"));
	assert_int_equal(command("setpriv --reuid 1 --regid 1 --clear-groups unmunge -S %s "
				 "<<'E' | grep -q 'TTL: *60$'\n%s\nE",
				 sock, credential + strlen("Munge ")),
			 0);
}

static char *seal_for(uint32_t reader)
{
	struct auth_seal seal = { "what was said", strlen("what was said"), reader };
	struct err err = { "" };
	char *credential = NULL;

	if (auth_seal(sock, &seal, &credential, &err) < 0)
		fail_msg("%s", err.text);
	return credential;
}

static void a_sealed_text_is_read_repeatedly_by_its_reader_alone(void **state)
{
	_cleanup_free_ char *mine = seal_for(getuid()), *others = seal_for(1);
	struct auth_sealed s;
	struct err err = { "" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(auth_unseal(sock, mine, &s, &err), 0);
		assert_string_equal(s.text, "what was said");
		assert_int_equal(s.size, strlen("what was said"));
		assert_int_equal(s.who.uid, getuid());
		assert_in_range(s.made_s, time(NULL) - 60, time(NULL));
		auth_sealed_done(&s);
	}
	assert_int_equal(auth_unseal(sock, others, &s, &err), -EACCES);
	assert_non_null(strstr(err.text, "nauthorized"));
}

static void a_sealed_text_that_has_expired_still_says_who_wrote_it_and_when(void **state)
{
	char out[256], credential[AUTH_HEADER_MAX];
	struct auth_sealed s;
	struct err err = { "" };
	FILE *f;

	(void)state;
	snprintf(out, sizeof(out), "%s/old", dir);
	assert_int_equal(command("setpriv --reuid 2 --regid 2 --clear-groups munge -S %s -t 1 "
				 "-u 0 -s old >%s && sleep 2.1",
				 sock, out),
			 0);
	f = fopen(out, "r");
	assert_non_null(f);
	assert_non_null(fgets(credential, sizeof(credential), f));
	fclose(f);
	credential[strcspn(credential, "\n")] = '\0';
	assert_int_equal(command("unmunge -S %s <%s >/dev/null 2>&1", sock, out), 15);
	if (auth_unseal(sock, credential, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(s.text, "old");
	assert_int_equal(s.who.uid, 2);
	assert_true(s.made_s <= time(NULL) - 2);
	auth_sealed_done(&s);
}

static void a_sealed_text_is_not_changed_made_up_or_of_another_key(void **state)
{
	_cleanup_free_ char *mine = seal_for(getuid());
	struct auth_sealed s;
	struct err err;

	(void)state;
	assert_int_equal(auth_unseal(other, mine, &s, &err), -EACCES);
	assert_int_equal(auth_unseal(sock, "", &s, &err), -EACCES);
	assert_int_equal(auth_unseal(sock, "MUNGE:AwQFAAC:", &s, &err), -EACCES);
	assert_int_equal(auth_unseal("/nonexistent", mine, &s, &err), -ENOENT);
	for (size_t i = strlen("MUNGE:"); mine[i + 3]; i += 7) {
		char was = mine[i];

		mine[i] = was == 'A' ? 'B' : 'A';
		assert_int_equal(auth_unseal(sock, mine, &s, &err), -EACCES);
		mine[i] = was;
	}
	assert_int_equal(auth_unseal(sock, mine, &s, &err), 0);
	auth_sealed_done(&s);
}

static void a_text_that_is_too_long_is_not_sealed(void **state)
{
	_cleanup_free_ char *text_of = calloc(1, AUTH_SEAL_MAX + 2);
	struct auth_seal seal = { text_of, AUTH_SEAL_MAX + 1, 0 };
	_cleanup_free_ char *credential = NULL;
	struct err err;

	(void)state;
	assert_int_equal(auth_seal(sock, &seal, &credential, &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "256 KiB"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_signed_is_verified_once),
		cmocka_unit_test(no_other_text_passes),
		cmocka_unit_test(damaged_foreign_and_missing_credentials_are_refused),
		cmocka_unit_test(a_munged_that_does_not_run_is_an_error_at_once),
		cmocka_unit_test(the_caller_is_known_before_the_body_is_read),
		cmocka_unit_test(a_text_that_is_no_credential_is_not_sent_to_munged),
		cmocka_unit_test(names_and_numbers_agree),
		cmocka_unit_test(a_text_sealed_for_the_controller_is_read_by_no_other_user),
		cmocka_unit_test(a_sealed_text_is_read_repeatedly_by_its_reader_alone),
		cmocka_unit_test(
			a_sealed_text_that_has_expired_still_says_who_wrote_it_and_when),
		cmocka_unit_test(a_sealed_text_is_not_changed_made_up_or_of_another_key),
		cmocka_unit_test(a_text_that_is_too_long_is_not_sealed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
