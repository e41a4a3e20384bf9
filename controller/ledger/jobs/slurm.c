/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.c - finds and makes the rows of jobs that Slurm started; see slurm.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/json/load.h"
#include "common/wire/slurm_batch.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/slurm/counted.h"
#include "controller/ledger/slurm/rows.h"
#include "controller/ledger/sql.h"

/* Clocks of two nodes of one job differ by less, and Slurm gives no id again so soon. */
#define SAME_START_NS (60 * S_NS)
/* A start before that is taken for one then: it bounds what a late report may charge (attempts/bound/elapsed.h). */
#define EARLIEST_START_NS (366 * DAY_NS)

/* The job of the last generation of an id. */
struct newest {
	int64_t job, uid, ended_ns;
	int32_t attempt, generation; /* generation -1: there is none */
	enum job_state state;
	bool is_archived; /* it has no row any more: uid is not known */
};

/* 1: the cluster has one. */
static int find_origin(struct store *s, const char *cluster, int64_t *ret, struct err *err)
{
	return db_query_int(s->db, err, ret, "SELECT id FROM origins WHERE cluster = ?1", "t",
			    cluster);
}

int store_slurm_origin(struct store *s, const char *cluster, int64_t *ret, struct err *err)
{
	int r = find_origin(s, cluster, ret, err);

	if (r == 0)
		r = db_run(s->db, err, "INSERT INTO origins(cluster) VALUES(?1)", "t", cluster);
	if (r >= 0)
		r = find_origin(s, cluster, ret, err);
	return r < 0 ? r : 0;
}

/* clang-format off */
#define NEWEST_COLUMNS(X) \
	X(NEWEST_UID,     "uid") \
	X(NEWEST_ATTEMPT, ", attempt") \
	X(NEWEST_STATE,   ", state") \
	X(NEWEST_ENDED,   ", ended_ns")
/* clang-format on */
enum { NEWEST_COLUMNS(SQL_NAME) };

/* 1: there is a job of this number. */
static int load_job(struct store *s, int64_t job, struct newest *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT " NEWEST_COLUMNS(SQL_COLUMN) " FROM jobs WHERE job = ?1",
			       "i", job);

	if (r <= 0)
		return r;
	ret->job = job;
	ret->uid = db_int(st, NEWEST_UID);
	ret->attempt = (int32_t)db_int(st, NEWEST_ATTEMPT);
	ret->state = (enum job_state)(int)db_int(st, NEWEST_STATE);
	ret->ended_ns = db_int(st, NEWEST_ENDED);
	ret->is_archived = false;
	db_done(st);
	return 1;
}

/* The same of one that was archived. */
static int load_archived(struct store *s, int64_t job, struct newest *ret, struct err *err)
{
	struct counted_job j;
	int r = counted_find_job(s, job, &j, err);

	if (r > 0)
		*ret = (struct newest){ .job = job,
					.attempt = j.attempt,
					.generation = ret->generation,
					.ended_ns = j.ended_ns,
					.state = JOB_ENDED,
					.is_archived = true };
	return r;
}

/* Generations are counted from 0 without a gap, and one takes 67 million jobs. */
static int load_newest(struct store *s, int64_t origin, int64_t id, struct newest *ret,
		       struct err *err)
{
	int r = 1;

	ret->generation = -1;
	for (int32_t g = 0; g < STORE_SLURM_GENERATIONS; g++) {
		const int64_t job = store_slurm_number(origin, g, id);

		r = load_job(s, job, ret, err);
		if (r == 0)
			r = load_archived(s, job, ret, err);
		if (r <= 0)
			return r;
		ret->generation = g;
	}
	return 0;
}

/* ---- the numbers of jobs of PBS ---- */

/* A blank is in no name of a cluster. */
static const char *name_generation(const char *cluster, int32_t generation,
				   char buf[static REQUEST_NAME_MAX + 16])
{
	if (generation)
		snprintf(buf, REQUEST_NAME_MAX + 16, "%s #%d", cluster, generation + 1);
	else
		snprintf(buf, REQUEST_NAME_MAX + 16, "%s", cluster);
	return buf;
}

