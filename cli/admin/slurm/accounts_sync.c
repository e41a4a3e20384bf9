/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_sync.c - compares Reeve's accounts with those of slurmdbd, and changes the side that is not the master.
 *
 * The master is by configuration: Accounts= of the cluster in controller.conf. Where it is Reeve, what Slurm could have of its
 * accounts (written as a dump, and read again) is compared with what Slurm has, so that what a dump cannot state is no difference.
 * Differences are removed in two steps, since `sacctmgr load` adds and changes thousands at once but removes and clears nothing.
 */
#include <errno.h>
#include <string.h>
#include "cli/admin/accounts_import.h"
#include "cli/admin/accounts_change.h"
#include "cli/admin/slurm/accounts_sync.h"
#include "cli/admin/slurm/sacctmgr_run.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/accounts/foreign/sacctmgr.h"
#include "controller/accounts/foreign/sacctmgr_plan.h"

struct accounts_sync {
	struct cli *c;
	struct accounts_source source;
	const char *cluster;
	bool is_apply;
	char *want_text; /* of Reeve's accounts, as sacctmgr loads it */
	struct accounts *want, *have;
	json_t *clusters; /* the answer of /v1/cluster */
};

static void sync_done(struct accounts_sync *s)
{
	accounts_source_done(&s->source);
	free(s->want_text);
	accounts_free(s->want);
	accounts_free(s->have);
	json_decref(s->clusters);
}

/* ---- the master ---- */

/* *ret: "slurm" or "reeve". -ENOENT: controller.conf has no such cluster, or another program than Slurm schedules it. */
static int find_master(struct accounts_sync *s, char ret[static 8], struct err *err)
{
	const json_t *one;
	size_t i, found = 0;
	int r = cli_get(s->c, "/v1/cluster", &s->clusters, err);

	if (r < 0)
		return r;
	json_array_foreach(json_object_get(s->clusters, "clusters"), i, one)
	{
		const char *name = cli_text(one, "cluster");
		const char *master = cli_text(one, "slurm_accounts");

		if (!name || strcmp(name, s->cluster) != 0 || !master)
			continue;
		snprintf(ret, 8, "%s", master);
		found++;
	}
	if (!found)
		return err_set(err, -ENOENT, "no cluster '%.63s' of Slurm in controller.conf",
			       s->cluster);
	return 0;
}

/* --to names the side that is to be changed: never the master. */
static int check_side(const struct accounts_sync *s, const char *master, const char *to,
		      struct err *err)
{
	if (!to || strcmp(to, master) != 0)
		return 0;
	return err_set(err, -EPERM,
		       "the accounts of cluster '%s' are declared in %s (Accounts = %s in "
		       "controller.conf): sync changes the other side only",
		       s->cluster, !strcmp(master, "slurm") ? "slurmdbd" : "Reeve", master);
}

/* ---- both sides ---- */

/* Parses a dump as accounts, and frees those that *ret had. What no dump can state is taken from Reeve's accounts. */
static int read_dump(struct accounts_sync *s, const char *name, const char *text,
		     struct accounts **ret, struct err *err)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d = { 0 };
	int r;

	accounts_draft_init(&d, name);
	r = accounts_sacctmgr_parse(&d, text, strlen(text), err);
	if (r < 0)
		return r;
	accounts_free(*ret);
	*ret = NULL;
	return accounts_draft_finish(&d, s->source.now, ret, err);
}

/* s->have: what slurmdbd has now. */
static int read_slurm(struct accounts_sync *s, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = sacctmgr_run_dump(s->cluster, &text, &size, err);

	return r < 0 ? r : read_dump(s, "sacctmgr dump", text, &s->have, err);
}

/* sacctmgr converts names to lower case: an account with upper-case letters would differ for ever. */
static int check_names(const struct accounts *a, struct err *err)
{
	for (size_t i = 0; i < a->n_accounts; i++)
		for (const char *p = a->accounts[i].name; *p; p++)
			if (*p >= 'A' && *p <= 'Z')
				return err_set(
					err, -EINVAL,
					"account '%s' has upper-case letters, which Slurm "
					"converts to lower case: rename it",
					a->accounts[i].name);
	return 0;
}

/* s->want: what slurmdbd would have if it had loaded Reeve's accounts. */
static int read_reeve(struct accounts_sync *s, struct err *err)
{
	int r = check_names(s->source.now, err);

	if (r >= 0)
		r = accounts_sacctmgr_write(s->source.now, s->cluster, &s->want_text, err);
	return r < 0 ? r : read_dump(s, "Reeve's accounts", s->want_text, &s->want, err);
}

/* ---- the difference ---- */

