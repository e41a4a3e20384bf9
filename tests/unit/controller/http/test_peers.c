/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_peers - a network has one quota, however many addresses it makes up. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/time_units.h"
#include "controller/http/peers.h"

static struct peer *get_peer(struct peers *p, const char *address)
{
	struct peer_key key;

	assert_int_equal(peer_key_parse(address, &key), 0);
	return peers_get(p, &key);
}

static void an_address_is_one_peer_however_it_is_written(void **state)
{
	_cleanup_(peers_freep) struct peers *p = peers_new(1);
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6 };
	struct sockaddr_in plain = { .sin_family = AF_INET };
	struct peer_key a, b;
	char text[PEER_TEXT_MAX];

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.7", &mapped.sin6_addr), 1);
	assert_int_equal(inet_pton(AF_INET, "192.0.2.7", &plain.sin_addr), 1);
	peer_key_address((struct sockaddr *)&mapped, &a);
	peer_key_address((struct sockaddr *)&plain, &b);
	assert_ptr_equal(peers_get(p, &a), peers_get(p, &b));
	assert_ptr_equal(get_peer(p, "192.0.2.7"), peers_get(p, &a));
	assert_ptr_not_equal(get_peer(p, "192.0.2.8"), peers_get(p, &a));
	assert_string_equal(peer_key_format(&a, text), "192.0.2.7");
	assert_ptr_equal(get_peer(p, "2001:db8::1"), get_peer(p, "2001:db8::ffff:0:0:9"));
	assert_ptr_not_equal(get_peer(p, "2001:db8::1"), get_peer(p, "2001:db8:0:1::1"));
	assert_string_equal(peer_key_format(&get_peer(p, "2001:db8::1")->key, text),
			    "2001:db8::/64");
	peer_key_uid(1000, &a);
	assert_string_equal(peer_key_format(&a, text), "uid 1000");
	assert_int_equal(peer_key_parse("head.example", &a), -EINVAL);
}

static void the_table_of_peers_is_bounded_and_further_peers_share_one_quota(void **state)
{
	_cleanup_(peers_freep) struct peers *p = peers_new(7);
	struct peer *kept, *rest;
	struct peer_key key;
	char text[32];

	(void)state;
	kept = get_peer(p, "10.0.0.1");
	kept->is_node = true;
	for (int i = 1; i < PEERS_MAX; i++) {
		snprintf(text, sizeof(text), "10.1.%d.%d", i / 256, i % 256);
		get_peer(p, text)->credit_ns = 5 * S_NS;
	}
	assert_int_equal(peers_count(p), PEERS_MAX);
	rest = get_peer(p, "10.9.0.1");
	assert_ptr_equal(rest, get_peer(p, "10.9.0.2"));
	assert_ptr_equal(kept, get_peer(p, "10.0.0.1"));
	peers_prune(p, 4 * S_NS);
	assert_int_equal(peers_count(p), PEERS_MAX);
	get_peer(p, "10.1.0.1")->n_open = 1;
	peers_prune(p, 5 * S_NS);
	assert_int_equal(peers_count(p), 2);
	assert_ptr_equal(kept, get_peer(p, "10.0.0.1"));
	peer_key_uid(1, &key);
	assert_ptr_not_equal(peers_get(p, &key), rest);
}

static void a_rate_is_kept_to_the_edge(void **state)
{
	static const struct peer_rate rate = { S_NS / 10, 5 };
	int64_t credit = 0, now = 1000 * S_NS;
	int taken = 0;

	(void)state;
	for (; peer_has_credit(credit, rate, now) && taken < 100; taken++)
		peer_charge(&credit, rate, now);
	assert_int_equal(taken, 5);
	assert_false(peer_has_credit(credit, rate, now + S_NS / 10 - 1));
	assert_true(peer_has_credit(credit, rate, now + S_NS / 10));
	/* What is refused does not count against it: it is served again at the same time. */
	for (int i = 0; i < 1000; i++)
		peer_charge(&credit, rate, now);
	assert_true(peer_has_credit(credit, rate, now + S_NS / 10));
	for (taken = 0, now += 3600 * S_NS; peer_has_credit(credit, rate, now); taken++)
		peer_charge(&credit, rate, now);
	assert_int_equal(taken, 5);
}

static void an_address_may_spend_its_part_of_a_core(void **state)
{
	static const struct peer_budget budget = { 32, S_NS / 4 };
	int64_t credit = 0, now = 1000 * S_NS, spent = 0;

	(void)state;
	for (; peer_has_time(credit, budget, now); spent += 10 * MS_NS)
		peer_spend(&credit, budget, 10 * MS_NS, now);
	assert_int_equal(spent, S_NS / 4);
	/* In a second there is a 32nd of it again. */
	for (now += S_NS, spent = 0; peer_has_time(credit, budget, now); spent += MS_NS / 4)
		peer_spend(&credit, budget, MS_NS / 4, now);
	assert_int_equal(spent, S_NS / 32);
	peer_spend(&credit, budget, -5 * MS_NS, now);
	for (spent = 0; peer_has_time(credit, budget, now); spent += MS_NS)
		peer_spend(&credit, budget, MS_NS, now);
	assert_int_equal(spent, 5 * MS_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_one_peer_however_it_is_written),
		cmocka_unit_test(
			the_table_of_peers_is_bounded_and_further_peers_share_one_quota),
		cmocka_unit_test(a_rate_is_kept_to_the_edge),
		cmocka_unit_test(an_address_may_spend_its_part_of_a_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
