/* running.c - reads the open attempts and parts of nodes by the indices that end with the job. See running.h. */
#include "common/err.h"
#include "controller/ledger/nodes/running.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define RUNNING_COLUMNS(X, p, n) \
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
	X(RUNNING_GPU_IDLE_NS, ", COALESCE(" p ".usage ->> '$.gpu_idle_ns', 0)") \
	X(RUNNING_STATE,       ", " p ".state")
/* clang-format on */
enum { RUNNING_COLUMNS(SQL_NAME, "", "") };

/* One statement with and one without a node, so that each has its index. */
#define ATTEMPTS(where)                                                                        \
	"SELECT " RUNNING_COLUMNS(SQL_COLUMN, "a",                                             \
				  "j") " FROM attempts a CROSS JOIN jobs j ON j.job = a.job"   \
				       " WHERE a.closed = " SQL_STORE_OPEN                     \
				       " AND a.hosts = '' AND a." where
#define PARTS(where)                                                                           \
	"SELECT " RUNNING_COLUMNS(SQL_COLUMN, "p",                                             \
				  "p") " FROM parts p CROSS JOIN jobs j ON j.job = p.job"      \
				       " WHERE p.closed = " SQL_STORE_OPEN " AND p." where
#define FIRST(select, of)                                                                      \
	"SELECT * FROM (" select " ORDER BY " of ".node, " of ".job LIMIT ?2) AS of_" of
#define BOTH(where)                                                                            \
	FIRST(ATTEMPTS(where), "a")                                                            \
	" UNION ALL " FIRST(PARTS(where), "p") " ORDER BY 1, 2 LIMIT ?2"

static void read_running(struct db_row *st, struct store_running *ret)
{
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
		.gpu_idle_ns = db_int(st, RUNNING_GPU_IDLE_NS),
		.is_suspended = db_int(st, RUNNING_STATE) == JOB_SUSPENDED,
	};
}

int store_running(struct store *s, const struct store_running_filter *f, store_running_fn fn,
		  void *ctx, struct err *err)
{
	static const char of_node[] = BOTH("node = ?1"), all[] = BOTH("node >= ?1");
	struct db_row *st;
	int r = db_query(s->db, err, &st, f->node ? of_node : all, "ti",
			 f->node   ? f->node
			 : f->from ? f->from
				   : "",
			 f->limit);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
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
