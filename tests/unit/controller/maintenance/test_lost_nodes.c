/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_lost_nodes - only silence that the controller was able to hear makes a node lost: not the time in which it was
 * stopped, in which its clock was set, or in which it refused connections. The ledger and the server are stood in for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/api/call.h"
#include "controller/api/jobs/parts.h"
#include "controller/config/config.h"
#include "controller/http/server.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/maintenance/lost_nodes.h"

#define NODE_LOST_S 60
#define NOON (INT64_C(1800000000) * S_NS)

static struct {
	int64_t marked_before_ns; /* 0: the ledger was not asked to mark any */
	int64_t shed_nodes;
} world;

int store_mark_lost_nodes(struct store *s, int64_t heard_before_ns, int64_t now_ns,
			  struct err *err)
{
	(void)s, (void)now_ns, (void)err;
	world.marked_before_ns = heard_before_ns;
	return 0;
}

int store_end_lost_jobs(struct store *s, int64_t now_ns, struct store_lost_result *ret,
			struct err *err)
{
	(void)s, (void)now_ns, (void)ret, (void)err;
	return 0;
}

void server_get_counts(const struct server *s, struct server_counts *ret)
{
	(void)s;
	ret->shed_nodes = world.shed_nodes;
}

int parts_wake(struct api *a, int64_t job, struct err *err)
{
	(void)a, (void)job, (void)err;
	return 0;
}

void api_request_cycle(struct api *a)
{
	(void)a;
}

struct controller {
	struct lost_nodes lost;
	struct api api;
	int64_t now_ns;
};

static struct config config = { .node_lost_s = NODE_LOST_S };

static struct controller start_controller(void)
{
	static char server;
	struct controller c = {
		.api = { .c = { .config = &config }, .server = (void *)&server }, .now_ns = NOON
	};

	world.marked_before_ns = world.shed_nodes = 0;
	lost_nodes_init(&c.lost, NOON);
	return c;
}

/* `jump_s` by its clock pass before the next check, which comes when it should after that. Is silence of NodeLost
 * believed then? */
static bool believes_silence(struct controller *c, int64_t jump_s)
{
	struct err err = { "" };

	c->now_ns += LOST_NODES_CHECK_NS + jump_s * S_NS;
	world.marked_before_ns = 0;
	assert_int_equal(lost_nodes_check(&c->lost, &c->api, c->now_ns, &err), 0);
	if (!world.marked_before_ns)
		return false;
	assert_int_equal(world.marked_before_ns, c->now_ns - NODE_LOST_S * S_NS);
	return true;
}

/* How many seconds of regular checks it takes until silence of NodeLost is believed. */
static int64_t listen_until_believed(struct controller *c)
{
	int64_t from_ns = c->now_ns;

	while (!believes_silence(c, 0))
		assert_true(c->now_ns - from_ns < 10 * NODE_LOST_S * S_NS);
	return (c->now_ns - from_ns) / S_NS;
}

static void silence_counts_from_the_start_of_the_controller(void **state)
{
	struct controller c = start_controller();

	(void)state;
	assert_int_equal(listen_until_believed(&c), NODE_LOST_S);
	assert_true(believes_silence(&c, 0));
}

static void a_clock_that_is_set_makes_no_node_lost(void **state)
{
	static const int64_t jumps_s[] = { 3600, -3600, 86400 * 365, -7, NODE_LOST_S };

	(void)state;
	for (size_t i = 0; i < sizeof(jumps_s) / sizeof(*jumps_s); i++) {
		struct controller c = start_controller();

		listen_until_believed(&c);
		assert_false(believes_silence(&c, jumps_s[i]));
		assert_int_equal(listen_until_believed(&c), NODE_LOST_S);
	}
}

static void refused_connections_make_no_node_lost(void **state)
{
	struct controller c = start_controller();

	(void)state;
	listen_until_believed(&c);
	world.shed_nodes = 3;
	assert_false(believes_silence(&c, 0));
	assert_true(c.api.is_node_loss_paused);
	assert_int_equal(listen_until_believed(&c), NODE_LOST_S);
	assert_false(c.api.is_node_loss_paused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_counts_from_the_start_of_the_controller),
		cmocka_unit_test(a_clock_that_is_set_makes_no_node_lost),
		cmocka_unit_test(refused_connections_make_no_node_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
