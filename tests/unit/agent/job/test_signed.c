/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_signed - how old a user's signature may be, and that it is the signature of the user as whom the job is to run.
 * munged and the database are stood in for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/config.h"
#include "agent/job/signed.h"
#include "agent/node.h"
#include "agent/report/starts.h"
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/log.h"
#include "common/signature/signature.h"
#include "common/time_units.h"

#define DAY_S INT64_C(86400)
#define NOW_S INT64_C(1800000000)

static int64_t made_s;

int64_t node_realtime_ns(void)
{
	return NOW_S * S_NS;
}

int auth_unseal(const char *socket, const char *credential, struct auth_sealed *ret,
		struct err *err)
{
	(void)socket, (void)credential, (void)err;
	*ret = (struct auth_sealed){ .who = { .uid = 1001, .gid = 1001 }, .made_s = made_s };
	return 0;
}

void auth_sealed_done(struct auth_sealed *s)
{
	(void)s;
}

int signature_decode_job(const char *text, size_t size, struct signature_job *ret,
			 struct err *err)
{
	(void)text, (void)size, (void)ret, (void)err;
	return 0;
}

void signature_job_done(struct signature_job *s)
{
	(void)s;
}

int signature_allows_job(const struct signature_job *s, const struct signature_given *given,
			 int64_t *ret_base, struct err *err)
{
	(void)s, (void)err;
	*ret_base = given->job;
	return 0;
}

int signature_decode_step(const char *text, size_t size, struct signature_step *ret,
			  struct err *err)
{
	(void)text, (void)size, (void)ret, (void)err;
	return 0;
}

void signature_step_done(struct signature_step *s)
{
	(void)s;
}

int signature_allows_step(const struct signature_step *s,
			  const struct signature_given_step *given, struct err *err)
{
	(void)s, (void)given, (void)err;
	return 0;
}

int starts_look(struct db *db, const struct start *s, int64_t *ret_was, struct err *err)
{
	(void)db, (void)s, (void)ret_was, (void)err;
	return 0;
}

int starts_keep(struct db *db, const struct start *s, int64_t old_s, struct err *err)
{
	(void)db, (void)s, (void)old_s, (void)err;
	return 0;
}

const char *users_check(const struct users *u, uint32_t uid, uint32_t gid,
			char text[USERS_TEXT_MAX])
{
	(void)u, (void)uid, (void)gid, (void)text;
	return NULL;
}

void log_job(int priority, int64_t job, const char *event, const char *fmt, ...)
{
	(void)priority, (void)job, (void)event, (void)fmt;
}

/* What the node says to a job of uid 1001 (or `uid`) that was signed `age_s` ago; "" when it may start. */
static const char *find_refusal(uint32_t uid, int64_t age_s, struct err *err)
{
	struct agent_config conf = { .node = "n1", .max_queue_age_s = 7 * DAY_S };
	struct node n = { .conf = &conf };
	struct request q = { .uid = uid, .gid = 1001 };
	struct sync_order o = {
		.job = 4, .attempt = 1, .request = &q, .credential = "MUNGE:x:"
	};
	struct signed_start s;
	int r;

	made_s = NOW_S - age_s;
	err->text[0] = '\0';
	r = job_signed_check(&n, &o, &s, err);
	job_signed_forget(&n);
	if (r)
		return err->text;
	assert_true(s.is_signed);
	assert_int_equal(s.made_s, made_s);
	return "";
}

static void a_signature_is_accepted_up_to_MaxQueueAge(void **state)
{
	struct err err;

	(void)state;
	assert_string_equal(find_refusal(1001, 0, &err), "");
	assert_string_equal(find_refusal(1001, 7 * DAY_S, &err), "");
	assert_string_equal(find_refusal(1001, 7 * DAY_S + 1, &err),
			    "its user signed it 7 days ago, longer than node n1 takes "
			    "(MaxQueueAge); submit it again");
}

static void a_signature_is_of_the_user_as_whom_the_job_is_to_run(void **state)
{
	struct err err;

	(void)state;
	assert_string_equal(find_refusal(1002, 0, &err),
			    "uid 1001 signed it, and not uid 1002, as whom it is to run");
	assert_string_equal(find_refusal(0, 0, &err),
			    "uid 1001 signed it, and not uid 0, as whom it is to run");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_is_accepted_up_to_MaxQueueAge),
		cmocka_unit_test(a_signature_is_of_the_user_as_whom_the_job_is_to_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
