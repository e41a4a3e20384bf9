/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schedule_bench - what one pass costs: NODES nodes, RUNNING jobs that run, QUEUED that wait,
 * every one of another size; on a full cluster, after one end, with a tenth of the cores free,
 * and by each rule. The rival, in the same run: qsort(3) sorts as many jobs by priority. The last line is the time
 * to copy a schedule of ten thousand nodes with a hundred thousand jobs, as a page does before it computes when queued jobs start.
 *
 *	schedule_bench [QUEUED RUNNING NODES]      default 100000 20000 5000
 *
 * CPU time of one core, the largest of several passes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "controller/scheduler/schedule.h"

#define GIB (INT64_C(1) << 30)
#define CORES 64
#define PASSES 5
#define USERS 1000
#define GROUPS 200

static uint64_t seed = 1;

static int64_t pick_number(int64_t low, int64_t high)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return low + (int64_t)(seed % (uint64_t)(high - low + 1));
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void require_success(int r, const char *what)
{
	if (r == 0)
		return;
	fprintf(stderr, "schedule_bench: %s: error %d\n", what, -r);
	exit(1);
}

static struct schedule_chunk chunk_of(int64_t most)
{
	return (struct schedule_chunk){ .cores = pick_number(1, most),
					.mem_bytes = pick_number(1, 4) * GIB,
					.jobfs_bytes = pick_number(0, 10) * GIB,
					.n = 1 };
}

static struct schedule_job job_of(const struct schedule_chunk *c)
{
	static int64_t id;

	return (struct schedule_job){ .id = ++id,
				      .user = (int32_t)pick_number(0, USERS - 1),
				      .group = (int32_t)pick_number(0, GROUPS - 1),
				      .chunks = c,
				      .n_chunks = 1,
				      .priority = pick_number(1, 1000000),
				      .submit_s = id,
				      .limit_s = pick_number(600, 48 * 3600) };
}

struct size {
	int queued, running, nodes;
};

/* Each node gets its part of those that run, and they fill it. */
static void fill_schedule(struct schedule *s, struct size n)
{
	struct schedule_node node = { .cores = CORES,
				      .mem_bytes = 256 * GIB,
				      .jobfs_bytes = 1000 * GIB,
				      .is_open = true };
	int each = n.running / n.nodes;
	int32_t job;

	for (int i = 0; i < n.nodes; i++)
		require_success(schedule_add_node(s, &node), "a node");
	for (int i = 0; i < n.running; i++) {
		struct schedule_chunk c = chunk_of(1);
		int32_t at = i % n.nodes;
		struct schedule_allocation h = { SCHEDULE_RUNNING, &at, 0 };
		struct schedule_job j;

		c.cores = i / n.nodes < each - 1 ? CORES / each
						 : CORES - (each - 1) * (CORES / each);
		j = job_of(&c);
		require_success(schedule_add_allocated(s, &j, &h, &job), "a running job");
	}
	for (int i = 0; i < n.queued; i++) {
		struct schedule_chunk c = chunk_of(CORES);
		struct schedule_job j = job_of(&c);

		if (pick_number(0, 9) == 0)
			c.n = (int32_t)pick_number(2, 16);
		require_success(schedule_add(s, &j, &job), "a queued job");
	}
}

static double time_pass(struct schedule *s, int64_t now_s, size_t *ret_n)
{
	const struct schedule_action *actions;
	double start = cpu_ms();

	require_success(schedule_pass(s, now_s, &actions, ret_n), "a pass");
	return cpu_ms() - start;
}

static int compare_descending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

static double time_sort(int n)
{
	int64_t *keys = malloc((size_t)n * sizeof(*keys));
	double start, took;

	if (!keys)
		exit(1);
	for (int i = 0; i < n; i++)
		keys[i] = pick_number(0, INT32_MAX);
	start = cpu_ms();
	qsort(keys, (size_t)n, sizeof(*keys), compare_descending);
	took = cpu_ms() - start;
	free(keys);
	return took;
}

/* ---- jobs of eight kinds of chunks, each of which has room, and all together none ---- */

#define KINDS 8
#define SLICE_MS 50

static double slice_end_ms;

static bool has_slice(void *ctx)
{
	(void)ctx;
	return cpu_ms() < slice_end_ms;
}

/* A third of the nodes have room for each kind; half of the kinds ask for cores, half for memory. */
static void add_hostile(struct schedule *s, int jobs, int nodes)
{
	for (int i = 0; i < jobs; i++) {
		struct schedule_chunk chunks[KINDS];
		struct schedule_job j;
		int32_t job;

		for (int k = 0; k < KINDS; k++) {
			chunks[k] = chunk_of(1);
			chunks[k].cores = k % 2 ? 1 : pick_number(CORES / 2 + 1, CORES - 16);
			chunks[k].mem_bytes = k % 2 ? pick_number(129, 160) * GIB : 1;
			chunks[k].n = nodes * 3 / 10;
		}
		j = job_of(chunks);
		j.n_chunks = KINDS;
		j.priority += 1000000; /* before all others */
		require_success(schedule_add(s, &j, &job), "a hostile job");
	}
}