/* *ret has the changes that Slurm is to make, at the front. */
static int find_difference(const struct accounts_sync *s, struct accounts_diff **ret,
			   struct err *err)
{
	size_t n = 0;
	int r = accounts_diff(s->have, s->want, ret, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < (*ret)->n; i++)
		if (sacctmgr_plan_counts(&(*ret)->changes[i]))
			(*ret)->changes[n++] = (*ret)->changes[i];
	(*ret)->n = n;
	return 0;
}

static json_t *encode_change(const struct accounts_change *c)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "op", accounts_change_op_name(c->op));
	doc_text(&d, "section", c->section);
	doc_text(&d, "name", c->name);
	doc_text_if(&d, "key", c->key);
	doc_text_if(&d, "item", c->item);
	doc_text_if(&d, "old", c->old_value);
	doc_text_if(&d, "new", c->new_value);
	return doc_take(&d);
}

static int show_difference(const struct accounts_sync *s, const struct accounts_diff *d,
			   struct err *err)
{
	_cleanup_doc_ struct doc doc = doc_message(), list = doc_array();
	_cleanup_json_ json_t *whole = NULL;
	int r;

	for (size_t i = 0; i < d->n; i++)
		doc_add(&list, encode_change(&d->changes[i]));
	doc_text(&doc, "cluster", s->cluster);
	doc_text(&doc, "changed", "slurm");
	doc_bool(&doc, "applied", s->is_apply);
	doc_set(&doc, "changes", doc_take(&list));
	r = doc_finish(&doc, &whole, err);
	return r < 0 ? r : accounts_change_table(s->c, whole, err);
}

/* ---- to Slurm ---- */

struct failures {
	size_t n;
	struct err first;
};

/* Counts a command that fails, and keeps the first error: the other commands are run all the same. -ENOENT: there is no sacctmgr. */
static int run_command(void *ctx, const char *const *args, struct err *err)
{
	struct failures *f = ctx;
	struct err why = { "" };
	int r = sacctmgr_run(args, &why);

	if (r == -ENOENT)
		return err_set(err, r, "%s", why.text);
	if (r < 0 && f->n++ == 0)
		f->first = why;
	return 0;
}

/* Frees *d, and makes it the difference that is left. */
static int compare_again(struct accounts_sync *s, struct accounts_diff **d, struct err *err)
{
	int r = read_slurm(s, err);

	accounts_diff_free(*d);
	*d = NULL;
	return r < 0 ? r : find_difference(s, d, err);
}

/* Loads all, then makes single changes for what a load cannot remove or clear, and compares after each step:
 * what sacctmgr prints is not relied on. -EIO: differences are left, with the first error of a command. */
static int apply_difference(struct accounts_sync *s, struct accounts_diff **d, struct err *err)
{
	struct failures failed = { .n = 0 };
	int r = sacctmgr_run_load(s->cluster, s->want_text, err);

	if (r >= 0)
		r = compare_again(s, d, err);
	if (r >= 0 && (*d)->n == 0)
		return 0;
	if (r >= 0)
		r = sacctmgr_plan(
			&(struct sacctmgr_plan){ s->have, s->cluster, run_command, &failed },
			*d, err);
	if (r >= 0)
		r = compare_again(s, d, err);
	if (r < 0 || (*d)->n == 0)
		return r;
	return err_set(err, -EIO,
		       "%zu difference%s left: sync without --apply shows them%s%.300s",
		       (*d)->n, (*d)->n == 1 ? " is" : "s are", failed.n ? "; " : "",
		       failed.first.text);
}

/* Shows the differences, and with --apply removes them. */
static int sync_to_slurm(struct accounts_sync *s, struct err *err)
{
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
	bool is_table = s->c->format.output == TABLE_TABLE;
	size_t n;
	int r = read_reeve(s, err);

	if (r >= 0)
		r = read_slurm(s, err);
	if (r >= 0)
		r = find_difference(s, &d, err);
	if (r >= 0)
		r = show_difference(s, d, err);
	if (r < 0)
		return r;
	n = d->n;
	if (n == 0 && is_table)
		fprintf(s->c->format.to, "no differences\n");
	if (n && !s->is_apply && is_table)
		fprintf(s->c->format.to,
			"%zu difference%s; nothing was changed in slurmdbd yet: add --apply\n",
			n, n == 1 ? "" : "s");
	if (n == 0 || !s->is_apply)
		return 0;
	r = apply_difference(s, &d, err);
	if (r >= 0 && is_table)
		fprintf(s->c->format.to,
			"%zu change%s made in slurmdbd; no difference is left\n", n,
			n == 1 ? "" : "s");
	return r;
}

