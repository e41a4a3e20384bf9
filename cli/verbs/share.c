/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share.c - `reeve share`: shows the share tree in the terms of sshare. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include "cli/client/name_filter.h"
#include "cli/client/options.h"
#include "cli/cli.h"
#include "cli/output/decimal.h"
#include "cli/output/table_data.h"
#include "cli/output/table_format.h"
#include "cli/offline/share_file.h"
#include "cli/views/packed_rows.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/sharetree/stand.h"

static const struct verb_option options[] = {
	{ "all", 'a', NULL, "show the users of every account, not only you", NULL },
	{ "account", 'A', "LIST", "only these accounts and what is below them", NULL },
	{ "user", 'u', "LIST", "only these users", NULL },
	{ "cluster", 'C', "NAME", "the tree of this cluster; default: all clusters", NULL },
	{ "pool", 0, "cpu|gpu", "the tree of this pool; default: both", "cpu gpu" },
	{ "algorithm", 0, "fair-tree|classic",
	  "rank by this algorithm, and print what its figures mean; default: the site's",
	  "fair-tree classic" },
	SHARE_FILE_OPTIONS,
	{ 0 },
};

static const struct table_column columns[] = {
	{ "cluster", "CLUSTER", CELL_TEXT },
	{ "pool", "POOL", CELL_TEXT },
	{ "account", "Account", CELL_TEXT },
	{ "user", "User", CELL_TEXT },
	{ "RawShares", "RawShares", CELL_FIGURE },
	{ "NormShares", "NormShares", CELL_FIGURE },
	{ "RawUsage", "RawUsage", CELL_FIGURE },
	{ "NormUsage", "NormUsage", CELL_FIGURE },
	{ "EffectvUsage", "EffectvUsage", CELL_FIGURE },
	{ "LevelFS", "LevelFS", CELL_FIGURE },
	{ "FairShare", "FairShare", CELL_FIGURE },
	{ "depth", "-Depth", CELL_COUNT },
	{ 0 },
};

/* Columns for a terminal that is narrower than all of them need: cluster and pool where there are several. */
#define WIDE 110
#define NARROW "account,user,RawShares,RawUsage,EffectvUsage,LevelFS,FairShare"
#define NARROW_SEVERAL "cluster,pool,account,user,EffectvUsage,LevelFS,FairShare"

/* A row of the tree, from a ledger file or from the controller. */
struct row {
	const char *cluster, *pool, *account, *user;
	int64_t raw_shares, depth;
	double norm_shares, raw_usage, norm_usage, effective_usage, level_fs, fairshare;
};

struct show {
	const struct verb_call *call;
	struct table *t;
	bool indents;  /* for people: accounts by their depth */
	int64_t below; /* depth of the account of -A whose subtree is being read; -1: none */
	struct name_filter accounts, users;
	int n;
	json_t *stand; /* of the controller's answer: where the caller stands; NULL: from a file */
	char legend[STAND_LEGEND_MAX];
	bool is_part; /* one answer did not hold all: each is printed before the next is read */
	char *ahead;  /* the path that was sent ahead; owned */
};

#define DECIMALS 6 /* like sshare */
#define INDENT_MAX 60
#define PART_ROWS 1000

/* Rows come depth first: the rows below an account follow it. */
static bool is_wanted(struct show *s, const struct row *row)
{
	bool is_user = *row->user, is_asked;

	if (s->below >= 0 && row->depth <= s->below)
		s->below = -1;
	/* Called for every row, so that name_filter_check() finds mistyped names. */
	is_asked = is_user ? name_filter_match(&s->users, row->user)
			   : name_filter_match(&s->accounts, row->account);
	if (s->accounts.n && s->below < 0 && !is_user && is_asked)
		s->below = row->depth;
	if (s->accounts.n && s->below < 0)
		return false;
	return !is_user || is_asked;
}

