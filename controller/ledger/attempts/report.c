/* report.c - one report into the attempt, the job and the rollups, inside the caller's transaction:
 * load what is known, decide (known, refused, new), merge the cumulative figures, charge them,
 * write the attempt, the job, and the days. See store.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/elapsed.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/usage/stretch.h"
#include "controller/ledger/sql.h"

struct known {
	char node[REQUEST_NAME_MAX];
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX],
		queue[REQUEST_NAME_MAX];
	int64_t mem_bytes; /* reserved */
	int64_t seq, closed, at_ns, given_ns, started_ns, ended_ns, job_attempt;
	enum job_state state;
	enum charge_pool pool;
	struct tally_terms terms;
	struct tally_use use;
	struct usage usage;
	struct store_days days;
	int64_t old_charge_requested_ms, old_charge_used_ms;
	/* Of a job on several nodes: usage is the sum. */
	bool is_several;
	struct store_part_known part; /* what the node has that reports */
	struct job_end verdict;	      /* kind END_NONE: none yet */
};

static struct fraction fraction_of(struct db_row *st, int column)
{
	return (struct fraction){ db_int(st, column), db_int(st, column + 1) };
}

static void read_terms(struct db_row *st, int column, struct tally_terms *ret)
{
	ret->rate = fraction_of(st, column);
	ret->bundle.side[CHARGE_GPUS] = fraction_of(st, column + 2);
	ret->bundle.side[CHARGE_CORES] = fraction_of(st, column + 4);
	ret->bundle.side[CHARGE_MEMORY] = fraction_of(st, column + 6);
	ret->ncpus = db_int(st, column + 8);
	ret->ngpus = db_int(st, column + 9);
}

static int decode_verdict(const char *text, struct job_end *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = *text ? json_loads(text, 0, NULL) : NULL;

	if (!*text)
		return 0;
	if (!doc || wire_decode_end(doc, "verdict", ret, err) < 0)
		return err_set(err, -EBADMSG, "an end in the ledger is not readable");
	return 0;
}

static int read_known(struct db_row *st, struct known *k, struct err *err)
{
	snprintf(k->node, sizeof(k->node), "%s", store_text(st, 0));
	k->seq = db_int(st, 1);
	k->closed = db_int(st, 2);
	k->at_ns = db_int(st, 3);
	k->given_ns = db_int(st, 4);
	k->started_ns = db_int(st, 5);
	k->ended_ns = db_int(st, 6);
	k->state = (enum job_state)(int)db_int(st, 7);
	k->use.running_ns = db_int(st, 8);
	k->use.suspended_ns = db_int(st, 9);
	k->old_charge_requested_ms = db_int(st, 10);
	k->old_charge_used_ms = db_int(st, 11);
	snprintf(k->cluster, sizeof(k->cluster), "%s", store_text(st, 13));
	snprintf(k->account, sizeof(k->account), "%s", store_text(st, 14));
	snprintf(k->user, sizeof(k->user), "%s", store_text(st, 15));
	k->pool = (enum charge_pool)(int)db_int(st, 16);
	k->job_attempt = db_int(st, 17);
	read_terms(st, 18, &k->terms);
	k->terms.bundle.is_sum = db_int(st, 34) != 0;
	k->days.usage_day = db_int(st, 28);
	k->days.is_sliced = (int)db_int(st, 29);
	snprintf(k->queue, sizeof(k->queue), "%s", store_text(st, 30));
	k->mem_bytes = db_int(st, 31);
	k->is_several = db_int(st, 32) != 0;
	if (decode_verdict(store_text(st, 33), &k->verdict, err) < 0)
		return -EBADMSG;
	return store_usage_decode(store_text(st, 12), &k->usage, err);
}

