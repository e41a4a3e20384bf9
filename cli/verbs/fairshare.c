/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare.c - `reeve fairshare`: calculates fairshare from a file of shares and usage, without
 * a controller. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/offline/fairshare_file.h"
#include "common/err.h"

static const struct verb_option options[] = {
	{ "algorithm", 'A', "fair-tree|classic", "how to compute; default: fair-tree",
	  "fair-tree classic" },
	{ "ties", 0, "merge|slurm",
	  "accounts of equal LevelFS: as documented, or as Slurm 22.05 does", "merge slurm" },
	{ "dampening", 0, "FACTOR", "divide the exponent of the classic formula by this",
	  NULL },
	{ 0 },
};

static const struct table_column columns[] = {
	{ "id", "ID", CELL_TEXT },
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "user", "USER", CELL_TEXT },
	{ "RawShares", "RAW SHARES", CELL_FIGURE },
	{ "NormShares", "NORM SHARES", CELL_FIGURE },
	{ "RawUsage", "RAW USAGE", CELL_FIGURE },
	{ "NormUsage", "NORM USAGE", CELL_FIGURE },
	{ "EffectvUsage", "EFFECTV USAGE", CELL_FIGURE },
	{ "LevelFS", "LEVEL FS", CELL_FIGURE },
	{ "FairShare", "FAIRSHARE", CELL_FIGURE },
	{ 0 },
};

struct choice {
	bool classic;
	enum fairshare_ties ties;
	double dampening;
};

/* ---- options ---- */

static int read_dampening(const char *text, double *ret, struct err *err)
{
	char *end;

	*ret = strtod(text, &end);
	if (end == text || *end || !(*ret > 0) || isinf(*ret))
		return err_set(err, -EINVAL, "--dampening %.32s: write a number above 0", text);
	return 0;
}

static int read_choice(const struct verb_call *call, struct choice *ret, struct err *err)
{
	const char *algorithm = verb_value(call, "algorithm"), *ties = verb_value(call, "ties"),
		   *dampening = verb_value(call, "dampening");

	*ret = (struct choice){ .ties = FAIRSHARE_TIES_MERGE, .dampening = 1 };
	if (algorithm && strcmp(algorithm, "fair-tree") && strcmp(algorithm, "classic"))
		return err_set(err, -EINVAL, "--algorithm %.32s: write fair-tree or classic",
			       algorithm);
	ret->classic = algorithm && !strcmp(algorithm, "classic");
	if (ties && strcmp(ties, "merge") && strcmp(ties, "slurm"))
		return err_set(err, -EINVAL, "--ties %.32s: write merge or slurm", ties);
	if (ties && ret->classic)
		return err_set(err, -EINVAL,
			       "--ties is for --algorithm fair-tree: the classic "
			       "formula has no ranks");
	if (ties && !strcmp(ties, "slurm"))
		ret->ties = FAIRSHARE_TIES_SLURM;
	if (dampening && !ret->classic)
		return err_set(err, -EINVAL, "--dampening is for --algorithm classic");
	return dampening ? read_dampening(dampening, &ret->dampening, err) : 0;
}

/* ---- figures as text ---- */

#define DECIMALS 6 /* like sshare */

/* Whole units, rounded down, like sshare. */
static const char *format_usage(fairshare_usage u, fairshare_usage unit,
				char buf[static TABLE_CELL_MAX])
{
	char *p = buf + TABLE_CELL_MAX - 1;

	*p = '\0';
	u /= unit;
	do {
		*--p = (char)('0' + (int)(u % 10));
		u /= 10;
	} while (u);
	return p;
}

/* An account has an empty user in JSON, so that every row has the key. */
static void put_user(struct table *t, const char *user, enum table_output output)
{
	table_text(t, "user", *user || output == TABLE_JSON ? user : NULL);
}

static void add_row(struct table *t, const struct fairshare_file *f, size_t row,
		    const struct fairshare_result *r)
{
	const struct fairshare_file_name *name = &f->names[row];
	char buf[TABLE_CELL_MAX];

	table_row(t);
	table_text(t, "id", name->id);
	table_text(t, "account", name->account);
	table_text(t, "RawShares", *name->raw_shares ? name->raw_shares : NULL);
	table_decimal(t, "NormShares", DECIMALS, r->norm_shares);
	table_text(t, "RawUsage", format_usage(r->raw_usage, f->unit, buf));
	table_decimal(t, "NormUsage", DECIMALS, r->norm_usage);
	table_decimal(t, "EffectvUsage", DECIMALS, r->effective_usage);
	table_decimal(t, "LevelFS", DECIMALS, r->level_fs);
	table_decimal(t, "FairShare", DECIMALS, r->fairshare);
}

static int print_tree(const struct cli *c, const struct fairshare_file *f,
		      const struct fairshare_result *results, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	int r = table_new("rows", columns, &t, err);

	for (size_t i = 0; r == 0 && i < f->n; i++) {
		add_row(t, f, i, &results[i]);
		put_user(t, f->names[i].user, c->format.output);
	}
	return r < 0 ? r : table_print(t, &c->format, err);
}

/* ---- the verb ---- */

static int compute_results(const struct choice *choice, const struct fairshare_file *f,
			   struct fairshare_result **ret, struct err *err)
{
	_cleanup_free_ struct fairshare_result *results = calloc(f->n, sizeof(*results));
	int r;

	if (!results)
		return err_set(err, -ENOMEM, "out of memory");
	r = choice->classic ? fairshare_classic(f->tree, choice->dampening, results, err)
			    : fairshare_fair_tree(f->tree, choice->ties, results, err);
	if (r == 0)
		*ret = TAKE_PTR(results);
	return r;
}

static int run_fairshare(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(fairshare_file_done) struct fairshare_file f = { .n = 0 };
	_cleanup_free_ struct fairshare_result *results = NULL;
	struct choice choice;
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	setlocale(LC_NUMERIC, "C"); /* programs read the output */
	if (r == 0)
		r = read_choice(call, &choice, err);
	if (r == 0)
		r = fairshare_file_load(call->args[0], &f, err);
	if (r == 0)
		r = compute_results(&choice, &f, &results, err);
	if (r < 0)
		return r;
	return print_tree(c, &f, results, err);
}

const struct verb cli_verb_fairshare = {
	.name = "fairshare",
	.args = "TREE.csv",
	.help = "Calculate fairshare ranks from shares and usage",
	.details =
		"Needs no controller. TREE.csv ('-': standard input) has the columns\n"
		"id,parent_id,account,user,raw_shares,order,leaf_usage in any order. The row\n"
		"without parent_id is the root; a row without user is an account. raw_shares is\n"
		"a whole number or 'parent'; order (may be empty) is the place among siblings,\n"
		"which matters with --ties=slurm only.\n"
		"\n"
		"leaf_usage is the decayed usage of that row alone: 12, 0.5 or 1.5e10. It is\n"
		"computed exactly, or rounded to the 9th decimal where a tree needs more than 32\n"
		"digits before and behind the point together.\n"
		"\n"
		"Rows are printed in the order of the file, with the columns of sshare: six\n"
		"decimals, RawUsage in whole units. Fair Tree has a LevelFS, and no FairShare of\n"
		"accounts. With --ties=merge the order of rows never matters, and equal accounts\n"
		"have equal ranks; with --ties=slurm the output can be compared with sshare line\n"
		"by line.",
	.examples = "reeve fairshare --algorithm fair-tree --csv tree.csv\n"
		    "reeve fairshare --ties=slurm tree.csv | less",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_fairshare,
};
