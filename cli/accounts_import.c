/* accounts_import.c - see accounts_import.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "cli/accounts_change.h"
#include "cli/accounts_import.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/accounts/accounts_csv.h"
#include "controller/accounts/accounts_sacctmgr.h"

#define DUMP_MAX (256 << 20)

/* ---- what is read ---- */

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
		"'%.40s' is not a format: it is sacctmgr (what 'sacctmgr dump' writes) or "
		"csv",
		call->args[0]);
}

static json_t *encode_notes(const struct accounts_draft *d)
{
	json_t *notes = json_array();

	for (size_t i = 0; notes && i < d->n_notes; i++)
		json_array_append_new(notes, json_pack("{s:s,s:s,s:I,s:I}", "what",
						       d->notes[i].what, "why", d->notes[i].why,
						       "n", (json_int_t)d->notes[i].n, "line",
						       (json_int_t)d->notes[i].line));
	return notes;
}

/* ---- as a file ---- */

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

static int convert(struct cli *c, const struct verb_call *call, struct accounts_draft *d,
		   struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *notes = NULL;
	const char *path = verb_value(call, "file");
	int r = accounts_draft_finish(d, NULL, &new, err);

	if (r == 0)
		r = accounts_write(new, &text, err);
	if (r == 0)
		r = write_file(path, text, err);
	if (r < 0)
		return r;
	notes = encode_notes(d);
	accounts_change_notes(c, notes);
	cli_put(c->format.to, path);
	fprintf(c->format.to,
		": %zu account%s; look at it with 'reeve admin accounts check', "
		"then apply it\n",
		new->n_accounts, new->n_accounts == 1 ? "" : "s");
	return 0;
}

/* ---- as a difference ---- */

static int change(struct cli *c, const struct verb_call *call, struct accounts_draft *d,
		  struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	_cleanup_json_ json_t *notes = NULL;
	struct accounts_wish w = { .is_dry_run = !verb_count(call, "apply") };
	int r = accounts_source_open(c, call, &s, err);

	if (r == 0 && s.is_partial)
		return err_set(err, -EPERM, "only operators change the accounts");
	if (r == 0)
		r = accounts_draft_finish(d, s.now, &new, err);
	if (r == 0)
		r = accounts_change_revision(&s, call, &w.revision, err);
	if (r < 0)
		return r;
	w.new = new;
	notes = encode_notes(d);
	return accounts_change_make(
		&s,
		&(struct accounts_change_call){ &w, "yet: add --apply to make it so", notes },
		err);
}

static int import(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d = { 0 };
	struct cli *c = ctx;
	bool is_file = verb_value(call, "file") != NULL;
	int r = 0;

	if (is_file && (verb_count(call, "apply") || verb_value(call, "ledger")))
		return err_set(err, -EINVAL,
			       "--file writes accounts.conf and changes nothing: leave --apply "
			       "and --ledger out");
	if (is_file)
		r = cli_begin_offline(c, call, err);
	if (r == 0)
		r = read_draft(call, &d, err);
	if (r < 0)
		return r;
	return is_file ? convert(c, call, &d, err) : change(c, call, &d, err);
}

/* ---- export ---- */

static int export(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_free_ char *text = NULL;
	const char *cluster = verb_value(call, "cluster");
	struct cli *c = ctx;
	int r;

	if (strcmp(call->args[0], "sacctmgr") != 0)
		return err_set(err, -EINVAL, "'%.40s' is not a format: it is sacctmgr",
			       call->args[0]);
	r = accounts_source_open(c, call, &s, err);
	if (r == 0 && s.is_partial)
		return err_set(err, -EPERM, "only operators export the accounts");
	if (r == 0)
		r = accounts_sacctmgr_write(s.now, cluster ? cluster : "main", &text, err);
	if (r == 0)
		fputs(text, c->format.to);
	return r;
}

/* ---- verbs ---- */

static const struct verb_option import_options[] = {
	{ "apply", 0, NULL, "make the change; without it only say what would change", NULL },
	{ "file", 'f', "FILE", "write it as a new accounts.conf instead", NULL },
	{ "revision", 0, "N", "only if the accounts still have this revision", NULL },
	ACCOUNTS_LEDGER_OPTION,
	{ 0 },
};

const struct verb accounts_verb_import = {
	.name = "import",
	.args = "sacctmgr|csv FILE",
	.help = "Take accounts over from Slurm or from a table",
	.details =
		"sacctmgr: what 'sacctmgr dump CLUSTER FILE' writes. csv: a header, then a "
		"line "
		"an\naccount or a user in one; columns account, parent, description, shares, "
		"user,\nuser_shares, coordinator, default_account, running_cores, "
		"running_gpus,\nrunning_memory, running_jobs, queued_jobs. Without --apply "
		"nothing is changed.\nAccounts that the file lacks go; allocations and limits "
		"of "
		"queues stay. What\nReeve has no place for is listed with counts.",
	.examples = "reeve admin accounts import sacctmgr dump.cfg\n"
		    "reeve admin accounts import sacctmgr --apply dump.cfg\n"
		    "reeve admin accounts import csv --file accounts.conf groups.csv",
	.options = import_options,
	.min_args = 2,
	.max_args = 2,
	.run = import,
};

static const struct verb_option export_options[] = {
	{ "cluster", 0, "NAME", "the name in the dump; default: main", NULL },
	ACCOUNTS_LEDGER_OPTION,
	{ 0 },
};

const struct verb accounts_verb_export = {
	.name = "export",
	.args = "sacctmgr",
	.help = "Print the accounts as a file that 'sacctmgr load' reads",
	.details = "What a dump of Slurm's cannot say stands in comments at its head, with "
		   "counts.",
	.examples = "reeve admin accounts export sacctmgr > dump.cfg",
	.options = export_options,
	.min_args = 1,
	.max_args = 1,
	.run = export,
};