/* 1 when there, 0 when not. */
static int load_known(struct store *s, const struct report *rep, struct known *k,
		      struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT a.node, a.seq, a.closed, a.at_ns, a.given_ns, a.started_ns,"
			 " a.ended_ns, a.state, a.running_ns, a.suspended_ns,"
			 " a.charge_requested_ms, a.charge_used_ms, a.usage,"
			 " j.cluster, j.account, j.user, j.pool, j.attempt,"
			 " j.rate_num, j.rate_den, j.bundle_gpus_num, j.bundle_gpus_den,"
			 " j.bundle_cores_num, j.bundle_cores_den, j.bundle_memory_num,"
			 " j.bundle_memory_den, j.ncpus, j.ngpus, a.usage_day, a.sliced,"
			 " j.queue, CASE WHEN j.vmem_bytes > 0 THEN j.vmem_bytes ELSE"
			 " j.mem_bytes END, CASE WHEN a.hosts = '' THEN 0 ELSE 1 END,"
			 " a.verdict, j.summed FROM attempts a JOIN jobs j USING(job)"
			 " WHERE a.job = ?1 AND a.attempt = ?2",
			 "ii", rep->job, (int64_t)rep->attempt);

	if (r >= 0)
		r = db_step(s->db, st, err);
	if (r <= 0)
		return r;
	k->days = (struct store_days){ .job = rep->job, .attempt = rep->attempt };
	r = read_known(st, k, err);
	db_done(st);
	return r < 0 ? r : 1;
}

/* The figures that charges depend on: resident peak, or where it was not measured the
 * cgroup's peak, which counts page cache too; GPUs that have done nothing. */