static int load_newest_pbs(struct store *s, const char *cluster, int64_t id, struct newest *ret,
			   struct err *err)
{
	char name[REQUEST_NAME_MAX + 16];
	int64_t origin;
	int r = 1;

	ret->generation = -1;
	for (int32_t g = 0; g < STORE_SLURM_GENERATIONS; g++) {
		r = find_origin(s, name_generation(cluster, g, name), &origin, err);
		if (r > 0)
			r = load_job(s, origin << 40 | id, ret, err);
		if (r <= 0)
			return r;
		ret->generation = g;
	}
	return 0;
}

static int make_pbs_number(struct store *s, const struct store_slurm_case *c,
			   int32_t generation, int64_t *ret, struct err *err)
{
	char name[REQUEST_NAME_MAX + 16];
	int64_t origin;
	int r = store_slurm_origin(s, name_generation(c->cluster, generation, name), &origin,
				   err);

	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE origins SET is_pbs = 1 WHERE id = ?1 AND is_pbs = 0", "i",
			   origin);
	*ret = r < 0 ? 0 : origin << 40 | c->told->job;
	return r;
}

int store_pbs_known(struct store *s, const char *cluster, int64_t id, int64_t *ret,
		    struct err *err)
{
	struct newest n = { 0 };
	int r = load_newest_pbs(s, cluster, id, &n, err);

	*ret = n.job;
	return r < 0 ? r : n.generation >= 0;
}

int store_slurm_find(struct store *s, int64_t origin, int64_t id, int64_t *ret, struct err *err)
{
	struct newest n = { 0 };
	int r = load_newest(s, origin, id, &n, err);

	*ret = n.job;
	return r < 0 ? r : n.generation >= 0;
}

int store_slurm_known(struct store *s, const char *cluster, int64_t id, int64_t *ret,
		      struct err *err)
{
	int64_t origin;
	int r = find_origin(s, cluster, &origin, err);

	return r > 0 ? store_slurm_find(s, origin, id, ret, err) : r;
}

static bool is_same_job(const struct newest *n, const struct sync_slurm_job *told)
{
	if (n->generation < 0 || (!n->is_archived && n->uid != told->uid))
		return false;
	/* Without a start it may be what is left of the one on record; its first task settles it. */
	if (n->state != JOB_ENDED || told->attempt > n->attempt || !told->started_ns)
		return true;
	return told->started_ns <= n->ended_ns + SAME_START_NS;
}

/* ---- rows ---- */

int64_t store_slurm_given(const struct store_slurm_case *c)
{
	int64_t start_ns = c->told->started_ns ? c->told->started_ns : c->now_ns;

	if (start_ns > c->now_ns)
		return c->now_ns;
	return start_ns < c->now_ns - EARLIEST_START_NS ? c->now_ns - EARLIEST_START_NS
							: start_ns;
}

/* A name of Slurm that is none here: "" or with a space. */
static void set_name(char to[static REQUEST_NAME_MAX], const char *name, const char *otherwise)
{
	snprintf(to, REQUEST_NAME_MAX, "%s", request_is_name(name) ? name : otherwise);
}

/* An amount for each node of the job. Beyond what 64 bits hold it is that of one node. */
static int64_t on_all_nodes(const struct sync_slurm_job *t, int64_t amount)
{
	int64_t all;

	return __builtin_mul_overflow(amount, t->nodes, &all) ? amount : all;
}

/* What only Slurm's own row has. GPUs of a model that Reeve could not name are GPUs of any model. */
static void fill_whole_request(const struct slurm_batch_job *row, struct request *q)
{
	q->res.walltime_s = row->walltime_s;
	q->res.ngpus = row->ngpus;
	if (resources_is_gpu_model(row->gpu_model))
		snprintf(q->res.gpu_model, sizeof(q->res.gpu_model), "%s", row->gpu_model);
	if (request_is_name(row->qos))
		snprintf(q->qos, sizeof(q->qos), "%s", row->qos);
}

