/* submit.c - one job handed in, and POST /v1/cost: check a request, fill in what the site says,
 * price it, take it. See submit.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/model/amount.h"
#include "controller/api/submit/gpus.h"
#include "controller/accounts/accounts.h"
#include "controller/api/submit/shape.h"
#include "controller/api/submit/submit.h"
#include "controller/api/who.h"
#include "controller/ledger/accounts/accounts.h"
#include "controller/ledger/jobs/depend.h"
#include "controller/quota/quota_qos.h"
#include "controller/pricing/quote.h"

/* Their default account, or the only one they have; false: neither. */
static bool find_default_account(struct call *c, char ret[static REQUEST_NAME_MAX])
{
	char list[256];

	if (accounts_default_account(c->api->accounts, c->user, ret))
		return true;
	if (who_accounts(c, list, sizeof(list)) != 1)
		return false;
	snprintf(ret, REQUEST_NAME_MAX, "%.63s", list);
	return true;
}

/* What the user left out. */
static int default_account(struct call *c, struct request *q, struct err *err)
{
	char list[256];
	size_t n = who_accounts(c, list, sizeof(list));

	if (find_default_account(c, q->account))
		return 0;
	if (n == 0) {
		err_set(err, 0, "user '%s' has no account", c->user);
		return call_refuse(c, 400, "unknown-account",
				   "ask an operator to name you in the Users of an account");
	}
	err_set(err, 0, "no account stated; yours are: %s", list);
	return call_refuse(c, 400, "unknown-account",
			   "say which with -A ACCOUNT, or ask for a DefaultAccount");
}

/* An account that is none, is gone, or is another's. */
static int refuse_account(struct call *c, const struct request *q, struct err *err)
{
	struct store_accounts_removal gone;
	char list[256], when[AMOUNT_TEXT_MAX];
	size_t n = who_accounts(c, list, sizeof(list));
	int r = 1;

	if (accounts_find(c->api->accounts, q->account) < 0)
		r = store_accounts_removed(c->api->c.store, q->account, &gone, err);
	if (r < 0)
		return r;
	if (r == 0) {
		err_set(err, 0,
			"account '%s' was removed on %.16s UTC by %s: its jobs go on to their "
			"end, but no more are taken",
			q->account, amount_format_utc(gone.at_ns, when), gone.author);
		return call_refuse(c, 400, "removed-account",
				   "say another with -A ACCOUNT, or ask an operator");
	}
	err_set(err, 0, "account '%s' is none of yours; yours are: %s", q->account,
		n ? list : "none");
	return call_refuse(c, 400, "unknown-account", "say which with -A ACCOUNT");
}

static int choose_account(struct call *c, struct request *q, const char *cluster,
			  struct err *err)
{
	const struct accounts *a = c->api->accounts;
	int r = *q->account ? 0 : default_account(c, q, err);
	int32_t i;

	if (r < 0)
		return r;
	i = accounts_find(a, q->account);
	if (!accounts_member(a, i, c->user))
		return refuse_account(c, q, err);
	if (!accounts_allows_cluster(a, i, cluster)) {
		err_set(err, 0, "account '%s' is not for cluster '%s'; it is for: %s",
			q->account, cluster, a->accounts[i].clusters);
		return call_refuse(c, 400, "unknown-account", "choose another --cluster");
	}
	return 0;
}

static int choose_cluster(struct call *c, struct request *q, const struct config_cluster **ret,
			  struct err *err)
{
	const struct config_cluster *cl = config_cluster(c->api->c.config, q->cluster);

	if (!cl) {
		err_set(err, 0, "no cluster '%s' here", q->cluster);
		return call_refuse(c, 400, "unknown-cluster",
				   "GET /v1/cluster lists the clusters");
	}
	snprintf(q->cluster, sizeof(q->cluster), "%s", cl->name);
	if (!*q->queue)
		config_default_queue(cl, q->queue);
	if (!config_has_queue(cl, q->queue)) {
		err_set(err, 0, "cluster '%s' has no queue '%s'; it has: %s", cl->name,
			q->queue, cl->queues);
		return call_refuse(c, 400, "unknown-queue", "say which with -q QUEUE");
	}
	*ret = cl;
	return 0;
}

static int64_t *amount_at(struct resources *r, const struct resource_def *d)
{
	return (int64_t *)((char *)r + d->offset);
}

static const char *amount_text(const struct resource_def *d, int64_t n, char *buf)
{
	if (d->kind == RESOURCE_BYTES)
		return amount_format_bytes_exact(n, buf);
	if (d->kind == RESOURCE_SECONDS)
		return amount_format_seconds(n, buf);
	snprintf(buf, AMOUNT_TEXT_MAX, "%lld", (long long)n);
	return buf;
}

