/* store_schema.c - the tables, opening and closing, and the journal of events. See store.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"

/* attempts.closed: 0 open, 1 the node's final report is in, 2 ended by the controller (a later
 * word of the node still counts).
 * jobs.state mirrors the current attempt. The terms of charging (rate_, bundle_) are fixed at
 * submission. Day: UTC days since 1970-01-01. */
static const char schema_1[] =
	"CREATE TABLE jobs("
	" job INTEGER PRIMARY KEY AUTOINCREMENT, attempt INTEGER NOT NULL DEFAULT 0,"
	" state INTEGER NOT NULL, want INTEGER NOT NULL DEFAULT 0, want_reason TEXT,"
	" uid INTEGER NOT NULL, user TEXT NOT NULL, account TEXT NOT NULL,"
	" cluster TEXT NOT NULL, queue TEXT NOT NULL, name TEXT NOT NULL, node TEXT,"
	" ncpus INTEGER NOT NULL, vmem_bytes INTEGER NOT NULL, mem_bytes INTEGER NOT NULL,"
	" jobfs_bytes INTEGER NOT NULL, walltime_s INTEGER NOT NULL, ngpus INTEGER NOT NULL,"
	" submitted_ns INTEGER NOT NULL, started_ns INTEGER NOT NULL DEFAULT 0,"
	" ended_ns INTEGER NOT NULL DEFAULT 0,"
	" pool INTEGER NOT NULL, decided_by INTEGER NOT NULL,"
	" rate_num INTEGER NOT NULL, rate_den INTEGER NOT NULL,"
	" bundle_gpus_num INTEGER NOT NULL, bundle_gpus_den INTEGER NOT NULL,"
	" bundle_cores_num INTEGER NOT NULL, bundle_cores_den INTEGER NOT NULL,"
	" bundle_memory_num INTEGER NOT NULL, bundle_memory_den INTEGER NOT NULL,"
	" request TEXT NOT NULL, end TEXT) STRICT;"
	"CREATE INDEX jobs_active ON jobs(state, cluster, job) WHERE state < 5;"
	"CREATE INDEX jobs_user ON jobs(user, job);"
	"CREATE INDEX jobs_account ON jobs(account, job);"

	"CREATE TABLE attempts("
	" job INTEGER NOT NULL REFERENCES jobs(job), attempt INTEGER NOT NULL,"
	" node TEXT NOT NULL, given_ns INTEGER NOT NULL, state INTEGER NOT NULL,"
	" shown INTEGER NOT NULL DEFAULT 0, missing_ns INTEGER NOT NULL DEFAULT 0,"
	" closed INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL DEFAULT -1,"
	" at_ns INTEGER NOT NULL DEFAULT 0, started_ns INTEGER NOT NULL DEFAULT 0,"
	" ended_ns INTEGER NOT NULL DEFAULT 0, running_ns INTEGER NOT NULL DEFAULT 0,"
	" suspended_ns INTEGER NOT NULL DEFAULT 0,"
	" charge_requested_ms INTEGER NOT NULL DEFAULT 0,"
	" charge_used_ms INTEGER NOT NULL DEFAULT 0,"
	" end_kind INTEGER NOT NULL DEFAULT 0, exit_status INTEGER, signal INTEGER,"
	" cpus TEXT, note TEXT, usage TEXT, end TEXT,"
	" PRIMARY KEY(job, attempt)) STRICT;"
	"CREATE INDEX attempts_open ON attempts(node, job) WHERE closed = 0;"

	"CREATE TABLE rollups("
	" cluster TEXT NOT NULL, account TEXT NOT NULL, user TEXT NOT NULL,"
	" pool INTEGER NOT NULL, day INTEGER NOT NULL,"
	" jobs_started INTEGER NOT NULL, jobs_ended INTEGER NOT NULL,"
	" running_ms INTEGER NOT NULL, suspended_ms INTEGER NOT NULL,"
	" cpu_ms INTEGER NOT NULL, charge_requested_ms INTEGER NOT NULL,"
	" charge_used_ms INTEGER NOT NULL, core_ms INTEGER NOT NULL, gpu_ms INTEGER NOT NULL,"
	" PRIMARY KEY(cluster, account, user, pool, day)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX rollups_day ON rollups(day);"

	"CREATE TABLE nodes("
	" node TEXT PRIMARY KEY, cluster TEXT NOT NULL, boot TEXT NOT NULL,"
	" version TEXT NOT NULL, address TEXT NOT NULL, topology TEXT NOT NULL,"
	" notes TEXT NOT NULL, tier INTEGER NOT NULL, draining INTEGER NOT NULL,"
	" lost INTEGER NOT NULL, ncpus INTEGER NOT NULL, mem_bytes INTEGER NOT NULL,"
	" jobfs_bytes INTEGER NOT NULL, ngpus INTEGER NOT NULL,"
	" free_ncpus INTEGER NOT NULL, free_mem_bytes INTEGER NOT NULL,"
	" free_jobfs_bytes INTEGER NOT NULL, free_ngpus INTEGER NOT NULL,"
	" first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL) STRICT;"

	"CREATE TABLE streams("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, stream INTEGER NOT NULL,"
	" seen INTEGER NOT NULL, kept INTEGER NOT NULL,"
	" PRIMARY KEY(job, attempt, stream)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE chunks("
	" id INTEGER PRIMARY KEY, job INTEGER NOT NULL, attempt INTEGER NOT NULL,"
	" stream INTEGER NOT NULL, offset INTEGER NOT NULL, size INTEGER NOT NULL,"
	" data BLOB NOT NULL, UNIQUE(job, attempt, stream, offset)) STRICT;"

	"CREATE TABLE events("
	" id INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, job INTEGER, node TEXT,"
	" what TEXT NOT NULL, text TEXT NOT NULL) STRICT;"
	"CREATE INDEX events_job ON events(job) WHERE job IS NOT NULL;";

_Static_assert(JOB_ENDED == 5 && JOB_QUEUED == 0, "states are on disk as numbers");
_Static_assert(END_NODE_LOST == 6, "end kinds are on disk as numbers");
_Static_assert(CHARGE_GPUS == 0 && CHARGE_MEMORY == 2, "sides are on disk as numbers");

const char *const store_migrations[] = { schema_1, NULL };

int store_open(const char *path, struct store **ret, struct err *err)
{
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	r = db_open(path, store_migrations, &s->db, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct store *store_close(struct store *s)
{
	if (!s)
		return NULL;
	db_close(s->db);
	free(s);
	return NULL;
}

int store_event(struct store *s, const struct store_event *e, struct err *err)
{
	return db_run(s->db, err,
		      "INSERT INTO events(at_ns, job, node, what, text)"
		      " VALUES(?1, NULLIF(?2, 0), ?3, ?4, ?5)",
		      "iittt", e->at_ns, e->job, e->node, e->what, e->text);
}

const char *store_text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text ? text : "";
}