static void fill_request(const struct store_slurm_case *c, struct request *q)
{
	const struct sync_slurm_job *t = c->told;
	char user[REQUEST_NAME_MAX];

	request_init(q);
	snprintf(user, sizeof(user), "uid-%lld", (long long)t->uid);
	set_name(q->user, t->user, user);
	set_name(q->account, t->account, "unknown");
	set_name(q->queue, t->queue, "unknown");
	set_name(q->name, t->name, "slurm");
	set_name(q->cluster, c->cluster, "unknown");
	q->uid = (uint32_t)t->uid;
	q->res.ncpus = t->job_ncpus ? t->job_ncpus : t->ncpus;
	q->res.mem_bytes = on_all_nodes(t, t->mem_bytes);
	q->res.vmem_bytes = on_all_nodes(t, t->vmem_bytes);
	q->res.jobfs_bytes = on_all_nodes(t, t->jobfs_bytes);
	q->res.ngpus = t->job_ngpus ? t->job_ngpus : on_all_nodes(t, t->ngpus);
	snprintf(q->res.gpu_model, sizeof(q->res.gpu_model), "%s", t->gpu_model);
	if (c->row)
		fill_whole_request(c->row, q);
}

/* Slurm allocates all cores of whole nodes. PBS allocates the requested cores: all nodes count as the reporting node. */
static int64_t count_node_cores(const struct store_slurm_case *c, const struct request *q)
{
	const struct sync *doc = c->is_pbs ? c->how->doc : NULL;
	int64_t all = doc ? on_all_nodes(c->told, doc->capacity.ncpus) : 0;

	return all > q->res.ncpus ? all : q->res.ncpus;
}

int store_slurm_describe(const struct store_slurm_case *c, struct request *ret_request,
			 struct store_new *ret, char note[static STORE_SLURM_NOTE_MAX],
			 struct err *err)
{
	*note = '\0';
	fill_request(c, ret_request);
	*ret = (struct store_new){ .request = ret_request,
				   .now_ns = c->now_ns,
				   .node_cores = count_node_cores(c, ret_request),
				   .slurm_job = c->told->job,
				   .slurm_array = c->row ? c->row->array_job : 0 };
	return c->how->price(c->how->ctx, ret, note, err);
}

int64_t store_slurm_submitted(const struct store_slurm_case *c)
{
	return c->row && c->row->submit_s ? c->row->submit_s * S_NS : store_slurm_given(c);
}

static int make_job(struct store *s, const struct store_slurm_case *c, int64_t job,
		    struct err *err)
{
	_cleanup_(request_done) struct request q = { 0 };
	struct store_new new;
	char note[STORE_SLURM_NOTE_MAX];
	int r = store_slurm_describe(c, &q, &new, note, err);

	if (r >= 0)
		r = store_submit_numbered(s, &new, job, err);
	if (r >= 0)
		r = db_run(s->db, err, "UPDATE jobs SET submitted_ns = ?2 WHERE job = ?1", "ii",
			   job, store_slurm_submitted(c));
	return r < 0 || !*note ? r : store_slurm_note(s, c, job, note, err);
}

/* 1: the attempt is in the ledger, and *ret_is_unclaimed: it was made of what slurmctld said, and no agent has reported it. */
static int has_attempt(struct store *s, const struct store_slurm_case *c, int64_t job,
		       bool *ret_is_unclaimed, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT CASE WHEN seq <= 0 AND shown = 0 AND hosts = '' THEN 1"
			       " ELSE 0 END FROM attempts WHERE job = ?1 AND attempt = ?2",
			       "ii", job, (int64_t)c->told->attempt);

	*ret_is_unclaimed = false;
	if (r <= 0)
		return r;
	*ret_is_unclaimed = !c->row && db_int(st, 0) != 0;
	db_done(st);
	return 1;
}

/* 1: reeve-slurm follows the cluster, and will soon send this job. `former`: the job of the run before, which may have its row already; 0: none. */
static int is_awaited(struct store *s, const struct store_slurm_case *c, int64_t former,
		      struct err *err)
{
	int r;

