/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_import.c - reads a Slurm dump or a table as accounts, and writes a Slurm dump. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "cli/admin/accounts_change.h"
#include "cli/admin/accounts_import.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/accounts/foreign/csv.h"
#include "controller/accounts/foreign/sacctmgr.h"
#include "controller/config/config.h"
#include "controller/config/profile.h"

#define DUMP_MAX (256 << 20) /* bytes */

/* ---- reading ---- */

/* "-" is standard input. The text may have NULs, so its size comes with it. -EFBIG above DUMP_MAX. */
static int read_all(const char *path, char **ret, size_t *ret_size, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	FILE *from = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	size_t size = 0, room = 0;
	int bad = 0;

	if (!from)
		return err_set(err, -errno, "open %s: %m", path);
	while (!feof(from) && !bad && size < DUMP_MAX) {
		if (size == room) {
			char *more = realloc(text, room = room ? 2 * room : 65536);

			bad = more ? 0 : ENOMEM;
			text = more ? more : text;
		}
		if (!bad)
			size += fread(text + size, 1, room - size, from);
		if (!bad && ferror(from))
			bad = errno ? errno : EIO;
	}
	if (from != stdin)
		fclose(from);
	if (bad || size >= DUMP_MAX)
		return err_set(err, -(bad ? bad : EFBIG), "read %s: %s", path,
			       strerror(bad ? bad : EFBIG));
	*ret = TAKE_PTR(text);
	*ret_size = size;
	return 0;
}

static int read_sacctmgr(struct accounts_draft *d, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = read_all(d->file, &text, &size, err);

	return r < 0 ? r : accounts_sacctmgr_parse(d, text, size, err);
}

static const struct format {
	const char *name;
	int (*read)(struct accounts_draft *d, struct err *err);
} formats[] = { { "sacctmgr", read_sacctmgr }, { "csv", accounts_csv_read } };

static int read_draft(const struct verb_call *call, struct accounts_draft *d, struct err *err)
{
	accounts_draft_init(d, call->args[1]);
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, call->args[0]))
			return formats[i].read(d, err);
	return err_set(
		err, -EINVAL,
		"'%.40s' is not a format; write sacctmgr (what 'sacctmgr dump' writes) or "
		"csv",
		call->args[0]);
}

/* The draft's notes as an array of {what, why, n, line}; NULL: out of memory. */
static json_t *encode_notes(const struct accounts_draft *d)
{
	_cleanup_doc_ struct doc notes = doc_array();

	for (size_t i = 0; i < d->n_notes; i++)
		doc_add(&notes, json_pack("{s:s,s:s,s:I,s:I}", "what", d->notes[i].what, "why",
					  d->notes[i].why, "n", (json_int_t)d->notes[i].n,
					  "line", (json_int_t)d->notes[i].line));
	return doc_take(&notes);
}

/* ---- QOS ---- */

/* A QOS that accounts name. */
struct qos_named {
	char name[REQUEST_NAME_MAX];
	const char *account; /* the last that was counted */
	size_t n;	     /* accounts that name it */
};

struct qos_list {
	struct qos_named *of;
	size_t n;
};

/* Counts an account once, also where it names the QOS in its list and as its default: accounts come one after
 * the other. */
