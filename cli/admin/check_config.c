/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_config.c - `reeve admin check-config`: every fault of a configuration file. */
#include <errno.h>
#include <string.h>
#include "cli/admin/admin.h"
#include "cli/admin/fault_report.h"
#include "common/err.h"
#include "controller/config/config.h"
#include "controller/config/ordering.h"
#include "controller/config/profile.h"

#define DEFAULT_FILE "/etc/reeve/controller.conf"

static const struct table_column key_columns[] = {
	{ "section", "SECTION", CELL_TEXT },	{ "key", "KEY", CELL_TEXT },
	{ "example", "EXAMPLE", CELL_TEXT },	{ "meaning", "MEANING", CELL_TEXT },
	{ "applied", "APPLIED BY", CELL_TEXT }, { 0 },
};

/* *ret is the path of a file, or of the shipped profile with that name. A file of that name in the
 * current directory comes first. */
static int find_config(const char *name, char **ret, struct err *err)
{
	if (!strchr(name, '/') && access(name, F_OK) < 0)
		return profile_find(name, ret, err);
	*ret = strdup(name);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int show_keys(const struct cli *c, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	int r = table_new("keys", key_columns, &t, err);

	if (r < 0)
		return r;
	for (const struct conf_key *k = config_all_keys(); k->key; k++) {
		table_row(t);
		table_text(t, "section", k->section);
		table_text(t, "key", k->key);
		table_text(t, "example", k->example);
		table_text(t, "meaning", k->help);
		table_text(t, "applied", k->reload == CONF_LIVE ? "reload" : "restart");
	}
	return table_print(t, &c->format, err);
}

static int check_examples(struct cli *c, const struct verb_call *call, struct err *err)
{
	_cleanup_free_ char *own = NULL;
	int r = call->n_args ? find_config(call->args[0], &own, err) : 0;

	return r < 0 ? r : admin_check_examples(c, verb_value(call, "examples"), own, err);
}

/* What is no fault, and still worth a line; for people. */
static void print_advice(const struct cli *c, const struct config *config)
{
	/* Agents retry after up to a minute: see NodeLost in docs/operation.md. */
	if (config->node_lost_s < 90)
		fprintf(c->format.to,
			"warning: NodeLost=%lld is below 90 s: a restart of the network alone "
			"may end jobs\n",
			(long long)config->node_lost_s);
	if (config_ordering_warning(config))
		fprintf(c->format.to, "warning: %s\n", config_ordering_warning(config));
	if (config->n_accounts)
		fputs("its [Account] sections are active until 'reeve admin accounts apply' stores "
		      "accounts in the ledger\n",
		      c->format.to);
}

static int check_file(struct cli *c, const char *path, struct err *err)
{
	_cleanup_(config_freep) struct config *config = NULL;
	struct fault_report report;
	int n, r = fault_report_open(c, "faults", &report, err);

	if (r < 0)
		return r;
	n = config_check(path, &(struct config_faults){ fault_report_add, &report }, &config,
			 err);
	if (n >= 0)
		c->exit_code = n ? CLI_FAILED : CLI_OK;
	if (n > 0 || (n == 0 && c->format.output != TABLE_TABLE))
		r = fault_report_finish(&report, path, n, err);
	table_free(report.table);
	if (n < 0 || r < 0 || c->format.output != TABLE_TABLE)
		return n < 0 ? n : r;
	if (n == 0) {
		cli_put(c->format.to, path);
		fprintf(c->format.to, ": no faults\n");
	}
	if (config)
		print_advice(c, config);
	return 0;
}

static int check_config(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r == 0 && verb_count(call, "examples"))
		return check_examples(c, call, err);
	if (r == 0 && verb_count(call, "keys"))
		return show_keys(c, err);
	if (r == 0)
		r = find_config(call->n_args ? call->args[0] : DEFAULT_FILE, &path, err);
	return r < 0 ? r : check_file(c, path, err);
}

static const struct verb_option options[] = {
	{ "examples", 0, "NAME",
	  "recompute the figures that a site has published (of a shipped profile, or a "
	  "file) under FILE or that profile, and list those that differ",
	  NULL },
	{ "keys", 0, NULL, "list all keys with an example and their meaning", NULL },
	{ 0 },
};

const struct verb admin_verb_check_config = {
	.name = "check-config",
	.args = "[FILE|PROFILE]",
	.help = "Check a configuration file, and list every fault by line",
	.details =
		"The file is read as the controller would read it, with its profile and its\n"
		".d directory. Default: " DEFAULT_FILE ". The exit status is\n"
		"1 when there is a fault.",
	.examples = "reeve admin check-config\n"
		    "reeve admin check-config ./controller.conf\n"
		    "reeve admin check-config alliance-narval\n"
		    "reeve admin check-config --keys\n"
		    "reeve admin check-config --examples rwth\n"
		    "reeve admin check-config ./controller.conf --examples alliance-narval",
	.options = options,
	.max_args = 1,
	.run = check_config,
};