static void bench_hostile(struct size n, int jobs)
{
	struct schedule_config c = { .rule = SCHEDULE_PRIORITY, .tries_max = 8 };
	const struct schedule_budget b = { has_slice, NULL, 1024 };
	const struct schedule_action *actions;
	double longest = 0, all = 0;
	struct schedule *s;
	int slices = 0, r;
	size_t acts;

	require_success(schedule_new(&c, &s), "a schedule");
	schedule_edit_begin(s);
	fill_schedule(s, n);
	add_hostile(s, jobs, n.nodes);
	require_success(schedule_edit_end(s), "an edit");
	for (int32_t i = 1; i < n.running; i += 2)
		if (schedule_state(s, i) == SCHEDULE_RUNNING)
			schedule_remove(s, i);
	schedule_pass_begin(s, 1);
	do {
		double start = cpu_ms(), took;

		slice_end_ms = start + SLICE_MS;
		r = schedule_pass_go_on(s, &b, &actions, &acts);
		took = cpu_ms() - start;
		all += took;
		longest = took > longest ? took : longest;
		slices++;
	} while (r > 0);
	require_success(r, "a pass");
	printf("%d jobs of %d kinds before %d queued ones, %d nodes, %d running: a pass %.1f ms in %d "
	       "slices, the longest %.1f ms (%llu comparisons)\n",
	       jobs, KINDS, n.queued, n.nodes, n.running, all, slices, longest,
	       (unsigned long long)schedule_work(s));
	schedule_free(s);
}

static void bench_rule(const char *name, enum schedule_rule rule, struct size n)
{
	struct schedule_config c = { .rule = rule, .reserve_after_s = 7 * 86400 };
	double first, full = 0, end = 0, tenth, rival = time_sort(n.queued);
	struct schedule *s;
	size_t acts, started;

	require_success(schedule_new(&c, &s), "a schedule");
	fill_schedule(s, n);
	first = time_pass(s, 1, &acts); /* sorts the queue for the first time */
	for (int i = 0; i < PASSES; i++) {
		double ms = time_pass(s, 2 + i, &acts);

		full = ms > full ? ms : full;
	}
	for (int32_t i = 0; i < PASSES; i++) {
		double ms;

		if (schedule_state(s, i * 17) != SCHEDULE_QUEUED)
			schedule_remove(s, i * 17);
		ms = time_pass(s, 100 + i, &acts);
		end = ms > end ? ms : end;
	}
	for (int32_t i = 1; i < n.running; i += 10)
		if (schedule_state(s, i) == SCHEDULE_RUNNING && i % 17)
			schedule_remove(s, i);
	tenth = time_pass(s, 1000, &started);
	printf("%-9s first %.1f ms, full %.1f ms, after an end %.1f ms, a tenth of the jobs "
	       "ended: %.1f ms (%zu actions); sorting %d numbers %.1f ms: x%.2f\n",
	       name, first, full, end, tenth, started, n.queued, rival, full / rival);
	schedule_free(s);
}

/* Every job ends at another time. */
static void bench_copy(struct size n)
{
	const struct schedule_config c = { .rule = SCHEDULE_FIFO };
	double most = 0, rival = time_sort(n.running);
	struct schedule *s;

	require_success(schedule_new(&c, &s), "a schedule");
	schedule_edit_begin(s);
	fill_schedule(s, n);
	require_success(schedule_edit_end(s), "an edit");
	for (int i = 0; i < PASSES; i++) {
		struct schedule_future *f = NULL;
		double start = cpu_ms(), ms;

		require_success(schedule_future_new(s, 1, &f), "a copy");
		ms = cpu_ms() - start;
		schedule_future_free(f);
		most = ms > most ? ms : most;
	}
	printf("a copy of %d running and %d queued jobs on %d nodes, for starts to come: %.1f "
	       "ms; sorting %d numbers %.1f ms: x%.2f\n",
	       n.running, n.queued, n.nodes, most, n.running, rival, most / rival);
	schedule_free(s);
}

int main(int argc, char **argv)
{
	struct size n = { 100000, 20000, 5000 };

	if (argc == 4)
		n = (struct size){ atoi(argv[1]), atoi(argv[2]), atoi(argv[3]) };
	if (n.queued < 1 || n.nodes < 1 || n.running < n.nodes) {
		fprintf(stderr,
			"usage: schedule_bench QUEUED RUNNING NODES, RUNNING >= NODES\n");
		return 64;
	}
	printf("%d queued, %d running, %d nodes of %d cores\n", n.queued, n.running, n.nodes,
	       CORES);
	bench_rule("priority", SCHEDULE_PRIORITY, n);
	bench_rule("fifo", SCHEDULE_FIFO, n);
	bench_rule("preempt", SCHEDULE_PREEMPT, n);
	bench_hostile((struct size){ 100, 2000, 500 }, 8);
	bench_hostile((struct size){ 100000, 8000, 2000 }, 8);
	bench_hostile((struct size){ 100000, 20000, 5000 }, 500);
	bench_copy((struct size){ 500, 100000, 10000 });
	return 0;
}
