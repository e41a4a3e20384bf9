/* verb_fairshare.c - `reeve fairshare`: what a tree of shares and usage gives, without a
 * controller. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/fairshare_file.h"
#include "common/err.h"
#include "common/wire/wire.h"

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

/* ---- what was asked ---- */

static int read_dampening(const char *text, double *ret, struct err *err)
{
	char *end;

	*ret = strtod(text, &end);
	if (end == text || *end || !(*ret > 0) || isinf(*ret))
		return err_set(err, -EINVAL, "--dampening %.32s: it is a number above 0", text);
	return 0;
}

static int read_choice(const struct verb_call *call, struct choice *ret, struct err *err)
{
	const char *algorithm = verb_value(call, "algorithm"), *ties = verb_value(call, "ties"),
		   *dampening = verb_value(call, "dampening");

	*ret = (struct choice){ .ties = FAIRSHARE_TIES_MERGE, .dampening = 1 };
	if (algorithm && strcmp(algorithm, "fair-tree") && strcmp(algorithm, "classic"))
		return err_set(err, -EINVAL,
			       "--algorithm %.32s: it is one of fair-tree, classic", algorithm);
	ret->classic = algorithm && !strcmp(algorithm, "classic");
	if (ties && strcmp(ties, "merge") && strcmp(ties, "slurm"))
		return err_set(err, -EINVAL, "--ties %.32s: it is one of merge, slurm", ties);
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

/* As sshare has them: six decimals. */
static const char *format_real(double v, char buf[static TABLE_CELL_MAX])
{
	if (isnan(v))
		return NULL;
	if (isinf(v))
		return "inf";
	/* 39 digits before the point are possible. */
	snprintf(buf, TABLE_CELL_MAX, "%.6f", v);
	return buf;
}

/* Whole units, cut, as sshare does. */
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

/* ---- for people, csv and raw ---- */

static void put_real(struct table *t, const char *column, double v)
{
	char buf[TABLE_CELL_MAX];

	table_text(t, column, format_real(v, buf));
}

static void add_row(struct table *t, const struct fairshare_file *f, size_t row,
		    const struct fairshare_result *r)
{
	const struct fairshare_name *name = &f->names[row];
	char buf[TABLE_CELL_MAX];

	table_row(t);
	table_text(t, "id", name->id);
	table_text(t, "account", name->account);
	table_text(t, "user", *name->user ? name->user : NULL);
	table_text(t, "RawShares", *name->raw_shares ? name->raw_shares : NULL);
	put_real(t, "NormShares", r->norm_shares);
	table_text(t, "RawUsage", format_usage(r->raw_usage, f->unit, buf));
	put_real(t, "NormUsage", r->norm_usage);
	put_real(t, "EffectvUsage", r->effective_usage);
	put_real(t, "LevelFS", r->level_fs);
	put_real(t, "FairShare", r->fairshare);
}

static int print_table(const struct cli *c, const struct fairshare_file *f,
		       const struct fairshare_result *results, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	int r = table_new("rows", columns, &t, err);

	for (size_t i = 0; r == 0 && i < f->n; i++)
		add_row(t, f, i, &results[i]);
	return r < 0 ? r : table_print(t, &c->format, err);
}

/* ---- json: figures are numbers with the digits that the table shows ---- */

static int put_text(FILE *to, const char *key, const char *text, struct err *err)
{
	_cleanup_json_ json_t *j = json_string(text);

	if (!j)
		return err_set(err, -EINVAL, "%s '%.64s' is not UTF-8, as json has to be", key,
			       text);
	fprintf(to, "\"%s\": ", key);
	json_dumpf(j, to, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	return 0;
}

static void put_number(FILE *to, const char *key, const char *text)
{
	const char *quote = text && !strcmp(text, "inf") ? "\"" : "";

	if (text)
		fprintf(to, ", \"%s\": %s%s%s", key, quote, text, quote);
}

static int put_names(FILE *to, const struct fairshare_file *f, size_t row, struct err *err)
{
	const struct fairshare_name *name = &f->names[row];
	int r = put_text(to, "id", name->id, err);

	fputs(", ", to);
	if (r == 0)
		r = put_text(to, "account", name->account, err);
	fputs(", ", to);
	if (r == 0)
		r = put_text(to, "user", name->user, err);
	if (f->rows[row].raw_shares == FAIRSHARE_PARENT)
		fputs(", \"RawShares\": \"parent\"", to);
	else if (*name->raw_shares)
		fprintf(to, ", \"RawShares\": %" PRId64, f->rows[row].raw_shares);
	return r;
}

static void put_figures(FILE *to, const struct fairshare_file *f,
			const struct fairshare_result *r)
{
	char buf[TABLE_CELL_MAX];

	put_number(to, "NormShares", format_real(r->norm_shares, buf));
	put_number(to, "RawUsage", format_usage(r->raw_usage, f->unit, buf));
	put_number(to, "NormUsage", format_real(r->norm_usage, buf));
	put_number(to, "EffectvUsage", format_real(r->effective_usage, buf));
	put_number(to, "LevelFS", format_real(r->level_fs, buf));
	put_number(to, "FairShare", format_real(r->fairshare, buf));
}

/* All of it or nothing is printed. */
static int print_json(const struct cli *c, const struct fairshare_file *f,
		      const struct fairshare_result *results, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to;
	int r = 0;

	if (c->format.columns)
		return err_set(err, -EINVAL,
			       "--columns is for the table, csv and raw; json has "
			       "every figure");
	to = open_memstream(&text, &size);
	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	fprintf(to, "{\"schema\": \"%s\", \"rows\": [", WIRE_SCHEMA);
	for (size_t i = 0; r == 0 && i < f->n; i++) {
		fputs(i ? ",\n{" : "\n{", to);
		r = put_names(to, f, i, err);
		put_figures(to, f, &results[i]);
		fputc('}', to);
	}
	fputs("\n]}\n", to);
	if (fclose(to) && r == 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		fwrite(text, 1, size, c->format.to);
	return r;
}

/* ---- the verb ---- */

static int compute(const struct choice *choice, const struct fairshare_file *f,
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

static int fairshare(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(fairshare_file_done) struct fairshare_file f = { .n = 0 };
	_cleanup_free_ struct fairshare_result *results = NULL;
	struct choice choice;
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	setlocale(LC_NUMERIC, "C"); /* what is printed is for programs too */
	if (r == 0)
		r = read_choice(call, &choice, err);
	if (r == 0)
		r = fairshare_file_load(call->args[0], &f, err);
	if (r == 0)
		r = compute(&choice, &f, &results, err);
	if (r < 0)
		return r;
	return c->format.output == TABLE_JSON ? print_json(c, &f, results, err)
					      : print_table(c, &f, results, err);
}

const struct verb cli_verb_fairshare = {
	.name = "fairshare",
	.args = "TREE.csv",
	.help = "Say what shares and usage give, and in which order users come",
	.details =
		"Needs no controller. TREE.csv ('-': standard input) has the columns\n"
		"id,parent_id,account,user,raw_shares,order,leaf_usage in any order. The row\n"
		"without parent_id is the root; a row without user is an account. raw_shares "
		"is\n"
		"a whole number or 'parent'; order (may be empty) is the place among "
		"siblings,\n"
		"which decides with --ties=slurm only.\n"
		"\n"
		"leaf_usage is the decayed usage of that very row: 12, 0.5 or 1.5e10. It is "
		"held\n"
		"exactly; where a tree needs more than 32 digits before and behind the point\n"
		"together, it is rounded to the 9th decimal.\n"
		"\n"
		"Rows stay in their order. Figures are those of sshare: six decimals, "
		"RawUsage\n"
		"in whole units; an account has no FairShare in Fair Tree, and only there a\n"
		"LevelFS. With --ties=merge, order never matters and equal means equal; with\n"
		"--ties=slurm, the figures can be compared with sshare line by line.",
	.examples = "reeve fairshare --algorithm fair-tree --csv tree.csv\n"
		    "reeve fairshare --ties=slurm tree.csv | less",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = fairshare,
};
