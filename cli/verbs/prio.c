/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prio.c - `reeve prio`: shows the priority of queued jobs, or (--ledger) of a request that is not
 * submitted, factor by factor. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/offline/share_file.h"
#include "cli/client/job_fetch.h"
#include "cli/client/options.h"
#include "cli/client/submit/submission.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/doc.h"
#include "controller/config/ordering.h"
#include "controller/quota/qos.h"
#include "controller/quota/usage_names.h"
#include "controller/pricing/price.h"
#include "controller/sharetree/rank.h"

static const struct verb_option options[] = {
	{ "user", 'u', "NAME", "jobs of this user; with --ledger: the user of the job", NULL },
	SUBMISSION_RESOURCE_OPTIONS,
	SHARE_FILE_OPTIONS,
	{ "waited", 0, "TIME", "with --ledger: how long the job has waited so far", NULL },
	{ 0 },
};

static const struct table_column job_columns[] = {
	{ "job", "JOB", CELL_COUNT },
	{ "user", "USER", CELL_TEXT },
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "cluster", "CLUSTER", CELL_TEXT },
	{ "queue", "-QUEUE", CELL_TEXT },
	{ "qos_name", "-QOS NAME", CELL_TEXT },
	{ "name", "-NAME", CELL_TEXT },
	{ "pool", "-POOL", CELL_TEXT },
	{ "priority", "PRIORITY", CELL_COUNT },
	{ "age", "AGE", CELL_FIGURE },
	{ "fairshare", "FAIRSHARE", CELL_FIGURE },
	{ "size", "SIZE", CELL_FIGURE },
	{ "partition", "QUEUE", CELL_FIGURE },
	{ "qos", "QOS", CELL_FIGURE },
	{ "association", "-ASSOCIATION", CELL_FIGURE },
	{ "site", "SITE", CELL_FIGURE },
	{ "nice", "NICE", CELL_FIGURE },
	{ "sum", "-SUM", CELL_FIGURE },
	{ "held", "HELD", CELL_TEXT },
	{ 0 },
};

static const struct table_column factor_columns[] = {
	{ "job", "JOB", CELL_COUNT },
	{ "priority", "PRIORITY", CELL_COUNT },
	{ "factor", "FACTOR", CELL_TEXT },
	{ "value", "VALUE", CELL_FIGURE },
	{ "weight", "WEIGHT", CELL_COUNT },
	{ "product", "PRODUCT", CELL_FIGURE },
	{ 0 },
};

/* ---- printing ---- */

static void put_text(struct table *t, const char *column, const json_t *row, const char *key)
{
	table_text(t, column, cli_text(row, key));
}

/* The product of each factor goes into the column of the factor's name. */
static void add_job(struct table *t, const json_t *row)
{
	static const char *const texts[] = { "user", "account", "cluster", "queue",   "name",
					     "pool", "sum",	"held",	   "qos_name" };
	const json_t *factor;
	size_t i;

	table_row(t);
	if (cli_int(row, "job", 0))
		table_int(t, "job", cli_int(row, "job", 0));
	table_int(t, "priority", cli_int(row, "priority", 0));
	for (i = 0; i < ARRAY_LEN(texts); i++)
		put_text(t, texts[i], row, texts[i]);
	json_array_foreach(json_object_get(row, "factors"), i, factor)
	{
		const char *name = cli_text(factor, "factor");

		for (const struct table_column *c = job_columns; name && c->name; c++)
			if (c->kind == CELL_FIGURE && !strcmp(c->name, name))
				put_text(t, name, factor, "product");
	}
}

/* One row a factor: the job's number and priority are repeated. */
static void add_factors(struct table *t, const json_t *row)
{
	const json_t *factor;
	size_t i;

	json_array_foreach(json_object_get(row, "factors"), i, factor)
	{
		table_row(t);
		if (cli_int(row, "job", 0))
			table_int(t, "job", cli_int(row, "job", 0));
		table_int(t, "priority", cli_int(row, "priority", 0));
		put_text(t, "factor", factor, "factor");
		table_decimal(t, "value", 6,
			      json_number_value(json_object_get(factor, "value")));
		table_int(t, "weight", cli_int(factor, "weight", 0));
		put_text(t, "product", factor, "product");
	}
}