static void add_shares(struct table *t, int64_t shares)
{
	char text[TABLE_CELL_MAX] = "parent";
	int n = (int)strlen(text);

	if (shares != FAIRSHARE_PARENT)
		n = decimal_format((double)shares, 0, text);
	if (n < 0) /* too large for a double to have each digit */
		n = snprintf(text, sizeof(text), "%lld", (long long)shares);
	table_text_n(t, "RawShares", text, (size_t)n);
}

static void add_row(struct show *s, const struct row *row)
{
	struct table *t = s->t;
	char text[REQUEST_NAME_MAX + INDENT_MAX];
	size_t indent = s->indents && row->depth > 0 ? (size_t)row->depth : 0, size;

	if (!is_wanted(s, row))
		return;
	s->n++;
	table_row(t);
	table_text(t, "cluster", row->cluster);
	table_text(t, "pool", row->pool);
	indent = indent < INDENT_MAX ? indent : INDENT_MAX;
	size = strnlen(row->account, REQUEST_NAME_MAX - 1);
	memset(text, ' ', indent);
	memcpy(text + indent, row->account, size);
	table_text_n(t, "account", text, indent + size);
	table_text(t, "user", row->user);
	add_shares(t, row->raw_shares);
	table_decimal(t, "NormShares", DECIMALS, row->norm_shares);
	table_decimal(t, "RawUsage", s->indents ? 0 : DECIMALS, row->raw_usage);
	table_decimal(t, "NormUsage", DECIMALS, row->norm_usage);
	table_decimal(t, "EffectvUsage", DECIMALS, row->effective_usage);
	table_decimal(t, "LevelFS", DECIMALS, row->level_fs);
	table_decimal(t, "FairShare", DECIMALS, row->fairshare);
	table_int(t, "depth", row->depth);
}

/* ---- printing ---- */

/* Has the column one value in all rows? */
static bool is_same(const struct table *t, const char *column)
{
	int i = table_find_column(t, column, strlen(column));

	for (size_t row = 1; row < table_size(t); row++)
		if (!table_cell(t, row, i)->text || !table_cell(t, 0, i)->text ||
		    strcmp(table_cell(t, row, i)->text, table_cell(t, 0, i)->text) != 0)
			return false;
	return true;
}

/* What fits into one answer, or was chosen by name, is printed whole, as wide as it needs; more is printed page by page. */
static int print_shares(struct show *s, const struct cli *c, enum table_rest rest,
			struct err *err)
{
	struct table_format f = c->format;
	struct table *t = s->t;
	bool is_one = s->is_part ? verb_value(s->call, "cluster") && verb_value(s->call, "pool")
				 : is_same(t, "cluster") && is_same(t, "pool");

	if (table_format_is_narrow(&f, WIDE))
		f.columns = is_one ? NARROW : NARROW_SEVERAL;
	return s->is_part ? table_print_part(t, &f, rest, err) : table_print(t, &f, err);
}

/* ---- from a ledger file ---- */

static int add_tree(struct show *s, struct share_file *f, struct sharetree_where w,
		    struct err *err)
{
	struct sharetree_view v;
	int r = sharetree_get_view(f->sharetree, w, f->at_ns, &v, err);

	for (size_t i = 0; r >= 0 && i < v.n; i++) {
		const struct sharetree_row *at = &v.rows[i];
		const struct fairshare_result *res = &v.results[i];
		const struct row row = {
			.cluster = w.cluster,
			.pool = charge_pool_name(w.pool),
			.account = at->account,
			.user = at->user,
			.raw_shares = at->raw_shares,
			.depth = at->depth,
			.norm_shares = res->norm_shares,
			.raw_usage = sharetree_usage(&v, i),
			.norm_usage = res->norm_usage,
			.effective_usage = res->effective_usage,
			.level_fs = res->level_fs,
			.fairshare = res->fairshare,
		};

		add_row(s, &row);
	}
	if (r >= 0 && v.n_gone && s->indents)
		fprintf(stderr,
			"reeve share: %s %s: %zu association%s no longer in the accounts; their "
			"usage of %.0f counts for the account, or for the root\n",
			w.cluster, charge_pool_name(w.pool), v.n_gone,
			v.n_gone == 1 ? " is" : "s are", v.gone);
	return r;
}

