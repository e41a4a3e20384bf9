/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycle_bench - what one scheduling cycle of the controller costs, ledger and all: LEDGER has
 * nodes, jobs that run and jobs that wait (tests/bench/cycle.sh makes it). Beside it reading
 *the same rows with the database alone. CPU time of one core.
 *
 *	cycle_bench LEDGER CONTROLLER.CONF [CYCLES] */
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "controller/config/config.h"
#include "controller/ledger/store.h"
#include "controller/dispatch/cycle.h"
#include "controller/sharetree/sharetree.h"

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void exit_on_error(int r, const struct err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "cycle_bench: %s\n", err->text);
	exit(1);
}

static double clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Every column that a cycle needs of those that wait, and nothing done with it. */
struct rows {
	int64_t n, first; /* first: the lowest number */
};

static const char rows_sql[] =
	"SELECT job, submitted_ns, cluster, account, user, queue, name, pool, ncpus,"
	" vmem_bytes, mem_bytes, jobfs_bytes, ngpus, walltime_s, exclusive, nice, site,"
	" gpu_model FROM jobs WHERE state = 0 ORDER BY job";

/* With libpq alone; clock time, since the server works for it too. */
static double read_server_rows(const char *place, struct rows *ret)
{
	PGconn *c = PQconnectdb(place);
	double start = clock_ms();
	PGresult *r = PQexec(c, rows_sql);

	*ret = (struct rows){ .n = PQntuples(r) };
	if (PQresultStatus(r) != PGRES_TUPLES_OK || !ret->n) {
		fprintf(stderr, "cycle_bench: %s\n", PQerrorMessage(c));
		exit(1);
	}
	ret->first = atoll(PQgetvalue(r, 0, 0));
	PQclear(r);
	PQfinish(c);
	return clock_ms() - start;
}

static double read_rows(const char *path, struct rows *ret)
{
	double start = cpu_ms();
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;

	if (strncmp(path, "postgresql:", 11) == 0)
		return read_server_rows(path, ret);
	*ret = (struct rows){ 0 };
	if (sqlite3_open(path, &db) || sqlite3_prepare_v2(db, rows_sql, -1, &st, NULL)) {
		fprintf(stderr, "cycle_bench: %s\n", sqlite3_errmsg(db));
		exit(1);
	}
	while (sqlite3_step(st) == SQLITE_ROW) {
		if (ret->n++ == 0)
			ret->first = sqlite3_column_int64(st, 0);
		for (int i = 0; i < 18; i++)
			(void)sqlite3_column_text(st, i);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return cpu_ms() - start;
}

static double cpu_of_process_ms(const char *pid)
{
	char path[64];
	double ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%lf", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns / 1e6;
}

/* What the controller's session has cost in the server, which runs on this machine; SQLite: 0. */
static double server_cpu_ms(const char *place)
{
	double ms = 0;
	PGresult *r;
	PGconn *c;

	if (strncmp(place, "postgresql:", 11) != 0)
		return 0;
	c = PQconnectdb(place);
	r = PQexec(c, "SELECT pid FROM pg_stat_activity"
		      " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	for (int i = 0; i < PQntuples(r); i++)
		ms += cpu_of_process_ms(PQgetvalue(r, i, 0));
	PQclear(r);
	PQfinish(c);
	return ms;
}

static void count_start(void *ctx, const struct cycle_event *e)
{
	*(int *)ctx += !e->is_further_node;
}

#define WRITTEN 200 /* jobs between two cycles */

/* Other queued ones each time: what a cycle must read again. */
static void write_jobs(struct store *s, int turn, struct rows queued)
{
	struct err err = { "" };

	for (int64_t i = 0; i < WRITTEN && i < queued.n; i++) {
		const struct store_priority_change w = { .job = queued.first +
								(i * 499 + turn) % queued.n,
							 .now_ns = 1,
							 .has_nice = true,
							 .author = "bench" };

		exit_on_error(store_set_priority(s, &w, &err), &err);
	}
}

int main(int argc, char **argv)
{
	struct sharetree_config sc = { 0 };
	struct sharetree *sharetree = NULL;
	struct config *config = NULL;
	struct cycle *cycle = NULL;
	struct store *store = NULL;
	struct err err = { "" };
	int n = argc > 3 ? atoi(argv[3]) : 5;
	struct rows rows;
	double rival;

	if (argc < 3 || n < 1) {
		fprintf(stderr, "usage: cycle_bench LEDGER CONTROLLER.CONF [CYCLES]\n");
		return 64;
	}
	exit_on_error(config_load(argv[2], &config, &err), &err);
	exit_on_error(store_open(argv[1], &store, &err), &err);
	sc.config = config;
	exit_on_error(sharetree_new(&sc, &sharetree, &err), &err);
	exit_on_error(cycle_new(store, sharetree, &cycle, &err), &err);
	for (int i = 0; i < n; i++) {
		int acts = 0;
		struct cycle_run run = { .cluster = config->clusters[0]->name,
					 .now_ns = (int64_t)time(NULL) * 1000000000,
					 .on_event = count_start,
					 .ctx = &acts };
		double server = server_cpu_ms(argv[1]);
		double start = cpu_ms(), began = clock_ms(), ms, by_clock;

		exit_on_error(cycle_run(cycle, &run, &err), &err);
		ms = cpu_ms() - start;
		by_clock = clock_ms() - began;
		server = server_cpu_ms(argv[1]) - server;
		rival = read_rows(argv[1], &rows);
		printf("cycle %d: %.1f ms (server %.1f; %.1f by the clock), %d actions; "
		       "reading the %lld queued rows alone %.1f ms: x%.2f\n",
		       i + 1, ms, server, by_clock, acts, (long long)rows.n, rival, ms / rival);
		write_jobs(store, i, rows);
	}
	cycle_free(cycle);
	sharetree_free(sharetree);
	store_close(store);
	config_free(config);
	return 0;
}
