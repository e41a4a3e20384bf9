/* SPDX-License-Identifier: GPL-2.0-or-later */
/* running.c - reads the open attempts and parts of nodes by the indices that end with the job. See running.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/nodes/running.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define RUNNING_COLUMNS(X, p, n, state) \
	X(RUNNING_NODE,        p ".node") \
	X(RUNNING_JOB,         ", " p ".job") \
	X(RUNNING_UID,         ", j.uid") \
	X(RUNNING_CLUSTER,     ", j.cluster") \
	X(RUNNING_NAME,        ", j.name") \
	X(RUNNING_USER,        ", j.user") \
	X(RUNNING_ACCOUNT,     ", j.account") \
	X(RUNNING_CPUS,        ", " p ".cpus") \
	X(RUNNING_NCPUS,       ", " n ".ncpus") \
	X(RUNNING_NGPUS,       ", " n ".ngpus") \
	X(RUNNING_MEM_BYTES,   ", CASE WHEN " n ".vmem_bytes > 0 THEN " n ".vmem_bytes ELSE " n ".mem_bytes END") \
	X(RUNNING_JOBFS_BYTES, ", " n ".jobfs_bytes") \
	X(RUNNING_STATE,       ", " state) \
	X(RUNNING_WANT,        ", j.want") \
	X(RUNNING_LOST,        ", COALESCE((SELECT o.lost FROM nodes o WHERE o.node = " p ".node), 0)") \
	X(RUNNING_AT_NS,       ", " p ".at_ns") \
	X(RUNNING_RUNNING_NS,  ", " p ".running_ns") \
	X(RUNNING_USAGE,       ", " p ".usage")
/* clang-format on */
enum { RUNNING_COLUMNS(SQL_NAME, "", "", "") };

/* Part 0 stands for the attempt, whose row has its state. */
#define PART_STATE                                                                             \
	"CASE WHEN p.part = 0 THEN (SELECT a.state FROM attempts a WHERE a.job = p.job"        \
	" AND a.attempt = p.attempt) ELSE p.state END"
#define ATTEMPTS(where)                                                                        \
	"SELECT " RUNNING_COLUMNS(SQL_COLUMN, "a", "j",                                        \
				  "a.state") " FROM attempts a CROSS JOIN jobs j"              \
					     " ON j.job = a.job AND j.state < " SQL_JOB_ENDED  \
					     " WHERE a.closed = " SQL_STORE_OPEN               \
					     " AND a.hosts = '' AND " where
#define PARTS(where)                                                                           \
	"SELECT " RUNNING_COLUMNS(                                                             \
		SQL_COLUMN, "p", "p",                                                          \
		PART_STATE) " FROM parts p CROSS JOIN jobs j ON j.job = p.job"                 \
			    " WHERE p.closed = " SQL_STORE_OPEN " AND " where
#define FIRST(select, of, limit)                                                               \
	"SELECT * FROM (" select " ORDER BY " of ".node, " of ".job LIMIT " limit ") AS of_" of
/* One statement for each way to name the nodes, so that each has its index. */
#define BOTH(where, limit)                                                                     \
	FIRST(ATTEMPTS(where("a")), "a", limit)                                                \
	" UNION ALL " FIRST(PARTS(where("p")), "p", limit) " ORDER BY 1, 2 LIMIT " limit
#define OF_NODE(p) p ".node = ?1"
#define FROM_NODE(p) p ".node >= ?1"
#define AFTER(p) "(" p ".node, " p ".job) > (?1, ?2)"

/* A figure of the usage that the ledger has stored: an object of numbers, in which a key is a key wherever it stands. In PostgreSQL reading two
 * of them by SQL took 75 ms for 10,000 jobs, as it parses the object for each; reading the whole text 2 ms. */