static bool is_tree_wanted(const struct verb_call *call, struct sharetree_where w)
{
	const char *cluster = verb_value(call, "cluster"), *pool = verb_value(call, "pool");

	return (!cluster || !strcmp(cluster, w.cluster)) &&
	       (!pool || !strcmp(pool, charge_pool_name(w.pool)));
}

/* Adds trees without usage: that of -C, or those of all clusters where the ledger has no tree. */
static int add_unused(struct show *s, struct share_file *f, struct err *err)
{
	const char *cluster = verb_value(s->call, "cluster"),
		   *pool = verb_value(s->call, "pool");
	struct sharetree_where w = { .cluster = cluster };
	int r = 0;

	if (pool && !strcmp(pool, charge_pool_name(CHARGE_POOL_GPU)))
		w.pool = CHARGE_POOL_GPU;
	if (cluster)
		return add_tree(s, f, w, err);
	for (size_t i = 0; f->site.accounts && i < f->site.config->n_clusters && r >= 0; i++) {
		w.cluster = f->site.config->clusters[i]->name;
		r = add_tree(s, f, w, err);
	}
	return r;
}

static int choose_algorithm(struct show *s, struct share_file *f, struct err *err)
{
	const char *word = verb_value(s->call, "algorithm");
	int algorithm = f->site.config->policy.fairshare;

	for (int i = 0; word && config_fairshare_words[i]; i++)
		if (!strcmp(word, config_fairshare_words[i]))
			algorithm = i;
	stand_legend(f->site.config, algorithm, s->legend);
	return sharetree_rank_by(f->sharetree, algorithm, f->at_ns, err);
}

static int read_ledger(struct cli *c, struct show *s, struct err *err)
{
	_cleanup_(share_file_done) struct share_file f = { 0 };
	struct sharetree_where w;
	size_t n = 0;
	int r = cli_begin_offline(c, s->call, err);

	s->indents = c->format.output == TABLE_TABLE;
	if (r >= 0)
		r = share_file_open(s->call, &f, err);
	if (r >= 0)
		r = choose_algorithm(s, &f, err);
	for (size_t i = 0; r >= 0 && sharetree_tree(f.sharetree, i, &w); i++) {
		if (!is_tree_wanted(s->call, w))
			continue;
		r = add_tree(s, &f, w, err);
		n++;
	}
	return r < 0 || n ? r : add_unused(s, &f, err);
}

/* ---- from the controller ---- */

static const char *word_of(const json_t *row, const char *key)
{
	const char *text = cli_text(row, key);

	return text ? text : "";
}

enum answer_cell {
	OF_CLUSTER,
	OF_POOL,
	OF_ACCOUNT,
	OF_USER,
	OF_DEPTH,
	OF_RAW_SHARES,
	OF_NORM_SHARES,
	OF_RAW_USAGE,
	OF_NORM_USAGE,
	OF_EFFECTIVE_USAGE,
	OF_LEVEL_FS,
	OF_FAIRSHARE,
	_ANSWER_CELL_MAX
};
static const char *const answer_keys[] = {
	"cluster",    "pool",	  "account",   "user",	       "depth",	  "RawShares",
	"NormShares", "RawUsage", "NormUsage", "EffectvUsage", "LevelFS", "FairShare",
};

static double real_of(const struct rowpack_value *v)
{
	return v->kind == ROWPACK_REAL || v->kind == ROWPACK_INT ? v->real : NAN;
}

static const char *text_of(const struct rowpack_value *v)
{
	return v->text ? v->text : "";
}