/* ---- to Reeve ---- */

/* Reeve has one set of accounts for all clusters: it may become that of this cluster only where each other cluster has the same. -EINVAL
 * with the first difference. */
static int compare_cluster(struct accounts_sync *s, const json_t *other, struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *theirs = NULL;
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
	const char *name = cli_text(other, "cluster"),
		   *from = cli_text(other, "slurm_accounts");
	_cleanup_free_ char *text = NULL;
	const struct accounts_change *c;
	size_t size = 0;
	int r;

	if (!from || strcmp(from, "slurm") != 0)
		return err_set(err, -EINVAL,
			       "the accounts of cluster '%s' are not declared in slurmdbd, and "
			       "Reeve's accounts are those of all clusters: those that Slurm's "
			       "cluster '%s' lacks would be removed; set Accounts = reeve in "
			       "[Cluster %s], or use 'reeve admin accounts import'",
			       name, s->cluster, s->cluster);
	r = sacctmgr_run_dump(name, &text, &size, err);
	if (r >= 0)
		r = read_dump(s, "sacctmgr dump", text, &theirs, err);
	if (r >= 0)
		r = accounts_diff(s->have, theirs, &d, err);
	if (r < 0 || d->n == 0)
		return r;
	c = &d->changes[0];
	return err_set(
		err, -EINVAL,
		"Slurm's clusters '%s' and '%s' differ in %zu statements, the first one is "
		"[%s %s]%s%s%s%s: Reeve's accounts are those of all clusters; make them "
		"alike with sacctmgr",
		s->cluster, name, d->n, c->section, c->name, c->key ? " " : "",
		c->key ? c->key : "", c->item ? " " : "", c->item ? c->item : "");
}

static int compare_clusters(struct accounts_sync *s, struct err *err)
{
	const json_t *list = json_object_get(s->clusters, "clusters"), *one;
	int r = json_array_size(list) > 1 ? read_slurm(s, err) : 0;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (r >= 0 && strcmp(cli_text(one, "cluster"), s->cluster) != 0)
			r = compare_cluster(s, one, err);
	}
	return r;
}

/* As `reeve admin accounts import sacctmgr`, with a dump that is made here. */
static int sync_to_reeve(struct accounts_sync *s, struct err *err)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d = { 0 };
	const struct accounts_source_order how = { .revision = s->source.revision,
						   .is_dry_run = !s->is_apply };
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = compare_clusters(s, err);

	if (r >= 0)
		r = sacctmgr_run_dump(s->cluster, &text, &size, err);
	accounts_draft_init(&d, "sacctmgr dump");
	if (r >= 0)
		r = accounts_sacctmgr_parse(&d, text, size, err);
	return r < 0 ? r : accounts_import_draft(&s->source, &d, &how, err);
}

static int run_sync(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(sync_done) struct accounts_sync s = {
		.c = ctx, .cluster = call->args[0], .is_apply = verb_count(call, "apply") > 0
	};
	char master[8] = "";
	int r = accounts_source_open(s.c, call, &s.source, err);

	if (r >= 0 && s.source.is_partial)
		return err_set(err, -EPERM,
			       "only operators may compare accounts; ask one (Operators= in "
			       "controller.conf)");
	if (r >= 0)
		r = find_master(&s, master, err);
	if (r >= 0)
		r = check_side(&s, master, verb_value(call, "to"), err);
	if (r < 0)
		return r;
	return !strcmp(master, "slurm") ? sync_to_reeve(&s, err) : sync_to_slurm(&s, err);
}

static const struct verb_option sync_options[] = {
	{ "apply", 0, NULL, "make the change; without it only show the differences", NULL },
	{ "to", 0, "slurm|reeve", "the side to change; an error where that one is the master",
	  "slurm reeve" },
	{ 0 },
};

const struct verb admin_verb_accounts_sync = {
	.name = "sync",
	.args = "CLUSTER",
	.help = "Bring the accounts of Reeve and of a Slurm cluster in step",
	.details =
		"The side that declares accounts is the master: Accounts = slurm or reeve in\n"
		"[Cluster NAME] of controller.conf. The other one is changed: accounts, users,\n"
		"shares, limits, coordinators. Needs Slurm's sacctmgr, and the rights of an\n"
		"operator in Reeve and of an administrator in Slurm. Without --apply nothing is\n"
		"changed. Descriptions, QOS and default accounts that Reeve does not state stay\n"
		"as Slurm has them.",
	.examples = "reeve admin accounts sync vc\nreeve admin accounts sync vc --apply",
	.options = sync_options,
	.min_args = 1,
	.max_args = 1,
	.run = run_sync,
};
