/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share_bench - what one charge costs the share tree: its path, and all ranks; beside
 * rebuilding the whole tree for each charge, and beside sorting as many doubles with qsort(3).
 *
 *	share_bench ACCOUNTS USERS CHARGES     a tree of that size
 *	share_bench LEDGER CHARGES             the flat tree of a ledger file
 *
 * CPU time of one core. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/time_units.h"
#include "common/err.h"
#include "controller/sharetree/sharetree.h"

#define START_NS (16000 * 86400 * S_NS)

static const char policy[] = "[Policy]\nUsageHalfLife = 7-0:00:00\n[Cluster c]\n";

struct bench {
	struct config *config;
	struct accounts *accounts;
	struct sharetree *sharetree;
	struct sharetree_where where;
	char (*who)[2][REQUEST_NAME_MAX];
	size_t n_who;
	int64_t now_ns;
	unsigned seed;
};

static void require_success(int r, const struct err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "share_bench: %s\n", err->text);
	exit(1);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned next_random(struct bench *b)
{
	b->seed = b->seed * 1103515245 + 12345;
	return b->seed >> 8;
}

/* Accounts a0, a1 ...: each below the one of half its number, so that the tree is a few deep.
 */
static char *make_accounts(size_t accounts, size_t users)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (size_t a = 0; a < accounts; a++) {
		fprintf(to, "[Account a%zu]\nShares = %zu\n", a, a % 7 + 1);
		if (a > 8)
			fprintf(to, "Parent = a%zu\n", a / 8);
		fputs("Users =", to);
		for (size_t u = a; u < users; u += accounts)
			fprintf(to, "%s u%zu", u == a ? "" : ",", u);
		fputc('\n', to);
	}
	fclose(to);
	return text;
}

/* Everybody who has a row. */
static void find_who(struct bench *b)
{
	struct sharetree_view v;
	struct err err;

	require_success(sharetree_get_view(b->sharetree, b->where, b->now_ns, &v, &err), &err);
	b->who = calloc(v.n, sizeof(*b->who));
	for (size_t i = 0; i < v.n; i++) {
		if (!*v.rows[i].user)
			continue;
		strcpy(b->who[b->n_who][0], v.rows[i].account);
		strcpy(b->who[b->n_who++][1], v.rows[i].user);
	}
	printf("tree: %zu rows, %zu of them users\n", v.n, b->n_who);
}

static void charge_random_user(struct bench *b)
{
	size_t k = next_random(b) % b->n_who;
	struct store_charge c = { .cluster = b->where.cluster,
				  .account = b->who[k][0],
				  .user = b->who[k][1],
				  .queue = "",
				  .from_ns = b->now_ns,
				  .running_ns = (int64_t)(1 + next_random(b) % 1000) * S_NS,
				  .rate = { 4, 1 },
				  .ncpus = 4 };
	struct err err;

	b->now_ns += c.running_ns;
	c.to_ns = b->now_ns;
	require_success(sharetree_charge(b->sharetree, &c, b->now_ns, &err), &err);
}

static double time_charges(struct bench *b, int n, bool is_rebuilt)
{
	struct sharetree_view v;
	struct err err;
	double start = cpu_s();

	for (int i = 0; i < n; i++) {
		charge_random_user(b);
		if (is_rebuilt)
			sharetree_set_accounts(b->sharetree, b->accounts);
		require_success(sharetree_get_view(b->sharetree, b->where, b->now_ns, &v, &err),
				&err);
	}
	return (cpu_s() - start) / n * 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double time_sort(struct bench *b, int n)
{
	double *v = calloc(b->n_who, sizeof(*v)), took = 0, start;

	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < b->n_who; k++)
			v[k] = next_random(b);
		start = cpu_s();
		qsort(v, b->n_who, sizeof(*v), compare_doubles);
		took += cpu_s() - start;
	}
	free(v);
	return took / n * 1e6;
}

static void open_ledger(struct bench *b, const char *path)
{
	struct store *s;
	struct err err;
	double start;

	require_success(store_open(path, &s, &err), &err);
	require_success(store_last_charge(s, &b->now_ns, &err), &err);
	start = cpu_s();
	require_success(sharetree_load(b->sharetree, s, b->now_ns, &err), &err);
	printf("start: %.3f s to weigh all charges of the ledger\n", cpu_s() - start);
	store_close(s);
	if (!sharetree_tree(b->sharetree, 0, &b->where))
		exit(1);
}

int main(int argc, char **argv)
{
	struct bench b = { .where = { "c", CHARGE_POOL_CPU }, .now_ns = START_NS, .seed = 1 };
	struct sharetree_config c;
	struct err err;
	int n = atoi(argv[argc - 1]);
	double path, rebuilt, sort;

	require_success(config_parse(policy, sizeof(policy) - 1, &b.config, &err), &err);
	if (argc == 4) {
		char *text =
			make_accounts(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));

		require_success(accounts_parse(text, strlen(text), "bench", &b.accounts, &err),
				&err);
		free(text);
	}
	c = (struct sharetree_config){ b.config, b.accounts };
	require_success(sharetree_new(&c, &b.sharetree, &err), &err);
	if (argc == 3)
		open_ledger(&b, argv[1]);
	find_who(&b);
	time_charges(&b, n, false);
	path = time_charges(&b, n, false);
	rebuilt = time_charges(&b, n < 200 ? n : n / 10, true);
	sort = time_sort(&b, n);
	printf("a charge and all ranks: %.1f us; the tree rebuilt: %.1f us, x%.1f; "
	       "qsort(3) of as many doubles as users: %.1f us, x%.1f\n",
	       path, rebuilt, rebuilt / path, sort, path / sort);
	free(b.who);
	sharetree_free(b.sharetree);
	accounts_free(b.accounts);
	config_free(b.config);
	return 0;
}