static void print_words(const struct cli *c, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (cli_int(row, "job", 0))
			fprintf(c->format.to, "job %lld: ", (long long)cli_int(row, "job", 0));
		cli_put(c->format.to, cli_text(row, "words") ? cli_text(row, "words") : "");
		fputc('\n', c->format.to);
	}
}

/* by_factor: one row a factor, for named jobs and for --ledger. */
static int print_priorities(struct cli *c, const json_t *answer, const json_t *rows,
			    bool by_factor, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	const char *order = cli_text(answer, "order"), *words = cli_text(answer, "order_words");
	const json_t *row;
	size_t i;
	int r = table_new("rows", by_factor ? factor_columns : job_columns, &t, err);

	if (r < 0)
		return r;
	json_array_foreach(rows, i, row)
	{
		if (by_factor)
			add_factors(t, row);
		else
			add_job(t, row);
	}
	r = table_print(t, &c->format, err);
	if (r == 0 && c->format.output == TABLE_TABLE && by_factor)
		print_words(c, rows);
	if (r == 0 && cli_int(answer, "left_out", 0) && c->format.output == TABLE_TABLE)
		fprintf(stderr,
			"reeve prio: %lld more queued jobs are not shown; select with -u, -A or job "
			"numbers\n",
			(long long)cli_int(answer, "left_out", 0));
	if (r == 0 && order && words && strcmp(order, "priority") != 0 &&
	    c->format.output == TABLE_TABLE && !c->format.no_header)
		fprintf(stderr, "reeve prio: %s\n", words);
	return r;
}

/* ---- from the controller ---- */

static int make_path(const struct verb_call *call, const char *job, char **path,
		     struct err *err)
{
	char cluster[REQUEST_NAME_MAX], number[JOB_ID_TEXT_MAX];
	int64_t n = 0;
	int is_slurm = job ? job_fetch_split(job, cluster, &n, err) : 0;
	int r = job && !is_slurm ? cli_parse_job(job, &n, err) : is_slurm;

	if (r < 0)
		return r;
	snprintf(number, sizeof(number), "%" PRId64, n);
	*path = strdup("/v1/prio");
	if (!*path)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_query(path, "job", job ? number : NULL, err);
	if (r == 0 && is_slurm)
		r = cli_query(path, "cluster", cluster, err);
	if (r == 0)
		r = cli_query(path, "user", verb_value(call, "user"), err);
	return r < 0 ? r : cli_query(path, "account", verb_value(call, "account"), err);
}

/* `rows` collects the rows of all answers; `answer` is the last one. */
struct asking {
	struct cli *c;
	const struct verb_call *call;
	json_t *rows, *answer;
};