static void add_answer_row(struct show *s, const struct rowpack_value *cells)
{
	const struct rowpack_value *shares = &cells[OF_RAW_SHARES];
	const struct row row = {
		.cluster = text_of(&cells[OF_CLUSTER]),
		.pool = text_of(&cells[OF_POOL]),
		.account = text_of(&cells[OF_ACCOUNT]),
		.user = text_of(&cells[OF_USER]),
		.raw_shares = shares->kind == ROWPACK_INT ? shares->n : FAIRSHARE_PARENT,
		.depth = cells[OF_DEPTH].n,
		.norm_shares = real_of(&cells[OF_NORM_SHARES]),
		.raw_usage = real_of(&cells[OF_RAW_USAGE]),
		.norm_usage = real_of(&cells[OF_NORM_USAGE]),
		.effective_usage = real_of(&cells[OF_EFFECTIVE_USAGE]),
		.level_fs = real_of(&cells[OF_LEVEL_FS]),
		.fairshare = real_of(&cells[OF_FAIRSHARE]),
	};

	add_row(s, &row);
}

static int make_path(const struct verb_call *call, int64_t from, char **path, struct err *err)
{
	char text[32];
	int r;

	*path = strdup("/v1/share?packed=1");
	if (!*path)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(text, sizeof(text), "%lld", (long long)from);
	r = cli_query(path, "cluster", verb_value(call, "cluster"), err);
	if (r == 0)
		r = cli_query(path, "pool", verb_value(call, "pool"), err);
	if (r == 0)
		r = cli_query(path, "algorithm", verb_value(call, "algorithm"), err);
	if (r == 0 && (verb_count(call, "all") || verb_value(call, "user")))
		r = cli_query(path, "users", "all", err);
	return r == 0 && from ? cli_query(path, "from", text, err) : r;
}

/* While this page is read and printed, the controller makes the next one. */
static const char *name_next_path(void *ctx, int64_t next)
{
	struct show *s = ctx;
	struct err unused;

	free(s->ahead);
	s->ahead = NULL;
	return make_path(s->call, next, &s->ahead, &unused) < 0 ? NULL : s->ahead;
}

/* Adds the rows of an answer; of a long list those that fill PART_ROWS are printed at once, while they are in the processor's cache. */
static int add_page(struct cli *c, struct show *s, const json_t *answer, struct err *err)
{
	struct rowpack_value cells[_ANSWER_CELL_MAX];
	struct packed_rows rows;
	int r = packed_rows_open(answer, answer_keys, _ANSWER_CELL_MAX, &rows, err);

	while (r >= 0) {
		r = packed_rows_next(&rows, cells, err);
		if (r <= 0)
			return r;
		add_answer_row(s, cells);
		if (s->is_part && table_size(s->t) == PART_ROWS)
			r = print_shares(s, c, TABLE_MORE, err);
	}
	return r;
}

/* Reads the page that begins at row *from; sets *from to the next page, or 0 after the last. */
static int read_page(struct cli *c, struct show *s, int64_t *from, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	struct http_call call = { .method = "GET", .next_path = name_next_path, .ctx = s };
	int64_t next;
	int r = make_path(s->call, *from, &path, err);

	call.path = path;
	if (r == 0)
		r = cli_ask(c, call, &answer, err);
	if (r < 0)
		return r;
	next = cli_int(answer, "next", 0);
	if (next && next <= *from)
		return err_set(err, -EPROTO, "the controller's pages of shares do not end");
	s->is_part = s->is_part || (next && !s->accounts.n && !s->users.n);
	*from = next;
	json_decref(s->stand);
	s->stand = json_incref(json_object_get(answer, "stand"));
	snprintf(s->legend, sizeof(s->legend), "%s", word_of(answer, "legend"));
	return add_page(c, s, answer, err);
}

static int read_controller(struct cli *c, struct show *s, struct err *err)
{
	static const char *const offline[] = { "profile", "accounts", "at", NULL };
	int64_t from = 0;
	int r = cli_begin(c, s->call, err);

	if (r == 0)
		r = options_need_ledger(s->call, offline, err);
	s->indents = c->format.output == TABLE_TABLE;
	if (r < 0)
		return r;
	do
		r = read_page(c, s, &from, err);
	while (r == 0 && from);
	return r;
}

