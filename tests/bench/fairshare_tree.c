/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare_tree - for fairshare.sh: a tree of many associations as CSV, or the time that its
 * ranks take beside that of sorting as many doubles.   usage: fairshare_tree csv|time ROWS
 * flat|deep|tied
 *
 * deep: accounts of 27 rows each, three levels of them. flat: all users below the root. tied:
 * as deep, and every account and user has the same shares and usage: every rank is a tie. */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "controller/policy/fairshare/fairshare.h"

enum { FANOUT = 27, TURNS = 9 };

static uint64_t state = 1;

static uint64_t draw_number(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 20) % below;
}

/* Row i is below row (i - 1) / FANOUT: the first rows are accounts, those without rows users.
 */
static void make_tree(struct fairshare_row *rows, int32_t n, const char *shape)
{
	bool flat = !strcmp(shape, "flat"), tied = !strcmp(shape, "tied");

	for (int32_t i = 0; i < n; i++) {
		bool user = i && (flat || (int64_t)i * FANOUT + 1 >= n);

		rows[i] = (struct fairshare_row){
			.parent = !i	 ? FAIRSHARE_NO_ROW
				  : flat ? 0
					 : (i - 1) / FANOUT,
			.user = user,
			.raw_shares = tied ? 7 : (int64_t)draw_number(1000),
			.leaf_usage = !user  ? 0
				      : tied ? 1000003
					     : draw_number(1000000000000),
			.order = i,
		};
	}
}

static void print_tree(const struct fairshare_row *rows, int32_t n)
{
	puts("id,parent_id,account,user,raw_shares,order,leaf_usage");
	for (int32_t i = 0; i < n; i++) {
		const struct fairshare_row *r = &rows[i];

		printf("%d,", i);
		if (i)
			printf("%d", r->parent);
		printf(",a%d,", r->user ? r->parent : i);
		if (r->user)
			printf("u%d", i);
		printf(",%" PRId64 ",%" PRId64 ",%" PRIu64 "\n", r->raw_shares, r->order,
		       (uint64_t)r->leaf_usage);
	}
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double time_qsort(double *numbers, int32_t n)
{
	double begin;

	for (int32_t i = 0; i < n; i++)
		numbers[i] = (double)draw_number(1u << 30);
	begin = now_ms();
	qsort(numbers, (size_t)n, sizeof(*numbers), compare_doubles);
	return now_ms() - begin;
}

/* Sums and ranks, from rows to results; *ret_sum is for the sums alone. */
static double time_ranks(const struct fairshare_row *rows, int32_t n,
			 struct fairshare_result *results, double *ret_sum)
{
	_cleanup_(fairshare_tree_freep) struct fairshare_tree *t = NULL;
	double begin = now_ms();
	struct err err = { "" };
	int32_t at;

	if (fairshare_tree_new(rows, (size_t)n, &t, &at, &err) < 0)
		exit(fprintf(stderr, "row %d: %s\n", at, err.text) > 0);
	*ret_sum = now_ms() - begin;
	if (fairshare_fair_tree(t, FAIRSHARE_TIES_MERGE, results, &err) < 0)
		exit(fprintf(stderr, "%s\n", err.text) > 0);
	return now_ms() - begin;
}

static int measure_shape(const struct fairshare_row *rows, int32_t n, const char *shape)
{
	struct fairshare_result *results = calloc((size_t)n, sizeof(*results));
	double *numbers = calloc((size_t)n, sizeof(*numbers));
	double best = 1e9, best_sum = 1e9, best_rival = 1e9, v, sum;

	if (!results || !numbers)
		return 1;
	for (int i = 0; i < TURNS; i++) {
		v = time_qsort(numbers, n);
		best_rival = v < best_rival ? v : best_rival;
		v = time_ranks(rows, n, results, &sum);
		best = v < best ? v : best;
		best_sum = sum < best_sum ? sum : best_sum;
	}
	printf("%s tree of %d: %.1f ms, sums %.1f ms of it; qsort of %d doubles %.1f ms: "
	       "x%.2f (best of %d turns)\n",
	       shape, n, best, best_sum, n, best_rival, best / best_rival, TURNS);
	free(results);
	free(numbers);
	return 0;
}

int main(int argc, char **argv)
{
	int32_t n = argc == 4 ? atoi(argv[2]) : 0;
	struct fairshare_row *rows = n > 1 ? calloc((size_t)n, sizeof(*rows)) : NULL;
	int r = 0;

	if (!rows) {
		fputs("usage: fairshare_tree csv|time ROWS flat|deep|tied\n", stderr);
		return 64;
	}
	make_tree(rows, n, argv[3]);
	if (!strcmp(argv[1], "csv"))
		print_tree(rows, n);
	else
		r = measure_shape(rows, n, argv[3]);
	free(rows);
	return r;
}