static void set_measured(struct known *k)
{
	const struct usage *from = &k->usage;
	struct tally_use *u = &k->use;

	u->gpus_idle = 0;
	if (usage_has(from, &from->gpus_used) && from->gpus_used < k->terms.ngpus)
		u->gpus_idle = k->terms.ngpus - from->gpus_used;
	u->cpu_ns = usage_has(from, &from->cpu_ns) ? from->cpu_ns : -1;
	if (usage_has(from, &from->rss_peak_bytes))
		u->mem_peak_bytes = from->rss_peak_bytes;
	else if (usage_has(from, &from->mem_peak_bytes))
		u->mem_peak_bytes = from->mem_peak_bytes;
	else
		u->mem_peak_bytes = -1;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct rollup_ctx {
	struct store *s;
	struct known *k;
	struct tally before; /* cumulative, to turn ns into ms without losing any */
	struct err *err;
};

static struct rollup_key key_of(const struct known *k, int64_t day)
{
	return (struct rollup_key){ k->cluster, k->account, k->user, (int64_t)k->pool, day };
}

static int add_day(void *ctx, int64_t day, const struct tally *g)
{
	struct rollup_ctx *c = ctx;
	const struct rollup_key key = key_of(c->k, day);
	struct rollup gained = rollup_gain(&c->before, g);
	int r = rollup_write(c->s->db, &key, &gained, c->err);

	return r < 0 ? r : store_slice(c->s, &c->k->days, day, &gained, c->err);
}

static int count_job(struct store *s, const struct known *k, enum store_mark which, int64_t day,
		     struct err *err)
{
	const struct rollup_key key = key_of(k, day);
	struct rollup one = { 0 };
	int r;

	one.figure[which == STORE_MARK_STARTED ? ROLLUP_JOBS_STARTED : ROLLUP_JOBS_ENDED] = 1;
	r = rollup_write(s->db, &key, &one, err);
	return r < 0 ? r : store_mark(s, &k->days, which, day, err);
}

/* The node's clock places usage on days; it may not place any before the job was given to the
 * node or in the future. */
static int64_t bounded(int64_t at_ns, int64_t low_ns, int64_t high_ns)
{
	if (at_ns < low_ns)
		at_ns = low_ns;
	return at_ns > high_ns ? high_ns : at_ns;
}

static struct tally_span span_of(const struct known *k, const struct store_report_case *c)
{
	const struct report *rep = c->report;
	int64_t before = k->is_several ? k->part.at_ns : k->at_ns;
	int64_t from = before ? before : rep->started_ns;
	int64_t to = rep->ended_ns ? rep->ended_ns : rep->at_ns;

	return (struct tally_span){ .from_ns = bounded(from, k->given_ns, c->now_ns),
				    .to_ns = bounded(to, k->given_ns, c->now_ns) };
}

/* An attempt that ends at midnight ends on the day that ends there. */
static int64_t end_day(const struct store *s, const struct known *k, int64_t at_ns)
{
	return calendar_last_day(s->calendar, k->given_ns, at_ns);
}

static int write_gained(struct store *s, struct known *k, const struct tally_span *span,
			struct err *err)
{
	struct rollup_ctx ctx = { .s = s, .k = k, .err = err };

	k->days.so_far = rollup_gain(&ctx.before, &span->before);
	return tally_split(&k->terms, span, calendar_days(s->calendar), add_day, &ctx);
}

static int write_days(struct store *s, struct known *k, const struct store_report_case *c,
		      const struct tally_span *span, struct err *err)
{
	const struct report *rep = c->report;
	int r = write_gained(s, k, span, err);

	if (r >= 0 && rep->started_ns && !k->started_ns) {
		int64_t at_ns = bounded(rep->started_ns, k->given_ns, c->now_ns);

		r = count_job(s, k, STORE_MARK_STARTED, calendar_day(s->calendar, at_ns), err);
	}
	if (r >= 0 && rep->state == JOB_ENDED && k->closed == 0)
		r = count_job(s, k, STORE_MARK_ENDED, end_day(s, k, span->to_ns), err);
	return r;
}

/* The node's start is nearer to when it began to run than the report before. */
static int write_stretch(struct store *s, const struct known *k, struct store_report_case *c,
			 const struct tally_span *span, struct err *err)
{
	const struct tally gained = tally_minus(&span->after, &span->before);
	struct store_stretch x = { .job = c->report->job,
				   .attempt = c->report->attempt,
				   .from_ns = later(span->from_ns, c->report->started_ns),
				   .to_ns = span->to_ns,
				   .running_ns = gained.running_ns,
				   .suspended_ns = gained.suspended_ns };
	struct sync_gain *g = &c->gain;

	snprintf(g->cluster, sizeof(g->cluster), "%s", k->cluster);
	snprintf(g->account, sizeof(g->account), "%s", k->account);
	snprintf(g->user, sizeof(g->user), "%s", k->user);
	snprintf(g->queue, sizeof(g->queue), "%s", k->queue);
	g->pool = k->pool;
	g->rate = k->terms.rate;
	g->ncpus = k->terms.ncpus;
	g->ngpus = k->terms.ngpus;
	g->mem_bytes = k->mem_bytes;
	return store_stretch(s, &x, g, err);
}

static const struct job_end *end_of(const struct known *k, const struct report *rep)
{
	return store_part_judge(&rep->end, &k->verdict);
}

static int write_attempt(struct store *s, const struct known *k, const struct report *rep,
			 const struct tally *now, struct err *err)
{
	const struct job_end *how = end_of(k, rep);
	_cleanup_json_ json_t *usage_doc = wire_encode_usage(&k->usage);
	_cleanup_json_ json_t *end_doc = wire_encode_end(how);
	_cleanup_free_ char *usage = usage_doc ? wire_format(usage_doc) : NULL;
	_cleanup_free_ char *end = end_doc ? wire_format(end_doc) : NULL;
	bool has_ended = rep->state == JOB_ENDED;

	if (!usage || !end)
		return err_set(err, -ENOMEM, "out of memory");
	store_announce_job(s, rep->job);
	return db_run(s->db, err,
		      "UPDATE attempts SET seq = ?3, at_ns = ?4, state = ?5, shown = 1,"
		      " missing_ns = 0, started_ns = ?6, ended_ns = ?7, running_ns = ?8,"
		      " suspended_ns = ?9, charge_requested_ms = ?10, charge_used_ms = ?11,"
		      " cpus = ?12, note = ?13, usage = ?14,"
		      " closed = CASE WHEN ?15 <> 0 THEN " SQL_STORE_FINAL " ELSE closed END,"
		      " end = CASE WHEN ?15 <> 0 THEN ?16 ELSE end END,"
		      " end_kind = CASE WHEN ?15 <> 0 THEN ?17 ELSE end_kind END,"
		      " exit_status = CASE WHEN ?15 <> 0 THEN ?18 ELSE exit_status END,"
		      " signal = CASE WHEN ?15 <> 0 THEN ?19 ELSE signal END"
		      " WHERE job = ?1 AND attempt = ?2",
		      "iiiiiiiiiii"
		      "tttitiii",
		      rep->job, (int64_t)rep->attempt, rep->seq, rep->at_ns, (int64_t)k->state,
		      k->started_ns, k->ended_ns, now->running_ns, now->suspended_ns,
		      now->charge_requested_ms, now->charge_used_ms, rep->cpus, rep->note,
		      usage, (int64_t)has_ended, has_ended ? end : NULL, (int64_t)how->kind,
		      (int64_t)how->exit_status, (int64_t)how->signal);
}

/* The job shows its current attempt. */
static int write_job(struct store *s, const struct known *k, const struct report *rep,
		     struct err *err)
{
	if (k->job_attempt != rep->attempt)
		return 0;
	return db_run(s->db, err,
		      "UPDATE jobs SET state = ?2, started_ns = ?3, ended_ns = ?4,"
		      " end = CASE WHEN ?2 = " SQL_JOB_ENDED " THEN"
		      "  (SELECT end FROM attempts WHERE job = ?1 AND attempt = ?5)"
		      " ELSE end END WHERE job = ?1",
		      "iiiii", rep->job, (int64_t)k->state, k->started_ns, k->ended_ns,
		      (int64_t)rep->attempt);
}

static int note_change(struct store *s, const struct store_report_case *c,
		       const struct known *k, struct err *err)
{
	const struct report *rep = c->report;
	char line[REASON_TEXT_MAX] = "";
	struct store_event e = { c->now_ns, rep->job, c->node, job_state_name(rep->state),
				 line };

	if (rep->state == JOB_ENDED)
		reason_format_line(end_of(k, rep), line, sizeof(line));
	return store_event(s, &e, err);
}

/* What a node reports of a job on several: onto its own, and the sum of all. */
static int merge_usage(struct store *s, struct known *k, const struct report *rep,
		       struct err *err)
{
	struct usage was;

	if (!k->is_several) {
		usage_merge(&k->usage, &rep->usage);
		return 0;
	}
	was = k->part.usage;
	usage_merge(&k->part.usage, &rep->usage);
	if (usage_replace(&k->usage, &was, &k->part.usage))
		return 0;
	return store_part_sum(s, &k->part, &k->usage, err);
}

/* From what is known and what is new to the merged figures and both tallies; -ERANGE when
 * the figures are beyond what can be charged. Time is that of part 0. */
static int merge(struct store *s, struct known *k, const struct report *rep,
		 struct tally_span *span, struct err *err)
{
	int r;

	set_measured(k);
	r = tally_make(&k->terms, &k->use, &span->before);
	if (r < 0)
		return r;
	/* What was charged is what was written; the terms of an attempt never change. */
	span->before.charge_requested_ms = k->old_charge_requested_ms;
	span->before.charge_used_ms = k->old_charge_used_ms;
	r = merge_usage(s, k, rep, err);
	if (r < 0)
		return r;
	if (k->part.part == 0) {
		k->use.running_ns = later(k->use.running_ns, rep->running_ns);
		k->use.suspended_ns = later(k->use.suspended_ns, rep->suspended_ns);
	}
	set_measured(k);
	return tally_make(&k->terms, &k->use, &span->after);
}

static int refuse(struct store_report_case *c, const char *why)
{
	c->refusal =
		(struct sync_refusal){ .job = c->report->job, .attempt = c->report->attempt };
	snprintf(c->refusal.why, sizeof(c->refusal.why), "%s", why);
	return STORE_REPORT_REFUSED;
}

/* The node itself says that it lost the job, by a reboot: as if we had found out. */
static int requeue_told(struct store *s, const struct store_report_case *c,
			const struct known *k, struct err *err)
{
	const struct report *rep = c->report;
	const struct store_loss l = {
		.job = rep->job, .attempt = rep->attempt, .now_ns = c->now_ns, .node = c->node
	};
	char text[128];
	int r = rep->state == JOB_ENDED && end_of(k, rep)->kind == END_NODE_LOST
			? store_may_requeue(s, &l, text, err)
			: 0;

	return r > 0 ? store_requeue(s, &l, err) : r;
}

static void say(struct store_report_case *c, const struct known *k)
{
	c->is_new = true;
	c->part = k->is_several ? k->part.part : -1;
	c->job_state = k->state;
	c->gpu_idle_ns =
		usage_has(&k->usage, &k->usage.gpu_idle_ns) ? k->usage.gpu_idle_ns : -1;
}

static int accept(struct store *s, struct store_report_case *c, struct known *k,
		  const struct tally_span *span, struct err *err)
{
	const struct report *rep = c->report;
	enum job_state was = k->state;
	int r = write_days(s, k, c, span, err);

	if (r >= 0)
		r = write_stretch(s, k, c, span, err);
	if (r < 0)
		return r;
	/* Ended by the controller: only the node's final word changes that. */
	if (k->closed == 0 || rep->state == JOB_ENDED)
		k->state = rep->state;
	if (rep->started_ns)
		k->started_ns = rep->started_ns;
	if (rep->ended_ns)
		k->ended_ns = rep->ended_ns;
	r = write_attempt(s, k, rep, &span->after, err);
	if (r >= 0)
		r = write_job(s, k, rep, err);
	if (r >= 0 && k->state != was)
		r = note_change(s, c, k, err);
	if (r >= 0 && k->is_several)
		r = store_part_take(s, &k->part, rep, err);
	if (r >= 0)
		r = requeue_told(s, c, k, err);
	if (r < 0)
		return r;
	c->stirs = k->is_several && rep->state == JOB_ENDED;
	say(c, k);
	c->has_freed = k->state != was && k->state != JOB_STARTING;
	return STORE_REPORT_ACK;
}

/* What a part other than 0 used counts for the attempt as long as anything of that does, also
 * when it comes after the attempt's end. */
static int add_part(struct store *s, struct store_report_case *c, struct known *k,
		    const struct tally_span *span, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_encode_usage(&k->usage);
	_cleanup_free_ char *usage = doc ? wire_format(doc) : NULL;
	int r = usage ? write_gained(s, k, span, err) : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	return db_run(s->db, err,
		      "UPDATE attempts SET usage = ?3, charge_requested_ms = ?4,"
		      " charge_used_ms = ?5 WHERE job = ?1 AND attempt = ?2",
		      "iitii", c->report->job, (int64_t)c->report->attempt, usage,
		      span->after.charge_requested_ms, span->after.charge_used_ms);
}

static int accept_part(struct store *s, struct store_report_case *c, struct known *k,
		       const struct tally_span *span, struct err *err)
{
	const struct report *rep = c->report;
	const struct store_fall fall = { { rep->job, rep->attempt, c->node },
					 c->now_ns,
					 &rep->end };
	enum job_state was = k->part.state;
	int r = k->closed == STORE_VOID ? 0 : add_part(s, c, k, span, err);

	if (r >= 0)
		r = store_part_take(s, &k->part, rep, err);
	if (r >= 0 && k->part.state != was && rep->state == JOB_ENDED)
		r = store_part_fall(s, &fall, err);
	else if (r >= 0 && k->part.state != was && rep->state == JOB_RUNNING)
		r = store_parts_run(s, &fall.at, err);
	if (r < 0)
		return r;
	c->stirs = r > 0;
	say(c, k);
	c->has_freed = k->part.state != was && k->part.state != JOB_STARTING;
	return STORE_REPORT_ACK;
}

/* What this node has of the attempt. 0: nothing. */
static int load_its_part(struct store *s, const struct store_report_case *c, struct known *k,
			 struct err *err)
{
	int r = load_known(s, c->report, k, err);

	if (r > 0 && k->is_several)
		return store_part_load(s, c->report, c->node, &k->part, err);
	return r > 0 ? strcmp(k->node, c->node) == 0 : r;
}

/* Is there anything that it may still add? Of what was ended by the controller only what ended
 * by itself counts: what runs on is refused with the node's list. */
static bool is_over(const struct known *k, const struct report *rep)
{
	int64_t closed = k->part.part ? (int64_t)k->part.closed : k->closed;
	int64_t seq = k->is_several ? k->part.seq : k->seq;

	if (closed == STORE_FINAL || closed == STORE_VOID || rep->seq <= seq)
		return true;
	return closed == STORE_LOST && rep->state != JOB_ENDED;
}

/* 1: it is to be said again, and is not acknowledged. */
static int is_early(struct store *s, struct store_report_case *c, const struct known *k,
		    struct err *err)
{
	const struct report *rep = c->report;
	const struct store_fall f = { { rep->job, rep->attempt, c->node },
				      c->now_ns,
				      &rep->end };
	int r = k->is_several && k->part.part == 0 && rep->state == JOB_ENDED
			? store_first_waits(s, &f, err)
			: 0;

	c->stirs = r == STORE_WAITS_ANEW;
	return r < 0 ? r : r > 0;
}

int store_report(struct store *s, struct store_report_case *c, struct err *err)
{
	const struct report *rep = c->report;
	struct err why = { "its figures" };
	struct known k = { 0 };
	struct tally_span span;
	int r = load_its_part(s, c, &k, err);

	if (r < 0)
		return r;
	if (r == 0)
		return refuse(c, "this job was never given to this node");
	if (rep->state == JOB_QUEUED)
		return refuse(c, "a job that was given to a node cannot be queued there");
	c->ack =
		(struct sync_ack){ rep->job, later(k.is_several ? k.part.seq : k.seq, rep->seq),
				   rep->attempt };
	if (is_over(&k, rep))
		return STORE_REPORT_ACK;
	r = is_early(s, c, &k, err);
	if (r != 0)
		return r < 0 ? r : STORE_REPORT_EARLY;
	r = store_elapsed_clamp(s, c, k.given_ns, err);
	if (r < 0)
		return r;
	span = span_of(&k, c);
	r = merge(s, &k, c->report, &span, &why);
	if (r == -ERANGE || r == -EINVAL)
		return refuse(c, "its figures are beyond what can be charged");
	if (r < 0)
		return err_set(err, r, "job %lld: charge: %s", (long long)rep->job, why.text);
	return (k.part.part ? accept_part : accept)(s, c, &k, &span, err);
}

/* With the end of the part that had brought it down before, if there is one. */
static int write_loss(struct store *s, const struct store_loss *l, const struct job_end *how,
		      struct err *err)
{
	_cleanup_json_ json_t *doc = wire_encode_end(how);
	_cleanup_free_ char *end = doc ? wire_format(doc) : NULL;
	int r = end ? 0 : err_set(err, -ENOMEM, "out of memory");

	store_announce_job(s, l->job);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE attempts SET closed = " SQL_STORE_LOST
			   ", state = " SQL_JOB_ENDED ", ended_ns = ?3,"
			   " end = ?4, end_kind = ?5 WHERE job = ?1 AND attempt = ?2",
			   "iiiti", l->job, (int64_t)l->attempt, l->now_ns, end,
			   (int64_t)how->kind);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_ENDED ", ended_ns = ?3, end = ?4"
			   " WHERE job = ?1 AND attempt = ?2",
			   "iiit", l->job, (int64_t)l->attempt, l->now_ns, end);
	return r;
}