/* ---- the verb ---- */

static void print_legend(const struct cli *c, const struct show *s)
{
	if (!s->indents || c->format.columns || !*s->legend || !s->n)
		return;
	fputc('\n', c->format.to);
	cli_put(c->format.to, s->legend);
	fputc('\n', c->format.to);
}

/* "physics on narval, cpu: Place 3 of 12 users: ...", for people who did not ask for others. */
static void print_stand(const struct cli *c, const struct show *s)
{
	const json_t *row;
	size_t i;

	if (!s->indents || s->accounts.n || s->users.n || c->format.columns)
		return;
	json_array_foreach(s->stand, i, row)
	{
		fputs(i ? "" : "\n", c->format.to);
		cli_put(c->format.to, word_of(row, "account"));
		fputs(" on ", c->format.to);
		cli_put(c->format.to, word_of(row, "cluster"));
		fprintf(c->format.to, ", %s: ", word_of(row, "pool"));
		cli_put(c->format.to, word_of(row, "words"));
		fputc('\n', c->format.to);
	}
}

static int check_options(const struct verb_call *call, struct err *err)
{
	const char *pool = verb_value(call, "pool"), *algorithm = verb_value(call, "algorithm");

	if (pool && strcmp(pool, "cpu") && strcmp(pool, "gpu"))
		return err_set(err, -EINVAL, "--pool %.32s: write cpu or gpu", pool);
	if (algorithm && strcmp(algorithm, "fair-tree") && strcmp(algorithm, "classic"))
		return err_set(err, -EINVAL, "--algorithm %.32s: write fair-tree or classic",
			       algorithm);
	return 0;
}

static int run_share(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	struct show s = { .call = call, .below = -1 };
	struct cli *c = ctx;
	int r = table_new("rows", columns, &t, err);

	if (r == 0)
		r = check_options(call, err);
	if (r < 0)
		return r;
	setlocale(LC_NUMERIC, "C"); /* programs read the output */
	s.t = t;
	r = name_filter_init(&s.accounts, "account", verb_value(call, "account"), err);
	if (r == 0)
		r = name_filter_init(&s.users, "user", verb_value(call, "user"), err);
	if (r == 0)
		r = (verb_value(call, "ledger") ? read_ledger : read_controller)(c, &s, err);
	if (r >= 0)
		r = name_filter_check(&s.accounts, err);
	if (r >= 0)
		r = name_filter_check(&s.users, err);
	if (r >= 0)
		r = print_shares(&s, c, TABLE_LAST, err);
	if (r >= 0) {
		print_legend(c, &s);
		print_stand(c, &s);
	}
	json_decref(s.stand);
	free(s.ahead);
	if (r == 0 && s.n == 0 && c->shows_hints)
		fprintf(stderr, "no matching account or user has shares or usage\n");
	return r;
}

const struct verb cli_verb_share = {
	.name = "share",
	.args = "",
	.help = "Show shares, decayed usage and fairshare rank",
	.details =
		"One tree for each cluster and pool, with the columns of sshare: RawUsage is\n"
		"decayed usage (weight x seconds of running); NormShares and EffectvUsage are\n"
		"fractions of the level. Fair Tree: LevelFS is NormShares / EffectvUsage, above\n"
		"1 for a row that used less than its share; FairShare is the rank, 1 for the\n"
		"user whose jobs start first. Classic: FairShare is a score, 0.5 exactly at the\n"
		"share. The lines below the table say which holds.\n"
		"\n"
		"You see every account, yourself, and the users of accounts that you coordinate\n"
		"(-a); operators see all. --ledger needs no controller and shows every row.",
	.examples = "reeve share\nreeve share -a -A physics\n"
		    "reeve share --ledger history.db --profile bmrc --accounts accounts.conf\n"
		    "reeve share --ledger history.db --profile mlcloud --at 2012-03-01 --csv",
	.options = options,
	.run = run_share,
};
