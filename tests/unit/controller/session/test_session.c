/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_session.c - tickets and sessions of the pages: used once, ended in time, bounded. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/session/session.h"

static const struct session_user alice = { 1001, 100 };

static void open_session(struct session_table *t, struct session_user user, int64_t now_ns,
			 char ret[static SESSION_TOKEN_MAX])
{
	char ticket[SESSION_TOKEN_MAX];

	assert_int_equal(session_new_ticket(t, user, now_ns, ticket, NULL), 0);
	assert_int_equal(session_redeem(t, ticket, now_ns, ret, NULL), 0);
}

static void a_ticket_opens_one_session(void **unused)
{
	_cleanup_(session_table_freep) struct session_table *t = session_table_new();
	char ticket[SESSION_TOKEN_MAX], token[SESSION_TOKEN_MAX], again[SESSION_TOKEN_MAX];
	struct session_user who = { 0, 0 };

	(void)unused;
	assert_int_equal(session_new_ticket(t, alice, S_NS, ticket, NULL), 0);
	assert_int_equal(strlen(ticket), 64);
	assert_false(session_find(t, ticket, S_NS, &who)); /* is no session itself */
	for (int i = 0; i < 2; i++) /* to ask whose it is does not use it up */
		assert_int_equal(session_find_ticket(t, ticket, S_NS, &who, NULL), 0);
	assert_int_equal(who.uid, 1001);
	assert_int_equal(session_redeem(t, ticket, S_NS, token, NULL), 0);
	assert_true(session_find(t, token, S_NS, &who));
	assert_int_equal(who.uid, 1001);
	assert_int_equal(who.gid, 100);
	assert_int_equal(session_redeem(t, ticket, S_NS, again, NULL), -ENOENT);
	assert_int_equal(session_find_ticket(t, ticket, S_NS, &who, NULL), -ENOENT);
	assert_int_equal(session_redeem(t, token, S_NS, again, NULL), -ENOENT);
}

static void tickets_and_sessions_end_in_time(void **unused)
{
	_cleanup_(session_table_freep) struct session_table *t = session_table_new();
	char ticket[SESSION_TOKEN_MAX], token[SESSION_TOKEN_MAX];
	struct session_user who;
	int64_t now = 5 * S_NS;

	(void)unused;
	assert_int_equal(session_new_ticket(t, alice, now, ticket, NULL), 0);
	assert_int_equal(session_redeem(t, ticket, now + SESSION_TICKET_S * S_NS, token, NULL),
			 -ENOENT);
	open_session(t, alice, now, token);
	assert_true(session_find(t, token, now + SESSION_S * S_NS - 1, &who));
	assert_false(session_find(t, token, now + SESSION_S * S_NS, &who));
}

static void a_session_ends_at_logout_alone(void **unused)
{
	_cleanup_(session_table_freep) struct session_table *t = session_table_new();
	char one[SESSION_TOKEN_MAX], other[SESSION_TOKEN_MAX];
	struct session_user who;

	(void)unused;
	open_session(t, alice, S_NS, one);
	open_session(t, alice, S_NS, other);
	session_end(t, "no such token");
	session_end(t, one);
	session_end(t, one);
	assert_false(session_find(t, one, S_NS, &who));
	assert_true(session_find(t, other, S_NS, &who));
}

static void a_user_has_a_few_sessions_and_ends_no_others(void **unused)
{
	_cleanup_(session_table_freep) struct session_table *t = session_table_new();
	char first[SESSION_TOKEN_MAX], bobs[SESSION_TOKEN_MAX], token[SESSION_TOKEN_MAX];
	const struct session_user bob = { 1002, 100 };
	struct session_user who;

	(void)unused;
	open_session(t, bob, S_NS, bobs);
	open_session(t, alice, 2 * S_NS, first);
	for (int i = 0; i < SESSION_OF_USER; i++) {
		assert_true(session_find(t, first, 2 * S_NS, &who));
		open_session(t, alice, (3 + i) * S_NS, token);
	}
	assert_false(session_find(t, first, 2 * S_NS, &who)); /* the oldest made room */
	assert_true(session_find(t, token, 20 * S_NS, &who));
	assert_true(session_find(t, bobs, 20 * S_NS, &who));
}

static void a_full_table_refuses_and_makes_room_in_time(void **unused)
{
	_cleanup_(session_table_freep) struct session_table *t = session_table_new();
	char ticket[SESSION_TOKEN_MAX];
	struct err err;

	(void)unused;
	for (uint32_t uid = 0; uid < SESSION_MAX; uid++)
		assert_int_equal(session_new_ticket(t, (struct session_user){ uid, 1 }, S_NS,
						    ticket, NULL),
				 0);
	assert_int_equal(session_new_ticket(t, (struct session_user){ SESSION_MAX, 1 }, S_NS,
					    ticket, &err),
			 -EBUSY);
	assert_int_equal(session_new_ticket(t, (struct session_user){ SESSION_MAX, 1 },
					    S_NS + SESSION_TICKET_S * S_NS, ticket, NULL),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ticket_opens_one_session),
		cmocka_unit_test(tickets_and_sessions_end_in_time),
		cmocka_unit_test(a_session_ends_at_logout_alone),
		cmocka_unit_test(a_user_has_a_few_sessions_and_ends_no_others),
		cmocka_unit_test(a_full_table_refuses_and_makes_room_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