static int64_t find_figure(const char *usage, const char *quoted_key, int64_t fallback)
{
	const char *at = strstr(usage, quoted_key);
	char *end;
	long long value;

	if (!at)
		return fallback;
	at += strlen(quoted_key);
	errno = 0;
	value = strtoll(at, &end, 10);
	return errno || end == at ? fallback : value;
}

static void read_running(struct db_row *st, struct store_running *ret)
{
	const char *usage = store_text(st, RUNNING_USAGE);

	*ret = (struct store_running){
		.job = db_int(st, RUNNING_JOB),
		.uid = (uint32_t)db_int(st, RUNNING_UID),
		.node = store_text(st, RUNNING_NODE),
		.cluster = store_text(st, RUNNING_CLUSTER),
		.name = store_text(st, RUNNING_NAME),
		.user = store_text(st, RUNNING_USER),
		.account = store_text(st, RUNNING_ACCOUNT),
		.cpus = store_text(st, RUNNING_CPUS),
		.ncpus = db_int(st, RUNNING_NCPUS),
		.ngpus = db_int(st, RUNNING_NGPUS),
		.gpu_idle_ns = db_int(st, RUNNING_NGPUS)
				       ? find_figure(usage, "\"gpu_idle_ns\":", 0)
				       : 0,
		.mem_bytes = db_int(st, RUNNING_MEM_BYTES),
		.jobfs_bytes = db_int(st, RUNNING_JOBFS_BYTES),
		.is_suspended = db_int(st, RUNNING_STATE) == JOB_SUSPENDED,
		.frees_cores = db_int(st, RUNNING_STATE) == JOB_SUSPENDED &&
			       db_int(st, RUNNING_WANT) == DESIRED_SUSPEND,
		.is_node_lost = db_int(st, RUNNING_LOST) != 0,
		.at_ns = db_int(st, RUNNING_AT_NS),
		.running_ns = db_int(st, RUNNING_RUNNING_NS),
		.cpu_ns = find_figure(usage, "\"cpu_ns\":", -1),
	};
}

static int pass_running(struct store *s, struct db_row *st, store_running_fn fn, void *ctx,
			struct err *err)
{
	int r;

	while ((r = db_step(s->db, st, err)) > 0) {
		struct store_running one;

		read_running(st, &one);
		r = fn(ctx, &one, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

int store_running(struct store *s, const struct store_running_filter *f, store_running_fn fn,
		  void *ctx, struct err *err)
{
	static const char of_node[] = BOTH(OF_NODE, "?2"), all[] = BOTH(FROM_NODE, "?2");
	struct db_row *st;
	int r = db_query(s->db, err, &st, f->node ? of_node : all, "ti",
			 f->node   ? f->node
			 : f->from ? f->from
				   : "",
			 f->limit);

	return r < 0 ? r : pass_running(s, st, fn, ctx, err);
}

int store_running_after(struct store *s, const struct store_running_place *after,
			store_running_fn fn, void *ctx, struct err *err)
{
	static const char sql[] = BOTH(AFTER, "?3");
	struct db_row *st;
	int r = db_query(s->db, err, &st, sql, "tii", after->node, after->job, after->limit);

	return r < 0 ? r : pass_running(s, st, fn, ctx, err);
}

int store_followed(struct store *s, store_followed_fn fn, void *ctx, struct err *err)
{
	enum { CLUSTER, MARK_S, LIVE_NS };
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT o.cluster, m.mark_s, m.live_ns FROM slurm_marks m"
			 " JOIN origins o ON o.id = m.origin ORDER BY o.cluster",
			 "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct store_followed one = { store_text(st, CLUSTER), db_int(st, MARK_S),
						    db_int(st, LIVE_NS) };

		r = fn(ctx, &one, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

int store_silent_count(struct store *s, int64_t before_ns, int64_t *ret, struct err *err)
{
	int r = db_query_int(s->db, err, ret, "SELECT COUNT(*) FROM nodes WHERE last_ns < ?1",
			     "i", before_ns);

	return r < 0 ? r : 0;
}