	if (c->row || c->told->started_ns < c->now_ns - STORE_SLURM_FOLLOWED_NS)
		return 0;
	r = former ? rows_has_later(s, former, c->told->attempt, err) : 0;
	if (r != 0)
		return r < 0 ? r : 0;
	return db_has_row(s->db, err,
			  "SELECT 1 FROM slurm_marks WHERE origin = ?1 AND live_ns > ?2", "ii",
			  c->origin, c->now_ns - STORE_SLURM_FOLLOWED_NS);
}

/* An attempt whose node never reported its end, which another one follows. */
static int end_former(struct store *s, const struct store_slurm_case *c, int64_t job,
		      int32_t attempt, struct err *err)
{
	char node[REQUEST_NAME_MAX];
	struct store_loss loss = { .job = job,
				   .attempt = attempt,
				   .now_ns = c->now_ns,
				   .node = node,
				   .text = c->is_pbs ? "PBS started the job again"
						     : "Slurm started the job again" };
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT node FROM attempts WHERE job = ?1 AND attempt = ?2"
			       " AND closed = " SQL_STORE_OPEN,
			       "ii", job, (int64_t)attempt);

	if (r <= 0)
		return r;
	snprintf(node, sizeof(node), "%s", store_text(st, 0));
	db_done(st);
	return store_end_lost(s, &loss, err);
}

/* The job is in this attempt now. An older one, of a node that was away, gets its row alone. */
static int show_attempt(struct store *s, const struct store_slurm_case *c, int64_t job,
			struct err *err)
{
	return db_run(
		s->db, err,
		"UPDATE jobs SET attempt = ?2, state = ?3, node = ?4, want = " SQL_DESIRED_RUN
		", want_reason = NULL, started_ns = 0, ended_ns = 0, end = NULL"
		" WHERE job = ?1 AND attempt < ?2",
		"iiit", job, (int64_t)c->told->attempt, (int64_t)c->state, c->node);
}

/* What the node has of a job on several nodes. Parts are numbered in the order in which nodes report them. */
static int insert_part(struct store *s, const struct store_slurm_case *c, int64_t job,
		       struct err *err)
{
	const struct sync_slurm_job *t = c->told;
	char host[REQUEST_NAME_MAX + 32];
	int r = db_run(
		s->db, err,
		"INSERT INTO parts(job, attempt, part, node, ncpus, vmem_bytes, mem_bytes,"
		" jobfs_bytes, ngpus, state, user) SELECT j.job, ?2, (SELECT COUNT(*)"
		" FROM parts p WHERE p.job = ?1 AND p.attempt = ?2), ?3, ?4, ?5, ?6, ?7, ?9,"
		" ?8, j.user FROM jobs j WHERE j.job = ?1",
		"iitiiiiii", job, (int64_t)t->attempt, c->node, t->ncpus, t->vmem_bytes,
		t->mem_bytes, t->jobfs_bytes, (int64_t)c->state, t->ngpus);

	snprintf(host, sizeof(host), "%s=%lld", c->node, (long long)t->ncpus);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE attempts SET hosts = CASE WHEN hosts = '' THEN ?3"
			   " ELSE hosts || ',' || ?3 END WHERE job = ?1 AND attempt = ?2",
			   "iit", job, (int64_t)t->attempt, host);
	return r;
}

static int make_attempt(struct store *s, const struct store_slurm_case *c, int64_t job,
			int32_t former, struct err *err)
{
	struct store_event e = { c->now_ns, job, c->node, "give",
				 c->is_pbs ? "started by PBS" : "started by Slurm" };
	int32_t attempt = c->told->attempt;
	int r = former > 0 && former < attempt ? end_former(s, c, job, former, err) : 0;

	if (r >= 0)
		r = db_run(s->db, err,
			   "INSERT INTO attempts(job, attempt, node, given_ns, state)"
			   " VALUES(?1, ?2, ?3, ?4, ?5)",
			   "iitii", job, (int64_t)attempt, c->node, store_slurm_given(c),
			   (int64_t)c->state);
	if (r >= 0 && c->told->nodes > 1)
		r = insert_part(s, c, job, err);
	if (r >= 0)
		r = show_attempt(s, c, job, err);
	if (r < 0)
		return r;
	store_announce_job(s, job);
	store_forget_given(s, c->node);
	return store_event(s, &e, err);
}