/* What is not stated takes the site's default; all must be within its bound. */
static int fill_resources(struct call *c, const struct config_cluster *cl, struct resources *r,
			  struct err *err)
{
	struct resources defaults = cl->defaults, max = cl->max;

	for (const struct resource_def *d = request_resources; d->name; d++) {
		int64_t stated = *amount_at(r, d), bound = *amount_at(&max, d);
		int64_t n = stated ? stated : *amount_at(&defaults, d);
		char asked[AMOUNT_TEXT_MAX], most[AMOUNT_TEXT_MAX];

		if (bound == 0 || n <= bound)
			continue;
		err_set(err, 0, "%s=%s is more than this cluster allows one job: %s", d->name,
			amount_text(d, n, asked), amount_text(d, bound, most));
		return call_refuse(c, 400, "too-large", "ask for less, or ask the operators");
	}
	quote_fill(cl, r);
	return 0;
}

static struct quote quote_of(const struct request *q, const struct shape *shape)
{
	return (struct quote){
		.pick = { .cluster = q->cluster, .queue = q->queue, .qos = q->qos },
		.res = q->res,
		.spread = shape->nodes,
		.is_exclusive = q->is_exclusive
	};
}

/* Everything between the document and a request that can be taken. */
static int read_request(struct call *c, struct request *q, const struct config_cluster **ret,
			struct err *err)
{
	int r = wire_decode_request(json_object_get(c->body, "request"), "request", q, err);

	if (r < 0)
		return r;
	q->uid = c->who.uid;
	q->gid = c->who.gid;
	snprintf(q->user, sizeof(q->user), "%s", c->user);
	if (!*q->name)
		strcpy(q->name, "job");
	r = choose_cluster(c, q, ret, err);
	if (r >= 0)
		r = quote_fill_chunks(*ret, q, err);
	if (r >= 0)
		r = fill_resources(c, *ret, &q->res, err);
	return r < 0 ? r : gpus_choose(c, q, err);
}

/* The one that was requested, else the default; it must be one that may be used. */
static int choose_qos(struct call *c, struct request *q, struct err *err)
{
	const struct quota_site site = { c->api->c.store, c->api->c.config, c->api->accounts };
	struct quota_qos_refusal no;

	quota_fill_qos(&site, q);
	if (quota_allows_qos(&site, q, &no))
		return 0;
	err_set(err, 0, "%s", no.text);
	return call_refuse(c, 400, no.code, no.remedy);
}

static int check_submission(struct call *c, struct request *q, struct shape *ret,
			    struct err *err)
{
	const struct config_cluster *cl;
	int r = read_request(c, q, &cl, err);

	if (r < 0)
		return r;
	if (q->uid == 0) {
		err_set(err, 0, "jobs do not run as root");
		return call_refuse(c, 403, "root", "submit as the user whose job it is");
	}
	r = choose_account(c, q, cl->name, err);
	if (r >= 0)
		r = choose_qos(c, q, err);
	if (r >= 0)
		r = request_check(q, err);
	return r < 0 ? r : shape_check(c, q, ret, err);
}

/* ---- what it waits for ---- */

struct targets {
	struct store_target *at;
	size_t n;
};

static void targets_done(struct targets *t)
{
	free(t->at);
}

static int refuse_dependency(struct call *c, struct after a, const struct job_end *end,
			     struct err *err)
{
	char words[DEPEND_WORDS_MAX];

	if (end->kind == END_NONE) { /* there is none, or none to see */
		err_set(err, 0, "%s: no job %s", after_kind_name(a.kind),
			job_id_format(a.id, words));
		return call_refuse(c, 400, "unknown-dependency",
				   "reeve jobs lists yours; -a those that have ended");
	}
	err_set(err, 0, "it could never start: %s", depend_words(a, end, words));
	return call_refuse(c, 400, "dependency-failed",
			   "hand that job in again, or wait with afterany");
}

/* Those that have ended as they had to are waited for no more. */
static int find_targets(struct call *c, const struct request *q, struct targets *ret,
			struct err *err)
{
	static const struct job_end none = { .kind = END_NONE };

	ret->at = calloc(q->after.n + 1, sizeof(*ret->at));
	if (!ret->at)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < q->after.n; i++) {
		struct after a = q->after.at[i];
		struct store_prospect p;
		int r = store_depend_look(c->api->c.store, a, &p, err);

		if (r == -ENOENT || (r >= 0 && !who_sees_job(c, p.uid, p.account)))
			return refuse_dependency(c, a, &none, err);
		if (r < 0)
			return r;
		switch (depend_judge(a.kind, &p.end)) {
		case DEPEND_FAILED:
			return refuse_dependency(c, a, &p.end, err);
		case DEPEND_WAITS:
			ret->at[ret->n++] = p.target;
			break;
		default:
			break;
		}
	}
	return 0;
}

/* ---- taking it ---- */

