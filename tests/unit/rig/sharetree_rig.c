/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sharetree_rig.c - builds share trees, charges them and reads their rows; see sharetree_rig.h. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "tests/unit/rig/sharetree_rig.h"

const char declared[] = "[Account arts]\nShares = 10\nUsers = carol\n"
			"[Account physics]\nShares = 30\nUsers = alice=2, bob\n"
			"[Account optics]\nParent = physics\nShares = 5\nUsers = alice\n"
			"[Account far]\nClusters = elsewhere\nUsers = dave\n";

void world_done(struct world *w)
{
	sharetree_free(w->sharetree);
	accounts_free(w->accounts);
	config_free(w->config);
}

struct world world_of(const char *policy, const char *accounts)
{
	struct world w = { 0 };
	struct sharetree_config c;
	struct err err = { "" };
	char text[512];

	snprintf(text, sizeof(text),
		 "[Policy]\n%s%s\n[Cluster main]\nQueues = normal,express,free\n"
		 "[Queue express]\nFactor = 3\n[Queue free]\nFactor = 0\n",
		 strstr(policy, "HalfLife") ? "" : "UsageHalfLife = 0\n", policy);
	if (config_parse(text, strlen(text), &w.config, &err) < 0 ||
	    (accounts &&
	     accounts_parse(accounts, strlen(accounts), "test", &w.accounts, &err) < 0))
		fail_msg("%s", err.text);
	c = (struct sharetree_config){ w.config, w.accounts };
	assert_int_equal(sharetree_new(&c, &w.sharetree, &err), 0);
	return w;
}

const struct sharetree_where cpu = { "main", CHARGE_POOL_CPU };

struct store_charge charge_of(const char *account, const char *user, int64_t from_ns,
			      int64_t running_s)
{
	return (struct store_charge){ .cluster = "main",
				      .account = account,
				      .user = user,
				      .queue = "normal",
				      .from_ns = from_ns,
				      .to_ns = from_ns + running_s * S_NS,
				      .running_ns = running_s * S_NS,
				      .rate = { 5, 2 },
				      .ncpus = 2,
				      .mem_bytes = 10000000000 };
}

void add_charge(struct world *w, struct store_charge c, int64_t now_ns)
{
	struct err err = { "" };

	if (sharetree_charge(w->sharetree, &c, now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

size_t row_of(const struct sharetree_view *v, const char *account, const char *user)
{
	size_t i = 0;

	while (i < v->n &&
	       (strcmp(v->rows[i].account, account) != 0 || strcmp(v->rows[i].user, user) != 0))
		i++;
	return i;
}

struct sharetree_view view_tree(struct world *w, struct sharetree_where where, int64_t now_ns)
{
	struct sharetree_view v;
	struct err err = { "" };

	if (sharetree_get_view(w->sharetree, where, now_ns, &v, &err) < 0)
		fail_msg("%s", err.text);
	return v;
}

double usage_of(struct world *w, const char *account, const char *user, int64_t now_ns)
{
	struct sharetree_view v = view_tree(w, cpu, now_ns);
	size_t i = row_of(&v, account, user);

	assert_true(i < v.n);
	return sharetree_usage(&v, i);
}

void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 2e-9))
		fail_msg("%.15g is not %.15g", a, b);
}
