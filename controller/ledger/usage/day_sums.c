/* day_sums.c - adds up the rollups of a period's days, in the order of the days. See day_sums.h. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/usage/day_sums.h"

/* Sums by name: a tree while they are added, a list by size afterwards. */
struct names {
	void *tree;
	struct store_day_sum **list;
	size_t n;
};

struct store_day_sums {
	struct store_day_sum days[STORE_DAY_SUMS_MAX];
	struct names accounts, users;
};

enum sum_column { SUM_DAY, SUM_ACCOUNT, SUM_USER, SUM_CORE_MS, SUM_GPU_MS, SUM_CPU_MS };

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct store_day_sum *)a)->name,
		      ((const struct store_day_sum *)b)->name);
}

static int compare_core(const void *a, const void *b)
{
	const struct store_day_sum *x = *(struct store_day_sum *const *)a,
				   *y = *(struct store_day_sum *const *)b;

	return x->core_ms != y->core_ms ? (x->core_ms < y->core_ms ? 1 : -1)
					: strcmp(x->name, y->name);
}

/* Core time without cpu time; nothing where no cpu time was measured. */
static int64_t count_idle(const struct store_day_sum *s)
{
	return s->cpu_ms && s->cpu_ms < s->core_ms ? s->core_ms - s->cpu_ms : 0;
}

static int compare_idle(const void *a, const void *b)
{
	const struct store_day_sum *x = *(struct store_day_sum *const *)a,
				   *y = *(struct store_day_sum *const *)b;
	int64_t of_x = count_idle(x), of_y = count_idle(y);

	return of_x != of_y ? (of_x < of_y ? 1 : -1) : strcmp(x->name, y->name);
}

static void free_sum(void *sum)
{
	free((char *)((struct store_day_sum *)sum)->name);
	free(sum);
}

void store_day_sums_free(struct store_day_sums *d)
{
	if (!d)
		return;
	tdestroy(d->accounts.tree, free_sum);
	tdestroy(d->users.tree, free_sum);
	free(d->accounts.list);
	free(d->users.list);
	free(d);
}

/* A new sum of zero. NULL: out of memory. */
static struct store_day_sum *add_name(struct names *n, const char *name)
{
	struct store_day_sum *sum = calloc(1, sizeof(*sum));
	struct store_day_sum **list = realloc(n->list, (n->n + 1) * sizeof(*list));

	if (list)
		n->list = list;
	if (sum)
		sum->name = strdup(name);
	if (!list || !sum || !sum->name || !tsearch(sum, &n->tree, compare_names)) {
		if (sum)
			free_sum(sum);
		return NULL;
	}
	n->list[n->n++] = sum;
	return sum;
}

static struct store_day_sum *find_name(struct names *n, const char *name)
{
	const struct store_day_sum key = { .name = name };
	void *found = tfind(&key, &n->tree, compare_names);

	return found ? *(struct store_day_sum **)found : add_name(n, name);
}

static void add_row(struct store_day_sum *to, struct db_row *st)
{
	to->core_ms += db_int(st, SUM_CORE_MS);
	to->gpu_ms += db_int(st, SUM_GPU_MS);
	to->cpu_ms += db_int(st, SUM_CPU_MS);
}

static int fold_row(struct store_day_sums *d, const struct store_day_sums_ask *ask,
		    struct db_row *st, struct err *err)
{
	struct store_day_sum *account = find_name(&d->accounts, store_text(st, SUM_ACCOUNT));
	struct store_day_sum *user = find_name(&d->users, store_text(st, SUM_USER));

	if (!account || !user)
		return err_set(err, -ENOMEM, "out of memory");
	add_row(&d->days[db_int(st, SUM_DAY) - ask->from_day], st);
	add_row(account, st);
	add_row(user, st);
	return 0;
}

static int fold_rows(struct store *s, const struct store_day_sums_ask *ask,
		     struct store_day_sums *d, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT day, account, user, core_ms, gpu_ms, cpu_ms FROM rollups"
			 " WHERE day >= ?1 AND day < ?2 AND (?3 IS NULL OR cluster = ?3)",
			 "iit", ask->from_day, ask->to_day, ask->cluster);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = fold_row(d, ask, st, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_day_sums(struct store *s, const struct store_day_sums_ask *ask,
		   struct store_day_sums **ret, struct err *err)
{
	struct store_day_sums *d = calloc(1, sizeof(*d));
	int r = d ? fold_rows(s, ask, d, err) : err_set(err, -ENOMEM, "out of memory");

	if (r < 0) {
		store_day_sums_free(d);
		return r;
	}
	if (d->accounts.n)
		qsort(d->accounts.list, d->accounts.n, sizeof(*d->accounts.list), compare_core);
	if (d->users.n)
		qsort(d->users.list, d->users.n, sizeof(*d->users.list), compare_idle);
	*ret = d;
	return 0;
}

const struct store_day_sum *store_day_sums_day(const struct store_day_sums *d, int64_t i)
{
	return i >= 0 && i < STORE_DAY_SUMS_MAX ? &d->days[i] : NULL;
}

static const struct store_day_sum *sum_at(const struct names *n, size_t i)
{
	return i < n->n ? n->list[i] : NULL;
}

const struct store_day_sum *store_day_sums_account(const struct store_day_sums *d, size_t i)
{
	return sum_at(&d->accounts, i);
}

const struct store_day_sum *store_day_sums_user(const struct store_day_sums *d, size_t i)
{
	return sum_at(&d->users, i);
}