static void set_terms(struct store_new *new, const struct request *q,
		      const struct tariff_price *p)
{
	new->pool = p->pool;
	new->decided_by = p->decided_by;
	new->unit = p->unit;
	new->rule = p->rule;
	new->terms = (struct tally_terms){ .rate = p->rate,
					   .bundle = p->terms,
					   .ncpus = q->res.ncpus,
					   .ngpus = q->res.ngpus };
}

struct passed {
	struct request q;
	struct shape shape;
	struct tariff_price price;
};

static void passed_done(struct passed *p)
{
	request_done(&p->q);
}

/* Checked, within bounds, priced and admitted. */
static int pass(struct call *c, struct bounds *b, struct passed *p, struct admit_note *ret,
		struct err *err)
{
	struct quote quote;
	int r = check_submission(c, &p->q, &p->shape, err);

	if (r >= 0)
		r = bounds_check(c, b, &p->q, err);
	if (r < 0)
		return r;
	quote = quote_of(&p->q, &p->shape);
	r = quote_price(c->api->c.config, &quote, &p->price, err);
	return r < 0 ? r : admit_job(c, &p->q, &p->price, ret, err);
}

static int answer_taken(struct call *c, const struct request *q, const struct submission *s,
			struct err *err)
{
	c->status = 201;
	c->answer = json_pack("{s:s,s:I,s:s,s:s*}", "schema", WIRE_SCHEMA, "job",
			      (json_int_t)s->job, "queue", q->queue, "note",
			      *s->note.text ? s->note.text : NULL);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* As munge writes it: it is for the nodes, we cannot read it. An older command signs nothing.
 */
static int find_credential(struct call *c, const char **ret, struct err *err)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=:";
	const json_t *j = json_object_get(c->body, "credential");
	const char *text = json_string_value(j);

	*ret = text;
	if (!j)
		return 0;
	if (!text || strncmp(text, "MUNGE:", 6) != 0 || json_string_length(j) > AUTH_SEAL_MAX ||
	    strspn(text, letters) != json_string_length(j))
		return err_set(err, -EINVAL,
			       "credential: not one of munge's, of at most %d KiB",
			       AUTH_SEAL_MAX >> 10);
	return 0;
}

int submit_take(struct call *c, struct bounds *b, struct submission *ret, struct err *err)
{
	_cleanup_(passed_done) struct passed p = { 0 };
	_cleanup_(targets_done) struct targets targets = { 0 };
	struct store_new new = { .request = &p.q, .now_ns = call_now_ns() };
	int r;

	request_init(&p.q);
	r = find_credential(c, &new.credential, err);
	if (r >= 0)
		r = pass(c, b, &p, &ret->note, err);
	if (r >= 0)
		r = find_targets(c, &p.q, &targets, err);
	if (r < 0)
		return r;
	set_terms(&new, &p.q, &p.price);
	new.is_exclusive = shape_is_exclusive(c, &p.q);
	new.targets = targets.at;
	new.n_targets = targets.n;
	r = store_submit_one(c->api->c.store, &new, &ret->job, err);
	ret->has_failed = r < 0;
	if (r < 0)
		return r;
	bounds_add(b, &p.q);
	strcpy(ret->account, p.q.account);
	return answer_taken(c, &p.q, ret, err);
}

void submit_finish(struct call *c, const struct submission *s)
{
	admit_keep(c, s->job, &s->note);
	c->api->counts.submits++;
	log_job(LOG_INFO, s->job, "submit", "from %s, account %s", c->user, s->account);
	api_want_cycle(c->api);
}

/* The QOS that it would have: by the account that it would be charged to where that is known,
 * else the site's. */
static void foretell_qos(struct call *c, struct request *q)
{
	const struct quota_site site = { c->api->c.store, c->api->c.config, c->api->accounts };
	struct request whose = *q; /* borrows */

	if (!*whose.account)
		find_default_account(c, whose.account);
	quota_fill_qos(&site, &whose);
	memcpy(q->qos, whose.qos, sizeof(q->qos));
}

int route_cost(struct call *c, struct err *err)
{
	_cleanup_(request_done) struct request q;
	const struct config *config = c->api->c.config;
	const struct config_cluster *cl;
	struct tariff_price p;
	struct shape shape;
	struct quote quote;
	int r;

	request_init(&q);
	r = read_request(c, &q, &cl, err);
	if (r >= 0)
		r = shape_find(c, &q, &shape, err); /* what cannot be has a price, too */
	if (r < 0)
		return r;
	foretell_qos(c, &q);
	quote = quote_of(&q, &shape);
	r = quote_price(config, &quote, &p, err);
	if (r >= 0)
		r = quote_encode(config, &quote, &p, &c->answer, err);
	return r < 0 ? r : admit_foretell(c, &q, &p, err);
}
