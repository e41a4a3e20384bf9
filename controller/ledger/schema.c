/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema.c - the ledger's tables, as a list of migrations. See store.h.
 *
 * A migration never changes once it is released: ledgers have gone through it. A new one is appended to
 * store_migrations[]. PostgreSQL goes through the same list (controller/postgres/pg.h). */
#include "controller/ledger/jobs/stored.h"
#include "controller/ledger/store_sqlite.h"

/* jobs.state is the state of the current attempt. The terms of charging (rate_, bundle_) are fixed at
 * submission; the rate of a job with whole nodes once more when it is allocated (schema_whole_nodes). attempts.closed: enum store_closed. Days: calendar.h. */
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
	" cpus TEXT, note TEXT, usage TEXT, end TEXT, PRIMARY KEY(job, attempt)) STRICT;"
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

/* Jobs imported from other systems. imported.id is origin << 40 | the job's number there, so that a job
 * is in the ledger once. Times are seconds; NULL: the history did not record it; a rate that is NULL is
 * cores / 1. imports: how far each file has been read, written in the transaction of the jobs. */
static const char schema_2[] =
	"CREATE TABLE associations("
	" id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, account TEXT NOT NULL,"
	" user TEXT NOT NULL, UNIQUE(cluster, account, user)) STRICT;"
	"CREATE TABLE origins(id INTEGER PRIMARY KEY, cluster TEXT NOT NULL UNIQUE) STRICT;"
	"CREATE TABLE imported("
	" id INTEGER PRIMARY KEY, association INTEGER NOT NULL, submit_s INTEGER NOT NULL,"
	" wait_s INTEGER NOT NULL, run_s INTEGER NOT NULL, ncpus INTEGER NOT NULL,"
	" ngpus INTEGER NOT NULL, pool INTEGER NOT NULL, walltime_s INTEGER,"
	" mem_bytes INTEGER, mem_peak_bytes INTEGER, cpu_ms INTEGER,"
	" rate_num INTEGER, rate_den INTEGER,"
	" charge_requested_ms INTEGER NOT NULL, charge_used_ms INTEGER NOT NULL) STRICT;"
	"CREATE TABLE imports("
	" id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, file TEXT NOT NULL,"
	" format TEXT NOT NULL, lines INTEGER NOT NULL, rows INTEGER NOT NULL,"
	" jobs INTEGER NOT NULL, core_seconds INTEGER NOT NULL, conflicts INTEGER NOT NULL,"
	" complete INTEGER NOT NULL) STRICT;"
	"CREATE TABLE import_rejects("
	" import INTEGER NOT NULL, why TEXT NOT NULL, n INTEGER NOT NULL,"
	" first_line INTEGER NOT NULL, PRIMARY KEY(import, why)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX rollups_account ON rollups(account, day);"
	"CREATE INDEX rollups_user ON rollups(user, day);"

	/* The days of an attempt: those of its start and end, and usage_day, on which all its usage
	 * is; or, where `sliced` is 1, the table slices has what each day has of it. STORE_NO_DAY: none
	 * yet; STORE_BASE_DAY: the usage is in rollups_base, the sums from before there were slices. */
	"ALTER TABLE attempts ADD COLUMN started_day INTEGER NOT NULL DEFAULT -1000000;"
	"ALTER TABLE attempts ADD COLUMN ended_day INTEGER NOT NULL DEFAULT -1000000;"
	"ALTER TABLE attempts ADD COLUMN usage_day INTEGER NOT NULL DEFAULT -1000000;"
	"ALTER TABLE attempts ADD COLUMN sliced INTEGER NOT NULL DEFAULT 0;"
	"CREATE TABLE slices("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, day INTEGER NOT NULL,"
	" running_ms INTEGER NOT NULL, suspended_ms INTEGER NOT NULL,"
	" cpu_ms INTEGER NOT NULL, charge_requested_ms INTEGER NOT NULL,"
	" charge_used_ms INTEGER NOT NULL, core_ms INTEGER NOT NULL, gpu_ms INTEGER NOT NULL,"
	" PRIMARY KEY(job, attempt, day)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE rollups_base("
	" cluster TEXT NOT NULL, account TEXT NOT NULL, user TEXT NOT NULL,"
	" pool INTEGER NOT NULL, day INTEGER NOT NULL,"
	" jobs_started INTEGER NOT NULL, jobs_ended INTEGER NOT NULL,"
	" running_ms INTEGER NOT NULL, suspended_ms INTEGER NOT NULL,"
	" cpu_ms INTEGER NOT NULL, charge_requested_ms INTEGER NOT NULL,"
	" charge_used_ms INTEGER NOT NULL, core_ms INTEGER NOT NULL, gpu_ms INTEGER NOT NULL,"
	" PRIMARY KEY(cluster, account, user, pool, day)) STRICT, WITHOUT ROWID;"
	"INSERT INTO rollups_base SELECT * FROM rollups;"
	"INSERT INTO slices SELECT a.job, a.attempt, -1000001, a.running_ns / 1000000,"
	" a.suspended_ns / 1000000, COALESCE(a.usage ->> '$.cpu_ns', 0) / 1000000,"
	" a.charge_requested_ms, a.charge_used_ms,"
	" (a.running_ns * j.ncpus + 500000) / 1000000,"
	" (a.running_ns * j.ngpus + 500000) / 1000000"
	" FROM attempts a JOIN jobs j USING(job) WHERE a.seq >= 0;"
	"UPDATE attempts SET sliced = 1 WHERE seq >= 0;"
	"UPDATE attempts SET started_day = -1000001 WHERE started_ns <> 0;"
	"UPDATE attempts SET ended_day = -1000001 WHERE closed <> 0;";