/* job NULL: all that the options select. */
static int request_one(struct asking *a, const char *job, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	json_t *answer = NULL;
	int r = make_path(a->call, job, &path, err);

	if (r == 0)
		r = cli_get(a->c, path, &answer, err);
	if (r < 0)
		return r;
	json_decref(a->answer);
	a->answer = answer;
	if (json_array_extend(a->rows, json_object_get(answer, "rows")) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int request_priorities(struct asking *a, struct err *err)
{
	static const char *const offline[] = { "profile", "accounts", "at",
					       "waited",  "queue",    "resources",
					       "cluster", "qos",      NULL };
	int r = cli_begin(a->c, a->call, err);

	if (r == 0)
		r = options_need_ledger(a->call, offline, err);
	if (r == 0 && a->call->n_args == 0)
		r = request_one(a, NULL, err);
	for (int i = 0; i < a->call->n_args && r == 0; i++)
		r = request_one(a, a->call->args[i], err);
	return r;
}

/* ---- from a ledger file: the priority that a request would have ---- */

struct asked {
	struct request *request;
	enum charge_pool pool;
	int64_t waited_s;
};

static struct quota_site site_of(const struct share_file *f)
{
	return (struct quota_site){ .store = f->site.store,
				    .config = f->site.config,
				    .accounts = f->site.accounts };
}

/* Without -C: the ledger's cluster, if it has only one. */
static int choose_cluster(const struct share_file *f, struct request *q, struct err *err)
{
	struct sharetree_where w;

	for (size_t i = 0; sharetree_tree(f->sharetree, i, &w); i++) {
		if (*q->cluster && strcmp(q->cluster, w.cluster) != 0)
			return err_set(err, -EINVAL,
				       "the ledger has the clusters %s and %s: name one "
				       "with -C NAME",
				       q->cluster, w.cluster);
		strcpy(q->cluster, w.cluster);
	}
	if (!*q->cluster)
		return err_set(err, -EINVAL,
			       "the ledger has no usage; name a cluster with -C NAME");
	return 0;
}

static int check_asked(const struct verb_call *call, struct request *q, struct err *err)
{
	const char *user = verb_value(call, "user");

	if (call->n_args)
		return err_set(err, -EINVAL,
			       "job numbers need the controller; leave out --ledger");
	if (!user || !*q->account)
		return err_set(err, -EINVAL,
			       "no user or account; name them with -A ACCOUNT -u USER");
	if (strlen(user) >= sizeof(q->user))
		return err_set(err, -EINVAL, "--user %.32s...: too long", user);
	strcpy(q->user, user);
	return 0;
}

/* Fills in what a submission would: the default queue, sums of chunks and default amounts. *ret is
 * the pool that would be charged. */
static int complete_request(const struct config *config, struct request *q,
			    enum charge_pool *ret, struct err *err)
{
	const struct config_cluster *cl = config_cluster(config, q->cluster);
	struct price_query query = {
		.pick = { .cluster = q->cluster, .queue = q->queue, .qos = q->qos },
		.is_exclusive = q->is_exclusive
	};
	struct tariff_price price;
	int r;

	if (!cl)
		return err_set(err, -ENOENT, "no cluster '%s' in the profile", q->cluster);
	if (!*q->queue)
		snprintf(q->queue, sizeof(q->queue), "%.*s", (int)strcspn(cl->queues, ","),
			 cl->queues);
	if (q->select.n) {
		r = price_fill_chunks(cl, q, err);
		if (r < 0)
			return r;
	}
	price_fill(cl, &q->res);
	query.res = q->res;
	r = price_find(config, &query, &price, err);
	if (r >= 0)
		*ret = price.pool;
	return r;
}

/* -EINVAL or -ENOENT: an unknown account or user, or more cores than the cluster has. */
static int check_known(const struct share_file *f, const struct request *q,
		       const struct rank_cluster *has, struct err *err)
{
	const struct quota_site site = site_of(f);
	const struct store_period whose = { .account = q->account, .user = q->user };
	int r = usage_names_check_period(&(struct usage_names){ &site, NULL }, &whose, err);

	if (r >= 0 && has->cores && q->res.ncpus > has->cores)
		return err_set(
			err, -EINVAL,
			"this job could never start: it needs %lld cores, and cluster %s has "
			"%lld",
			(long long)q->res.ncpus, q->cluster, (long long)has->cores);
	return r;
}

static int rank_request(const struct share_file *f, const struct asked *asked,
			struct priority *ret, struct err *err)
{
	_cleanup_free_ struct fit_node *nodes = NULL;
	const struct request *q = asked->request;
	const struct rank_job job = { .where = { q->cluster, asked->pool },
				      .account = q->account,
				      .user = q->user,
				      .queue = q->queue,
				      .qos = q->qos,
				      .want = &q->res,
				      .select = &q->select,
				      .is_exclusive = q->is_exclusive,
				      .waited_s = asked->waited_s };
	struct rank_cluster has;
	struct sharetree_view v;
	size_t n;
	int r = store_nodes_in_use(f->site.store, q->cluster, &nodes, &n, err);

	if (r >= 0)
		r = sharetree_get_view(f->sharetree, job.where, f->at_ns, &v, err);
	if (r < 0)
		return r;
	has = rank_cluster(nodes, n);
	r = check_known(f, q, &has, err);
	if (r < 0)
		return r;
	if (has.cores == 0 && f->site.config->policy.weight_job_size)
		fprintf(stderr,
			"reeve prio: the ledger has no nodes of cluster %s: the factor "
			"size is 0\n",
			q->cluster);
	return rank_job(f->sharetree, &has, &job, ret, err);
}

static json_t *encode_priority(const struct asked *asked, const struct priority *p)
{
	const struct request *q = asked->request;
	_cleanup_doc_ struct doc d = doc_object(), factors = doc_array();
	char text[PRIORITY_TEXT_MAX], words[RANK_WORDS_MAX];

	for (size_t i = 0; i < p->n_rows; i++)
		doc_add(&factors,
			json_pack("{s:s,s:f,s:I,s:s}", "factor", p->rows[i].name, "value",
				  p->rows[i].factor, "weight", (json_int_t)p->rows[i].weight,
				  "product",
				  priority_format_micro(p->rows[i].product_micro, text)));
	doc_text(&d, "user", q->user);
	doc_text(&d, "account", q->account);
	doc_text(&d, "cluster", q->cluster);
	doc_text(&d, "queue", q->queue);
	doc_text(&d, "pool", charge_pool_name(asked->pool));
	doc_int(&d, "priority", p->value);
	doc_text(&d, "sum", priority_format_micro(p->sum_micro, text));
	doc_text(&d, "words", rank_words(p, words));
	doc_set(&d, "factors", doc_take(&factors));
	return doc_take(&d);
}

/* Resolves the request as a submission would (cluster, QOS, queue, defaults), then ranks it in the share tree of the ledger. */
static int rank_offline(struct asking *a, struct err *err)
{
	_cleanup_(share_file_done) struct share_file f = { 0 };
	_cleanup_(request_done) struct request q;
	const char *waited = verb_value(a->call, "waited");
	struct asked asked = { .request = &q };
	struct priority p;
	int r = cli_begin_offline(a->c, a->call, err);

	request_init(&q);
	if (r == 0)
		r = submission_read_resources(a->c, a->call, &q, err);
	if (r == 0)
		r = check_asked(a->call, &q, err);
	if (r == 0 && waited)
		r = amount_parse_seconds(waited, &asked.waited_s, err);
	if (r == 0)
		r = share_file_open(a->call, &f, err);
	if (r == 0)
		r = *q.cluster ? 0 : choose_cluster(&f, &q, err);
	if (r == 0) {
		const struct quota_site site = site_of(&f);

		quota_fill_qos(&site, &q);
	}
	if (r == 0)
		r = complete_request(f.site.config, &q, &asked.pool, err);
	if (r == 0)
		r = rank_request(&f, &asked, &p, err);
	if (r < 0)
		return r;
	a->answer = json_pack("{s:s,s:s}", "order",
			      config_ordering_name(config_ordering(f.site.config, q.cluster)),
			      "order_words", config_ordering_queue(f.site.config));
	if (!a->answer || json_array_append_new(a->rows, encode_priority(&asked, &p)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* ---- the verb ---- */

static int run_prio(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_json_ json_t *rows = json_array();
	struct asking a = { ctx, call, rows, NULL };
	bool is_offline = verb_value(call, "ledger") != NULL;
	int r;

	if (!rows)
		return err_set(err, -ENOMEM, "out of memory");
	setlocale(LC_NUMERIC, "C"); /* programs read the output */
	r = is_offline ? rank_offline(&a, err) : request_priorities(&a, err);
	if (r >= 0)
		r = print_priorities(a.c, a.answer, rows, is_offline || call->n_args, err);
	json_decref(a.answer);
	return r;
}

const struct verb cli_verb_prio = {
	.name = "prio",
	.args = "[JOB...]",
	.help = "Show the priority of queued jobs, factor by factor",
	.details =
		"PRIORITY is the sum of the products, rounded down; a held job has 0. A product\n"
		"is a factor from 0 to 1 times its weight. Age counts from the time at which no\n"
		"hold or dependency kept the job from starting. For a JOB named by number, the\n"
		"value and weight of every factor is shown, and the largest ones in words.\n"
		"\n"
		"You see your own queued jobs and those of accounts that you coordinate;\n"
		"operators see all. CLUSTER:ID is a job that waits in Slurm: Reeve's part of its\n"
		"priority. --ledger needs no controller: it shows the priority that a job of\n"
		"that user, account and request would have.",
	.examples =
		"reeve prio\nreeve prio 1204\nreeve prio -A physics --csv\n"
		"reeve prio --ledger history.db --profile bmrc -A physics -u alice -l ncpus=16",
	.options = options,
	.max_args = -1,
	.run = run_prio,
};