static int note_qos(struct qos_list *l, const char *name, size_t size, const char *account)
{
	struct qos_named *more;

	for (size_t i = 0; i < l->n; i++) {
		struct qos_named *q = &l->of[i];

		if (strncmp(q->name, name, size) != 0 || q->name[size])
			continue;
		q->n += strcmp(q->account, account) != 0;
		q->account = account;
		return 0;
	}
	more = realloc(l->of, (l->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	l->of = more;
	more[l->n] = (struct qos_named){ .account = account, .n = 1 };
	snprintf(more[l->n++].name, sizeof(more->name), "%.*s", (int)size, name);
	return 0;
}

/* Each QOS that an account names, with the number of accounts. -ENOMEM. */
static int list_qos(const struct accounts *a, struct qos_list *ret)
{
	int r = 0;

	for (size_t i = 0; i < a->n_accounts; i++) {
		const struct accounts_account *p = &a->accounts[i];
		const char *list = p->qos;

		while (list && *list && r == 0) {
			size_t n = strcspn(list, ",");

			r = note_qos(ret, list, n, p->name);
			list += n + (list[n] == ',');
		}
		if (*p->default_qos && r == 0)
			r = note_qos(ret, p->default_qos, strlen(p->default_qos), p->name);
	}
	return r;
}

/* *ret stays NULL without --profile. */
static int load_config(const struct verb_call *call, struct config **ret, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	const char *name = verb_value(call, "profile");
	int r = name ? profile_find(name, &path, err) : 0;

	return r < 0 || !name ? r : config_load(path, ret, err);
}

/* Lists the QOS without a [Qos NAME] section: jobs that have one are refused. A controller warns
 * by its own configuration, so this is for ledger files and --file. */
static int warn_of_qos(const struct verb_call *call, const struct accounts *new, json_t **ret,
		       struct err *err)
{
	_cleanup_(config_freep) struct config *config = NULL;
	struct qos_list l = { 0 };
	char text[512];
	int r = load_config(call, &config, err);

	*ret = json_array();
	if (r == 0 && (!*ret || list_qos(new, &l) < 0))
		r = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < l.n && r == 0; i++) {
		if (config && config_qos(config, l.of[i].name))
			continue;
		snprintf(
			text, sizeof(text), "QOS '%s' of %zu account%s %s a [Qos %s] section%s",
			l.of[i].name, l.of[i].n, l.of[i].n == 1 ? "" : "s",
			config ? "lacks" : "needs", l.of[i].name,
			config ? ": add it, or jobs that have this QOS are refused"
			       : " in controller.conf; --profile FILE says which ones lack it");
		if (json_array_append_new(*ret, json_string(text)) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	free(l.of);
	return r;
}

/* ---- --file: write accounts.conf ---- */

/* O_EXCL: an accounts.conf that is there is never overwritten. */
static int write_file(const char *path, const char *text, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), bad;
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");

	if (!to)
		return err_set(err, -errno, "write %s: %m%s", path,
			       errno == EEXIST ? "; remove it, or name another" : "");
	fputs(text, to);
	bad = ferror(to);
	if (fclose(to) != 0 || bad)
		return err_set(err, -EIO, "write %s: %m", path);
	return 0;
}

static int write_converted(struct cli *c, const struct verb_call *call,
			   struct accounts_draft *d, struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *notes = NULL, *warnings = NULL;
	const char *path = verb_value(call, "file");
	int r = accounts_draft_finish(d, NULL, &new, err);

	if (r == 0)
		r = warn_of_qos(call, new, &warnings, err);
	if (r == 0)
		r = accounts_write(new, &text, err);
	if (r == 0)
		r = write_file(path, text, err);
	if (r < 0)
		return r;
	notes = encode_notes(d);
	accounts_change_warnings(c, warnings);
	accounts_change_notes(c, notes);
	cli_put(c->format.to, path);
	fprintf(c->format.to,
		": %zu account%s; check it with 'reeve admin accounts check', "
		"then apply it\n",
		new->n_accounts, new->n_accounts == 1 ? "" : "s");
	return 0;
}

/* ---- --apply, or show the difference ---- */

int accounts_import_draft(struct accounts_source *s, struct accounts_draft *d,
			  const struct accounts_source_order *how, struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	_cleanup_json_ json_t *notes = NULL;
	struct accounts_source_order w = *how;
	int r = accounts_draft_finish(d, s->now, &new, err);

	if (r < 0)
		return r;
	w.new = new;
	notes = encode_notes(d);
	return accounts_change_make(s,
				    &(struct accounts_change_call){
					    &w, "yet: add --apply to change it", notes, NULL },
				    err);
}

static int apply_change(struct cli *c, const struct verb_call *call, struct accounts_draft *d,
			struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	_cleanup_json_ json_t *notes = NULL, *warnings = NULL;
	struct accounts_source_order w = { .is_dry_run = !verb_count(call, "apply") };
	int r = accounts_source_open_to_change(c, call, &s, err);

	if (r == 0)
		r = accounts_draft_finish(d, s.now, &new, err);
	if (r == 0 && s.store)
		r = warn_of_qos(call, new, &warnings, err);
	if (r == 0)
		r = accounts_change_revision(&s, call, &w.revision, err);
	if (r < 0)
		return r;
	w.new = new;
	notes = encode_notes(d);
	return accounts_change_make(
		&s,
		&(struct accounts_change_call){ &w, "yet: add --apply to change it", notes,
						warnings },
		err);
}

static int run_import(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d = { 0 };
	struct cli *c = ctx;
	bool is_file = verb_value(call, "file") != NULL;
	int r = 0;

	if (is_file && (verb_count(call, "apply") || verb_value(call, "ledger")))
		return err_set(err, -EINVAL,
			       "--file writes accounts.conf and changes nothing: leave --apply "
			       "and --ledger out");
	if (verb_value(call, "profile") && !is_file && !verb_value(call, "ledger"))
		return err_set(err, -EINVAL,
			       "--profile goes with --ledger or --file: a controller uses its "
			       "own configuration");
	if (is_file)
		r = cli_begin_offline(c, call, err);
	if (r == 0)
		r = read_draft(call, &d, err);
	if (r < 0)
		return r;
	return is_file ? write_converted(c, call, &d, err) : apply_change(c, call, &d, err);
}

/* ---- export ---- */

static int run_export(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_free_ char *text = NULL;
	const char *cluster = verb_value(call, "cluster");
	struct cli *c = ctx;
	int r;

	if (strcmp(call->args[0], "sacctmgr") != 0)
		return err_set(err, -EINVAL, "'%.40s' is not a format; write sacctmgr",
			       call->args[0]);
	r = accounts_source_open(c, call, &s, err);
	if (r == 0 && s.is_partial)
		return err_set(err, -EPERM,
			       "only operators may export accounts; ask one (Operators= in "
			       "controller.conf)");
	if (r == 0)
		r = accounts_sacctmgr_write(s.now, cluster ? cluster : "main", &text, err);
	if (r == 0)
		fputs(text, c->format.to);
	return r;
}

/* ---- verbs ---- */

static const struct verb_option import_options[] = {
	{ "apply", 0, NULL, "make the change; without it only show what would change", NULL },
	{ "file", 'f', "FILE", "write it as a new accounts.conf instead", NULL },
	{ "profile", 0, "NAME",
	  "with --ledger or --file: list the QOS that this configuration lacks", NULL },
	{ "revision", 0, "N", "refuse if the accounts have another revision by now", NULL },
	ACCOUNTS_LEDGER_OPTION,
	{ 0 },
};

const struct verb admin_verb_accounts_import = {
	.name = "import",
	.args = "sacctmgr|csv FILE",
	.help = "Import accounts from Slurm or from a table",
	.details =
		"sacctmgr: FILE is what 'sacctmgr dump CLUSTER FILE' wrote. csv: a header, then\n"
		"a line for each account or user of an account; columns account, parent,\n"
		"description, shares, user, user_shares, coordinator, default_account,\n"
		"running_cores, running_gpus, running_memory, running_jobs, queued_jobs. Without\n"
		"--apply nothing is changed. Accounts that the file lacks are removed;\n"
		"allocations and limits of queues stay. What Reeve cannot represent is listed\n"
		"with counts.",
	.examples = "reeve admin accounts import sacctmgr dump.cfg\n"
		    "reeve admin accounts import sacctmgr --apply dump.cfg\n"
		    "reeve admin accounts import csv --file accounts.conf groups.csv",
	.options = import_options,
	.min_args = 2,
	.max_args = 2,
	.run = run_import,
};

static const struct verb_option export_options[] = {
	{ "cluster", 0, "NAME", "the name in the dump; default: main", NULL },
	ACCOUNTS_LEDGER_OPTION,
	{ 0 },
};

const struct verb admin_verb_accounts_export = {
	.name = "export",
	.args = "sacctmgr",
	.help = "Print the accounts as a file that 'sacctmgr load' reads",
	.details =
		"Comments at the head of the file list, with counts, what a Slurm dump cannot\n"
		"represent.",
	.examples = "reeve admin accounts export sacctmgr > dump.cfg",
	.options = export_options,
	.min_args = 1,
	.max_args = 1,
	.run = run_export,
};