_Static_assert(STORE_NO_DAY == -1000000 && STORE_BASE_DAY == -1000001, "days on disk");

/* meta: the time zone of the ledger's days (older ledgers had days of UTC).
 * adjustments: refunds (< 0) and recharges, which rollups and months have in adjusted_ms.
 * months: the rollups added up by month. */
#define MONTH_OF_DAY                                                                           \
	" 12 * CAST(strftime('%Y', day * 86400, 'unixepoch') AS INTEGER)"                      \
	" + CAST(strftime('%m', day * 86400, 'unixepoch') AS INTEGER) - 1"
static const char schema_3[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"INSERT INTO meta SELECT 'time_zone', 'UTC' WHERE EXISTS(SELECT 1 FROM rollups);"
	"ALTER TABLE rollups ADD COLUMN adjusted_ms INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE rollups_base ADD COLUMN adjusted_ms INTEGER NOT NULL DEFAULT 0;"
	"CREATE TABLE adjustments("
	" id INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, author TEXT NOT NULL,"
	" reason TEXT NOT NULL, cluster TEXT NOT NULL, account TEXT NOT NULL,"
	" user TEXT NOT NULL, pool INTEGER NOT NULL, day INTEGER NOT NULL,"
	" charge_ms INTEGER NOT NULL, job INTEGER) STRICT;"
	"CREATE INDEX adjustments_job ON adjustments(cluster, job) WHERE job IS NOT NULL;"
	"INSERT INTO associations(cluster, account, user)"
	" SELECT DISTINCT cluster, account, user FROM rollups WHERE true"
	" ON CONFLICT DO NOTHING;"
	"CREATE INDEX associations_account ON associations(account);"
	"CREATE INDEX associations_user ON associations(user);"
	"CREATE TABLE months("
	" association INTEGER NOT NULL, pool INTEGER NOT NULL, month INTEGER NOT NULL,"
	" jobs_started INTEGER NOT NULL, jobs_ended INTEGER NOT NULL,"
	" running_ms INTEGER NOT NULL, suspended_ms INTEGER NOT NULL,"
	" cpu_ms INTEGER NOT NULL, charge_requested_ms INTEGER NOT NULL,"
	" charge_used_ms INTEGER NOT NULL, core_ms INTEGER NOT NULL, gpu_ms INTEGER NOT NULL,"
	" adjusted_ms INTEGER NOT NULL,"
	" PRIMARY KEY(association, pool, month)) STRICT, WITHOUT ROWID;"
	"INSERT INTO months SELECT a.id, pool," MONTH_OF_DAY ", SUM(jobs_started),"
	" SUM(jobs_ended), SUM(running_ms), SUM(suspended_ms), SUM(cpu_ms),"
	" SUM(charge_requested_ms), SUM(charge_used_ms), SUM(core_ms), SUM(gpu_ms), 0"
	" FROM rollups JOIN associations a USING(cluster, account, user) GROUP BY 1, 2, 3;";

/* Run intervals: usage/charges.h. Each attempt from before has one even interval. */
static const char schema_stretches[] =
	"CREATE TABLE stretches("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, from_ns INTEGER NOT NULL,"
	" to_ns INTEGER NOT NULL, running_ns INTEGER NOT NULL, even INTEGER NOT NULL,"
	" PRIMARY KEY(job, attempt, from_ns)) STRICT, WITHOUT ROWID;"
	"INSERT INTO stretches SELECT job, attempt, MAX(started_ns, given_ns),"
	" MAX(CASE WHEN ended_ns > 0 THEN ended_ns ELSE at_ns END, started_ns, given_ns),"
	" running_ns, suspended_ns = 0 FROM attempts WHERE running_ns > 0;";

/* The statements of the canonical accounts.conf, and the log of their changes. key '': the head of a
 * section; item '': the value is no list; in the log both are NULL then. */
static const char schema_accounts[] =
	"CREATE TABLE accounts("
	" section TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, item TEXT NOT NULL,"
	" value TEXT NOT NULL, PRIMARY KEY(section, name, key, item)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE accounts_log("
	" id INTEGER PRIMARY KEY, revision INTEGER NOT NULL,"
	" at_ns INTEGER NOT NULL, author TEXT NOT NULL, op INTEGER NOT NULL,"
	" section TEXT NOT NULL, name TEXT NOT NULL, key TEXT, item TEXT,"
	" old_value TEXT, new_value TEXT) STRICT;"
	"CREATE INDEX accounts_log_heads ON accounts_log(section, name) WHERE key IS NULL;";

_Static_assert(JOB_ENDED == 5 && JOB_QUEUED == 0, "states are on disk as numbers");
_Static_assert(END_NODE_LOST == 6, "end kinds are on disk as numbers");
_Static_assert(CHARGE_GPUS == 0 && CHARGE_MEMORY == 2, "sides are on disk as numbers");

/* The unit of the charge, and its rule as a text, as they were at submission. */
static const char schema_terms[] =
	"ALTER TABLE jobs ADD COLUMN unit INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN rule TEXT NOT NULL DEFAULT '';";
_Static_assert(TARIFF_EQUIVALENTS == 0, "units are on disk as numbers");

/* The rollups of a user are found by its associations; this index only made imports slower. */
static const char schema_indices[] = "DROP INDEX rollups_user;";

/* For store_last_charge(): live jobs have an index; for imported ones meta has the last end, which
 * import/import_batch.c writes. */
static const char schema_ends[] = "CREATE INDEX stretches_until ON stretches(to_ns);"
				  "INSERT INTO meta SELECT 'imported_until_s', "
				  "CAST(MAX(submit_s + wait_s + run_s) AS TEXT)"
				  " FROM imported HAVING COUNT(*) > 0;";

/* Jobs on whole nodes; changes of priority: `nice` by the user, `site` by operators. */
static const char schema_weights[] =
	"ALTER TABLE jobs ADD COLUMN exclusive INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN nice INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN site INTEGER NOT NULL DEFAULT 0;";

/* GPUs by model: of requests and of nodes (gpus.h has the form of the texts), and the use of each by an
 * attempt (JSON). */
static const char schema_gpus[] =
	"ALTER TABLE jobs ADD COLUMN gpu_model TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE attempts ADD COLUMN gpus TEXT;"
	"ALTER TABLE nodes ADD COLUMN gpus TEXT NOT NULL DEFAULT '[]';"
	"ALTER TABLE nodes ADD COLUMN gpu_models TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE nodes ADD COLUMN free_gpu_models TEXT NOT NULL DEFAULT '';";

/* Finds the active jobs of an account without its ended ones. */
static const char schema_active[] =
	"CREATE INDEX jobs_active_account ON jobs(account, job) WHERE state < 5;";

/* The GPUs of a node that are not allocated for now, since they are not clean: by model. */
static const char schema_drained[] =
	"ALTER TABLE nodes ADD COLUMN drained_gpu_models TEXT NOT NULL DEFAULT '';";

/* gave_way_to: the preemptor of a preempted job; 0: a user or operator suspended it. due_ns: since when
 * the job is overdue. */
static const char schema_preempt[] =
	"ALTER TABLE jobs ADD COLUMN gave_way_to INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN due_ns INTEGER NOT NULL DEFAULT 0;";

/* Holds, dependencies and arrays: jobs/hold.h, jobs/depend.h, jobs/array.h. SQLite uses the index of
 * array tasks only in statements that contain "array_job > 0". The row of a task is a copy of its
 * array's row: jobs/array.c names each column of jobs that a submission fills in. */
static const char schema_submission[] =
	"ALTER TABLE jobs ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN array_job INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN array_index INTEGER NOT NULL DEFAULT -1;"
	"CREATE INDEX jobs_array ON jobs(array_job, state) WHERE array_job > 0;"
	"CREATE INDEX jobs_queued_user ON jobs(user) WHERE state = 0;"
	"CREATE TABLE holds("
	" job INTEGER NOT NULL, kind INTEGER NOT NULL, author TEXT NOT NULL,"
	" at_ns INTEGER NOT NULL, PRIMARY KEY(job, kind)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE depends("
	" job INTEGER NOT NULL, target INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" met INTEGER NOT NULL DEFAULT 0,"
	" PRIMARY KEY(job, target, kind)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX depends_open ON depends(target, job) WHERE met = 0;"
	"CREATE TABLE arrays("
	" job INTEGER PRIMARY KEY, n INTEGER NOT NULL, first INTEGER NOT NULL,"
	" step INTEGER NOT NULL, at_once INTEGER NOT NULL, waiting TEXT NOT NULL,"
	" n_waiting INTEGER NOT NULL, n_dropped INTEGER NOT NULL DEFAULT 0,"
	" n_ended INTEGER NOT NULL DEFAULT 0, n_well INTEGER NOT NULL DEFAULT 0,"
	" is_open INTEGER NOT NULL DEFAULT 1) STRICT;"
	"CREATE INDEX arrays_open ON arrays(job) WHERE is_open = 1;";
_Static_assert(AFTER_OK == 0 && AFTER_ANY == 1, "kinds of dependencies are on disk as numbers");

/* Types and features of nodes, and of requests: features.h has the form of the lists. */
static const char schema_kinds[] =
	"ALTER TABLE nodes ADD COLUMN node_type TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE nodes ADD COLUMN features TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN node_type TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN features TEXT NOT NULL DEFAULT '';";

/* Nodes drained by operators (nodes/drain.h); boots of nodes, each with the number of its last exchange
 * (nodes/sync_number.c). */
static const char schema_dispatch[] =
	"CREATE TABLE drains("
	" node TEXT PRIMARY KEY, at_ns INTEGER NOT NULL, author TEXT NOT NULL,"
	" reason TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE boots("
	" node TEXT NOT NULL, boot TEXT NOT NULL, number INTEGER NOT NULL,"
	" is_over INTEGER NOT NULL, at_ns INTEGER NOT NULL,"
	" PRIMARY KEY(node, boot)) STRICT, WITHOUT ROWID;";

/* A drain may begin at a later time. */
static const char schema_maintenance[] =
	"ALTER TABLE drains ADD COLUMN from_ns INTEGER NOT NULL DEFAULT 0;";

/* Jobs on several nodes.
 * jobs.chunks: the chunks of the request (select.h), "" for one chunk.
 * attempts.hosts: the nodes and what each part has there, "" where there is one node;
 * attempts.verdict: the end (JSON) of the part that ended the job, verdict_kind its kind;
 * attempts.held_ns: since when the end of part 0 waits for the ends of the others.
 * parts: what is allocated to an attempt on each node, and what that node reported. Part 0 is on the
 * attempt's own node: `state`, `shown` and `missing_ns` of it are the attempt's, whose usage is the sum
 * of all parts; its row is closed with the attempt.
 * placements: every attempt on every node, a row each.
 * steps: what `reeve exec` started; state 0: wanted, 1: runs, 2: ended. */
static const char schema_parts[] =
	"ALTER TABLE jobs ADD COLUMN chunks TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN scattered INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE attempts ADD COLUMN hosts TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE attempts ADD COLUMN verdict TEXT;"
	"ALTER TABLE attempts ADD COLUMN verdict_kind INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE attempts ADD COLUMN held_ns INTEGER NOT NULL DEFAULT 0;"
	"CREATE TABLE parts("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, part INTEGER NOT NULL,"
	" node TEXT NOT NULL, ncpus INTEGER NOT NULL, vmem_bytes INTEGER NOT NULL,"
	" mem_bytes INTEGER NOT NULL, jobfs_bytes INTEGER NOT NULL, ngpus INTEGER NOT NULL,"
	" state INTEGER NOT NULL, shown INTEGER NOT NULL DEFAULT 0,"
	" missing_ns INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0,"
	" seq INTEGER NOT NULL DEFAULT -1, at_ns INTEGER NOT NULL DEFAULT 0,"
	" started_ns INTEGER NOT NULL DEFAULT 0, ended_ns INTEGER NOT NULL DEFAULT 0,"
	" running_ns INTEGER NOT NULL DEFAULT 0, suspended_ns INTEGER NOT NULL DEFAULT 0,"
	" cpus TEXT, note TEXT, usage TEXT, gpus TEXT, end TEXT,"
	" PRIMARY KEY(job, attempt, part)) STRICT;"
	"CREATE INDEX parts_open ON parts(node, job) WHERE closed = 0;"
	"CREATE INDEX attempts_open_job ON attempts(job) WHERE closed = 0;"
	"CREATE VIEW placements AS"
	" SELECT a.job AS job, a.attempt AS attempt, 0 AS part, a.node AS node,"
	" a.state AS state, a.closed AS closed, a.shown AS shown,"
	" a.missing_ns AS missing_ns, COALESCE(p.ncpus, j.ncpus) AS ncpus,"
	" COALESCE(p.vmem_bytes, j.vmem_bytes) AS vmem_bytes,"
	" COALESCE(p.mem_bytes, j.mem_bytes) AS mem_bytes,"
	" COALESCE(p.jobfs_bytes, j.jobfs_bytes) AS jobfs_bytes,"
	" COALESCE(p.ngpus, j.ngpus) AS ngpus"
	" FROM attempts a JOIN jobs j ON j.job = a.job LEFT JOIN parts p"
	" ON p.job = a.job AND p.attempt = a.attempt AND p.part = 0"
	" UNION ALL SELECT p.job, p.attempt, p.part, p.node, p.state, p.closed, p.shown,"
	" p.missing_ns, p.ncpus, p.vmem_bytes, p.mem_bytes, p.jobfs_bytes, p.ngpus"
	" FROM parts p WHERE p.part > 0;CREATE TABLE steps("
	" job INTEGER NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL,"
	" node TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0,"
	" want INTEGER NOT NULL DEFAULT 0, spec TEXT NOT NULL,"
	" exit_status INTEGER, signal INTEGER, text TEXT,"
	" created_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL DEFAULT 0,"
	" PRIMARY KEY(job, step)) STRICT;"
	"CREATE INDEX steps_open ON steps(node, job) WHERE state < 2;";

/* steps.missing_ns: since when the node of a running step no longer lists it. streams: stream -1 stands
 * for all of a job's steps; is_cut: output beyond `kept` was dropped. */
static const char schema_steps[] =
	"ALTER TABLE streams ADD COLUMN is_cut INTEGER NOT NULL DEFAULT 0;"
	"UPDATE streams SET is_cut = 1 WHERE kept > 8388608;"
	"ALTER TABLE steps ADD COLUMN missing_ns INTEGER NOT NULL DEFAULT 0;"
	"CREATE INDEX chunks_of_steps ON chunks(job, id) WHERE stream > 1;"
	"CREATE INDEX steps_open_job ON steps(job) WHERE state < 2;";

/* summed: the terms of charging are added up (UsageRule=sum); 0: the largest of them counts. */
static const char schema_sums[] =
	"ALTER TABLE jobs ADD COLUMN summed INTEGER NOT NULL DEFAULT 0;";

/* Finds the active jobs of a user, an account and a node without their ended ones. */
static const char schema_hot[] =
	"DROP INDEX jobs_queued_user;DROP INDEX jobs_active_account;"
	"CREATE INDEX jobs_active_user ON jobs(user, state, job) WHERE state < 5;"
	"CREATE INDEX jobs_active_account ON jobs(account, state, job) WHERE state < 5;"
	"CREATE INDEX jobs_node ON jobs(node, job) WHERE node IS NOT NULL;"
	"CREATE INDEX parts_node ON parts(node, job) WHERE part > 0;";

/* eligible_ns: since when neither a hold nor a dependency keeps the job from starting; 0: since it was
 * submitted. */
static const char schema_eligible[] =
	"ALTER TABLE jobs ADD COLUMN eligible_ns INTEGER NOT NULL DEFAULT 0;";

/* The signed requests of jobs that have not ended, for their nodes: jobs/credential.h. */
static const char schema_credentials[] =
	"CREATE TABLE credentials("
	" job INTEGER PRIMARY KEY, credential TEXT NOT NULL) STRICT;";

/* Large texts of requests and steps, each stored once for a user: jobs/texts.h. jobs.env, jobs.script,
 * steps.command: ids of texts; 0: the text is in the row itself. jobs.kept: enum store_kept. stored:
 * bytes that each user has stored. */
static const char schema_texts[] =
	"CREATE TABLE texts("
	" id INTEGER PRIMARY KEY, user TEXT NOT NULL, digest TEXT NOT NULL,"
	" n INTEGER NOT NULL, size INTEGER NOT NULL, text TEXT NOT NULL,"
	" UNIQUE(user, digest)) STRICT;CREATE TABLE stored("
	" user TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"ALTER TABLE jobs ADD COLUMN env INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN script INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN kept INTEGER NOT NULL DEFAULT 2;"
	"ALTER TABLE steps ADD COLUMN command INTEGER NOT NULL DEFAULT 0;"
	"INSERT INTO stored SELECT user, SUM(size) FROM"
	" (SELECT j.user AS user, c.size AS size FROM chunks c JOIN jobs j ON j.job = c.job"
	"  UNION ALL SELECT j.user, 256 FROM steps t JOIN jobs j ON j.job = t.job)"
	" GROUP BY user;"
	"CREATE INDEX jobs_kept ON jobs(kept, ended_ns) WHERE state = 5 AND kept > 0;"
	"CREATE INDEX events_node ON events(at_ns) WHERE job IS NULL;"
	"CREATE INDEX chunks_job ON chunks(job, id);DROP INDEX chunks_of_steps;";

/* imported: run_s was charged; suspended_s, also between start and end, was not. kind: import_kinds.id,
 * what else the job can be priced by. imports.profile: the profile that priced it ("": none; NULL: an
 * older version, which did not record it); content: the digest of the file alone; zone: that its times
 * were of. reruns: origins of the second and later runs of requeued jobs. */
static const char schema_history[] =
	"CREATE TABLE import_kinds("
	" id INTEGER PRIMARY KEY, queue TEXT NOT NULL, qos TEXT NOT NULL, gpus TEXT NOT NULL,"
	" node_type TEXT NOT NULL, UNIQUE(queue, qos, gpus, node_type)) STRICT;"
	"CREATE TABLE reruns("
	" id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, run INTEGER NOT NULL,"
	" UNIQUE(cluster, run)) STRICT;ALTER TABLE imported ADD COLUMN suspended_s INTEGER;"
	"ALTER TABLE imported ADD COLUMN nodes INTEGER;"
	"ALTER TABLE imported ADD COLUMN kind INTEGER;"
	"ALTER TABLE imports ADD COLUMN profile TEXT;"
	"ALTER TABLE imports ADD COLUMN content TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE imports ADD COLUMN zone TEXT NOT NULL DEFAULT '';";

/* The QOS of a job; '': none. */
static const char schema_qos[] = "ALTER TABLE jobs ADD COLUMN qos TEXT NOT NULL DEFAULT '';";

/* owner_suspended_ns: since when the job is suspended by its owner; 0: it is not (attempts/suspended.h). */
static const char schema_suspended[] =
	"ALTER TABLE jobs ADD COLUMN owner_suspended_ns INTEGER NOT NULL DEFAULT 0;"
	"CREATE INDEX jobs_suspended ON jobs(owner_suspended_ns)"
	" WHERE owner_suspended_ns > 0 AND state < 5;";

/* Finds the jobs of a user on a node without all other jobs of either. parts.user: the job's. */
static const char schema_user_node[] =
	"ALTER TABLE parts ADD COLUMN user TEXT NOT NULL DEFAULT '';"
	"UPDATE parts SET user = (SELECT j.user FROM jobs j WHERE j.job = parts.job);"
	"CREATE INDEX jobs_user_node ON jobs(user, node, job) WHERE node IS NOT NULL;"
	"CREATE INDEX parts_user_node ON parts(user, node, job) WHERE part > 0;";

/* The same for an account and a node. */
static const char schema_account_node[] =
	"CREATE INDEX jobs_account_node ON jobs(account, node, job) WHERE node IS NOT NULL;";

/* slurm_attempts: what Slurm said of each attempt (slurm/batch.h). submit_s: of the attempt, with the id Slurm's own key.
 * state: enum slurm_batch_state. source: 1: slurmctld, 2: slurmdbd said it last. gone_ns: since when slurmctld no longer
 * has it, while it has not ended; due_ns: when to look at it again; 0: it has not to be looked at. slurm_marks: how far
 * slurmdbd has been read, when slurmctld's jobs were last told. */
static const char schema_slurm[] =
	"CREATE TABLE slurm_attempts("
	" origin INTEGER NOT NULL, id INTEGER NOT NULL, submit_s INTEGER NOT NULL,"
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, state INTEGER NOT NULL,"
	" start_s INTEGER NOT NULL, end_s INTEGER NOT NULL, suspended_s INTEGER NOT NULL,"
	" exit_status INTEGER NOT NULL, signal INTEGER NOT NULL, ncpus INTEGER NOT NULL,"
	" nodes TEXT NOT NULL, node TEXT NOT NULL,"
	" array_job INTEGER NOT NULL, array_task INTEGER NOT NULL,"
	" het_job INTEGER NOT NULL, het_offset INTEGER NOT NULL,"
	" source INTEGER NOT NULL, at_s INTEGER NOT NULL,"
	" gone_ns INTEGER NOT NULL DEFAULT 0, due_ns INTEGER NOT NULL DEFAULT 0,"
	" PRIMARY KEY(origin, id, submit_s)) STRICT;"
	"CREATE INDEX slurm_attempts_job ON slurm_attempts(job, attempt);"
	"CREATE INDEX slurm_attempts_due ON slurm_attempts(due_ns) WHERE due_ns > 0;"
	"CREATE INDEX slurm_attempts_open ON slurm_attempts(origin, id) WHERE end_s = 0;"
	"CREATE INDEX slurm_attempts_end ON slurm_attempts(origin, end_s);"
	"CREATE TABLE slurm_marks("
	" origin INTEGER PRIMARY KEY, mark_s INTEGER NOT NULL, live_ns INTEGER NOT NULL) STRICT;";

/* Months of jobs that were moved out of the ledger: archive/archive.h. archived_runs: their run intervals;
 * archive_sums: of their attempts; mem_bytes: vmem where it was requested, else mem. */
static const char schema_archives[] =
	"CREATE TABLE archives("
	" id INTEGER PRIMARY KEY, month INTEGER NOT NULL, part INTEGER NOT NULL,"
	" dir TEXT NOT NULL, begun_ns INTEGER NOT NULL, is_done INTEGER NOT NULL DEFAULT 0,"
	" jobs INTEGER NOT NULL DEFAULT 0, first_job INTEGER NOT NULL DEFAULT 0,"
	" last_job INTEGER NOT NULL DEFAULT 0, UNIQUE(month, part)) STRICT;"
	"CREATE TABLE archive_files("
	" archive INTEGER NOT NULL, name TEXT NOT NULL, rows INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, digest TEXT NOT NULL,"
	" PRIMARY KEY(archive, name)) STRICT, WITHOUT ROWID;CREATE TABLE archive_sums("
	" archive INTEGER NOT NULL, association INTEGER NOT NULL, pool INTEGER NOT NULL,"
	" attempts INTEGER NOT NULL, running_ms INTEGER NOT NULL,"
	" charge_requested_ms INTEGER NOT NULL, charge_used_ms INTEGER NOT NULL,"
	" PRIMARY KEY(archive, association, pool)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE archived_runs("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, from_ns INTEGER NOT NULL,"
	" to_ns INTEGER NOT NULL, running_ns INTEGER NOT NULL, association INTEGER NOT NULL,"
	" queue TEXT NOT NULL, pool INTEGER NOT NULL, rate_num INTEGER NOT NULL,"
	" rate_den INTEGER NOT NULL, ncpus INTEGER NOT NULL, ngpus INTEGER NOT NULL,"
	" mem_bytes INTEGER NOT NULL, PRIMARY KEY(job, attempt, from_ns))"
	" STRICT, WITHOUT ROWID;CREATE INDEX archived_runs_until ON archived_runs(to_ns);";

/* Attempts of archived jobs of Slurm (slurm/counted.h): Slurm's accounting may list them again, and reconcile compares them.
 * submit_s, id: Slurm's key of the attempt; submit_s 0: an agent alone reported it. started_s, ended_s, suspended_s: as they
 * were charged; slurm_end_s: the end by Slurm. has_run: it had a node. */
static const char schema_archived_slurm[] =
	"CREATE TABLE archived_slurm("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, submit_s INTEGER NOT NULL,"
	" id INTEGER NOT NULL, state INTEGER NOT NULL, started_s INTEGER NOT NULL,"
	" ended_s INTEGER NOT NULL, suspended_s INTEGER NOT NULL, slurm_end_s INTEGER NOT NULL,"
	" ncpus INTEGER NOT NULL, by_agent INTEGER NOT NULL, has_run INTEGER NOT NULL,"
	" PRIMARY KEY(job, attempt, submit_s)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX archived_slurm_end ON archived_slurm(slurm_end_s);";

/* The attempts of Slurm's jobs that ended in a period (slurm/list.c). */
static const char schema_slurm_ended[] =
	"CREATE INDEX attempts_slurm_ended ON attempts(ended_ns) WHERE job >= 1099511627776;";

/* PBS starts the jobs of this origin: their advice names qsub's options. */
static const char schema_pbs[] =
	"ALTER TABLE origins ADD COLUMN is_pbs INTEGER NOT NULL DEFAULT 0;";

/* node_changes: from at_ns on a node was in this state (enum capacity_state) with so many cores and GPUs: a row a change
 * (nodes/record.h); nodes that are there begin with their last exchange. waits: jobs that started on a day, by size and
 * by how long they waited (usage/queue_waits.h); of the time before nothing is counted. */
static const char schema_utilisation[] =
	"CREATE TABLE node_changes("
	" node TEXT NOT NULL, at_ns INTEGER NOT NULL, cluster TEXT NOT NULL,"
	" state INTEGER NOT NULL, ncpus INTEGER NOT NULL, ngpus INTEGER NOT NULL,"
	" PRIMARY KEY(node, at_ns)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX node_changes_at ON node_changes(at_ns);"
	"INSERT INTO node_changes SELECT node, last_ns, cluster, CASE WHEN lost <> 0 THEN 2"
	" WHEN draining <> 0 THEN 1 ELSE 0 END, ncpus, ngpus FROM nodes;CREATE TABLE waits("
	" cluster TEXT NOT NULL, day INTEGER NOT NULL, size INTEGER NOT NULL,"
	" bucket INTEGER NOT NULL, jobs INTEGER NOT NULL,"
	" PRIMARY KEY(cluster, day, size, bucket)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX waits_day ON waits(day);";

/* attempts/series.h. data: as the node encoded it, some hundred bytes: a table with rowids packs them, one without would spend a
 * page on each. */
static const char schema_series[] =
	"CREATE TABLE series("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, part INTEGER NOT NULL,"
	" at_ns INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(job, attempt, part)) STRICT;";

/* start_by_ns: a queued job that has not started by then is ended; 1: by the first pass that considers it; 0: it waits. */
static const char schema_start_by[] =
	"ALTER TABLE jobs ADD COLUMN start_by_ns INTEGER NOT NULL DEFAULT 0;"
	"CREATE INDEX jobs_start_by ON jobs(start_by_ns) WHERE start_by_ns > 0 AND state = 0;";

/* totals: the months added up further (usage/totals/totals.h). kind: enum store_by; span: enum totals_span; begins: its first day, or
 * its first month; cluster: '' for all of them, and of kind 3. store_open() fills it. */
static const char schema_totals[] =
	"CREATE TABLE totals("
	" kind INTEGER NOT NULL, span INTEGER NOT NULL, cluster TEXT NOT NULL,"
	" begins INTEGER NOT NULL, name TEXT NOT NULL, pool INTEGER NOT NULL,"
	" jobs_started INTEGER NOT NULL, jobs_ended INTEGER NOT NULL,"
	" running_ms INTEGER NOT NULL, suspended_ms INTEGER NOT NULL,"
	" cpu_ms INTEGER NOT NULL, charge_requested_ms INTEGER NOT NULL,"
	" charge_used_ms INTEGER NOT NULL, core_ms INTEGER NOT NULL, gpu_ms INTEGER NOT NULL,"
	" adjusted_ms INTEGER NOT NULL,"
	" PRIMARY KEY(kind, span, cluster, begins, name, pool)) STRICT, WITHOUT ROWID;";
_Static_assert(STORE_BY_ACCOUNT == 1 && STORE_BY_USER == 2 && STORE_BY_CLUSTER == 3,
	       "dimensions are on disk as numbers");

/* How often a row of totals was written: what was read of its days is as it was while this is (usage/ranks/ranks.h). */
static const char schema_versions[] =
	"ALTER TABLE totals ADD COLUMN version INTEGER NOT NULL DEFAULT 0;";

/* By segments of 65,536 job numbers (jobs/views.c), so that new jobs fill pages that are written anyway, however old the ledger is. */
static const char schema_segments[] =
	"DROP INDEX jobs_node;DROP INDEX jobs_user_node;DROP INDEX jobs_account_node;"
	"CREATE INDEX jobs_node ON jobs((job >> 16), node, job) WHERE node IS NOT NULL;"
	"CREATE INDEX jobs_user_node ON jobs((job >> 16), user, node, job)"
	" WHERE node IS NOT NULL;"
	"CREATE INDEX jobs_account_node ON jobs((job >> 16), account, node, job)"
	" WHERE node IS NOT NULL;";

/* Of a user or an account the newest active jobs, in their order; the state is looked at in the index. */
static const char schema_newest[] =
	"DROP INDEX jobs_active_user;DROP INDEX jobs_active_account;"
	"CREATE INDEX jobs_active_user ON jobs(user, job, state) WHERE state < 5;"
	"CREATE INDEX jobs_active_account ON jobs(account, job, state) WHERE state < 5;";

/* usage/storage.h. -1: not known, or no limit. */
static const char schema_storage[] =
	"CREATE TABLE storage("
	" account TEXT NOT NULL, filesystem TEXT NOT NULL, bytes INTEGER NOT NULL,"
	" files INTEGER NOT NULL, limit_bytes INTEGER NOT NULL, limit_files INTEGER NOT NULL,"
	" at_ns INTEGER NOT NULL, PRIMARY KEY(account, filesystem)) STRICT, WITHOUT ROWID;";

/* Of an attempt that has whole nodes: their cores, and the rate by them. NULL: the job's rate holds. */
static const char schema_whole_nodes[] = "ALTER TABLE attempts ADD COLUMN node_cores INTEGER;"
					 "ALTER TABLE attempts ADD COLUMN rate_num INTEGER;"
					 "ALTER TABLE attempts ADD COLUMN rate_den INTEGER;";

/* Dependencies count as stored (jobs/stored.h), until they are deleted with the rest of the job. */
static const char schema_counted_depends[] =
	"INSERT INTO stored(user, bytes) SELECT j.user, 64 * COUNT(*)"
	" FROM depends d JOIN jobs j ON j.job = d.job"
	" WHERE j.kept > 1 GROUP BY j.user"
	" ON CONFLICT(user) DO UPDATE SET bytes = stored.bytes + excluded.bytes;"
	"DELETE FROM depends WHERE EXISTS(SELECT 1 FROM jobs j WHERE j.job = depends.job"
	" AND j.kept <= 1);";
_Static_assert(STORE_DEPEND_BYTES == 64 && STORE_KEPT_EVENTS == 1, "a migration has them");

/* clang-format off */
const char *const store_migrations[] = {
	schema_1, schema_2, schema_3, schema_stretches, schema_accounts, schema_terms, schema_indices, schema_ends,
	schema_weights, schema_gpus, schema_active, schema_drained, schema_preempt, schema_submission, schema_kinds,
	schema_dispatch, schema_maintenance, schema_parts, schema_steps, schema_sums, schema_hot, schema_eligible,
	schema_credentials, schema_texts, schema_history, schema_qos, schema_suspended, schema_user_node,
	schema_account_node, schema_slurm, schema_archives, schema_archived_slurm, schema_slurm_ended, schema_pbs,
	schema_utilisation, schema_series, schema_start_by, schema_totals, schema_versions, schema_segments,
	/* restored.h; pids: processes and threads of all jobs of the node together, 0: not reported */
	"ALTER TABLE nodes ADD COLUMN restored_ns INTEGER NOT NULL DEFAULT 0;",
	schema_newest, schema_storage, schema_whole_nodes, schema_counted_depends,
	"ALTER TABLE nodes ADD COLUMN pids INTEGER NOT NULL DEFAULT 0;", /* usage/outages.h: */
	"CREATE TABLE outages(id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns INTEGER NOT NULL, from_ns INTEGER NOT NULL,"
	" to_ns INTEGER NOT NULL, cluster TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL) STRICT;",
	NULL,
};
/* clang-format on */