/* Another node of the job runs a task of it. Where the agent of the first node was too old to report that there are others, nothing of
 * them is counted. */
static int adopt_part(struct store *s, const struct store_slurm_case *c, int64_t job,
		      struct err *err)
{
	const struct store_at at = { job, c->told->attempt, c->node };
	struct store_place p;
	int r = c->told->nodes > 1 && c->told->started_ns ? store_place_find(s, &at, &p, err)
							  : 1;

	if (r == 0)
		r = db_has_row(s->db, err,
			       "SELECT 1 FROM attempts WHERE job = ?1 AND attempt = ?2"
			       " AND hosts <> ''",
			       "ii", job, (int64_t)c->told->attempt);
	else
		return r < 0 ? r : 0;
	if (r > 0)
		r = insert_part(s, c, job, err);
	store_announce_job(s, job);
	store_forget_given(s, c->node);
	return r < 0 ? r : 0;
}

/* The request as it is stored, with the limits that are Reeve's own: only the agent has them. *ret is malloc()ed. */
static int add_own_limits(struct store *s, const struct sync_slurm_job *t, int64_t job,
			  char **ret, struct err *err)
{
	_cleanup_(request_done) struct request q = { 0 };
	_cleanup_json_ json_t *was = NULL, *doc = NULL;
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, "SELECT request FROM jobs WHERE job = ?1", "i",
			       job);

	if (r <= 0)
		return r < 0 ? r : err_set(err, -ENOENT, "job %lld is gone", (long long)job);
	was = wire_load(store_text(st, 0), 0, NULL);
	db_done(st);
	r = was ? wire_decode_request(was, "request", &q, err)
		: err_set(err, -EBADMSG, "job %lld: its request in the ledger is not readable",
			  (long long)job);
	if (r < 0)
		return r;
	q.res.vmem_bytes = on_all_nodes(t, t->vmem_bytes);
	q.res.jobfs_bytes = on_all_nodes(t, t->jobfs_bytes);
	doc = wire_encode_request(&q);
	*ret = doc ? wire_format(doc) : NULL;
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* This agent is the first to report the attempt, so it is on its node. */
static int claim_attempt(struct store *s, const struct store_slurm_case *c, int64_t job,
			 struct err *err)
{
	const struct sync_slurm_job *t = c->told;
	_cleanup_free_ char *request = NULL;
	int r = add_own_limits(s, t, job, &request, err);

	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE attempts SET node = ?3 WHERE job = ?1 AND attempt = ?2",
			   "iit", job, (int64_t)t->attempt, c->node);
	if (r >= 0)
		r = db_run(
			s->db, err,
			"UPDATE jobs SET vmem_bytes = ?3, jobfs_bytes = ?4, node = ?5, request = ?6"
			" WHERE job = ?1 AND attempt = ?2",
			"iiiitt", job, (int64_t)t->attempt, on_all_nodes(t, t->vmem_bytes),
			on_all_nodes(t, t->jobfs_bytes), c->node, request);
	if (r >= 0 && t->nodes > 1)
		r = insert_part(s, c, job, err);
	store_announce_job(s, job);
	store_forget_given(s, c->node);
	return r;
}

/* 1: an agent reports what the ledger has charged and has no row of: an archived job, or an imported one. *ret_job is then
 * a number without a row, by which the report is acknowledged and counts nothing. What slurmctld and slurmdbd say was
 * looked up by batch.c. */
static int is_counted(struct store *s, const struct store_slurm_case *c, const struct newest *n,
		      int64_t *ret_job, struct err *err)
{
	const struct counted_run run = { .origin = c->origin,
					 .id = c->told->job,
					 .start_s = store_slurm_given(c) / S_NS,
					 .end_s = store_slurm_given(c) / S_NS + 1 };

	if (c->row)
		return 0;
	if (n->is_archived && c->told->attempt <= n->attempt && is_same_job(n, c->told)) {
		*ret_job = n->job;
		return 1;
	}
	if (!c->told->started_ns || (n->generation >= 0 && is_same_job(n, c->told)))
		return 0;
	*ret_job = store_slurm_number(c->origin, n->generation + 1, c->told->job);
	return counted_is_imported(s, &run, err);
}