int store_end_lost(struct store *s, const struct store_loss *l, struct err *err)
{
	const struct report key = { .job = l->job, .attempt = l->attempt };
	const struct store_event e = { l->now_ns, l->job, l->node, "node-lost", l->text };
	struct job_end lost;
	struct known k = { 0 };
	bool again = false;
	char more[128];
	int r = load_known(s, &key, &k, err);

	if (r == 0)
		return err_set(err, -ENOENT, "no attempt %lld.%d", (long long)l->job,
			       l->attempt);
	if (r > 0)
		r = store_may_requeue(s, l, more, err);
	if (r < 0)
		return r;
	again = r > 0;
	store_loss_end(l, more, &lost);
	r = write_loss(s, l, k.verdict.kind ? &k.verdict : &lost, err);
	if (r >= 0 && k.is_several)
		r = store_part_write_loss(s, l, &lost, err);
	if (r >= 0)
		r = count_job(s, &k, STORE_MARK_ENDED, end_day(s, &k, l->now_ns), err);
	if (r >= 0)
		r = store_event(s, &e, err);
	if (r >= 0 && again)
		r = store_requeue(s, l, err);
	if (r >= 0)
		r = store_steps_close(s, l->job, l->now_ns, err);
	return r < 0 ? r : again ? STORE_REQUEUED : 0;
}