/* What node ?3 has reported of attempt ?2 of job ?1. */
#define OF_NODE_IN(table, where)                                                               \
	"SELECT 1 FROM " table                                                                 \
	" WHERE job = ?1 AND attempt = ?2 AND node = ?3 AND seq > 0 AND " where
#define OF_NODE(where) OF_NODE_IN("attempts", where) " UNION ALL " OF_NODE_IN("parts", where)

/* 1: the node has run this attempt of the job on record, and has reported its end; this run of the same attempt began after the job's last one had
 * ended. Slurm has started it once more, since slurmctld had died before it saved that it had. By the clock of one node: nothing is allowed for. */
static int is_next_run(struct store *s, const struct store_slurm_case *c,
		       const struct newest *n, struct err *err)
{
	const struct sync_slurm_job *told = c->told;

	if (c->row || n->generation < 0 || n->state != JOB_ENDED ||
	    told->attempt > n->attempt || told->started_ns <= n->ended_ns)
		return 0;
	return db_has_row(s->db, err, OF_NODE("closed = " SQL_STORE_FINAL " AND ended_ns < ?4"),
			  "iiti", n->job, (int64_t)told->attempt, c->node, told->started_ns);
}

/* 1: the run that the node reports is the one before that of the job on record: Slurm has said of the next one before the node had the answer. */
static int is_former_run(struct store *s, const struct store_slurm_case *c,
			 const struct newest *n, int64_t *ret_job, struct err *err)
{
	if (c->row || c->is_pbs || n->generation < 1 || !c->told->started_ns)
		return 0;
	*ret_job = store_slurm_number(c->origin, n->generation - 1, c->told->job);
	return db_has_row(s->db, err, OF_NODE("started_ns <= ?4 AND ended_ns >= ?4"), "iiti",
			  *ret_job, (int64_t)c->told->attempt, c->node, c->told->started_ns);
}

int store_slurm_adopt(struct store *s, const struct store_slurm_case *c, int64_t *ret_job,
		      struct err *err)
{
	struct newest n = { .generation = -1 };
	int r = c->is_pbs ? load_newest_pbs(s, c->cluster, c->told->job, &n, err)
			  : load_newest(s, c->origin, c->told->job, &n, err);
	bool is_new, is_next, is_unclaimed = false;
	int64_t former;

	if (r >= 0)
		r = is_counted(s, c, &n, ret_job, err);
	if (r == 0)
		r = is_former_run(s, c, &n, ret_job, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = is_next_run(s, c, &n, err);
	if (r < 0)
		return r;
	is_next = r > 0;
	former = n.job;
	is_new = is_next || c->is_another || n.is_archived || !is_same_job(&n, c->told);
	r = is_new ? 0 : has_attempt(s, c, n.job, &is_unclaimed, err);
	*ret_job = is_new ? 0 : n.job;
	if (r > 0 && is_unclaimed)
		return claim_attempt(s, c, n.job, err);
	if (r > 0)
		return c->row ? 0 : adopt_part(s, c, n.job, err);
	if (r != 0 || (!c->told->started_ns && !c->has_ended))
		return r < 0 ? r : 0;
	r = is_new ? is_awaited(s, c, is_next ? former : 0, err) : 0;
	if (r != 0)
		return r < 0 ? r : 0;
	if (is_new && n.generation + 1 >= STORE_SLURM_GENERATIONS)
		return err_set(err, -ERANGE, "job id %lld of cluster %s came %d times",
			       (long long)c->told->job, c->cluster, STORE_SLURM_GENERATIONS);
	if (is_new) {
		n.attempt = 0;
		n.job = store_slurm_number(c->origin, n.generation + 1, c->told->job);
		r = c->is_pbs ? make_pbs_number(s, c, n.generation + 1, &n.job, err) : 0;
		if (r >= 0)
			r = make_job(s, c, n.job, err);
	}
	*ret_job = n.job;
	if (r >= 0 && is_next)
		r = rows_move_later(s, former, c->told->attempt, n.job, err);
	return r < 0 || c->is_unstarted ? r : make_attempt(s, c, n.job, n.attempt, err);
}
