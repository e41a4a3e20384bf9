/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manifest.c - the manifest of a backup as JSON, and what it counts in a ledger; see backup_impl.h. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "common/err.h"
#include "common/owner/owner.h"
#include "common/replace_file.h"
#include "common/version.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/backup/backup_impl.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/verify/verify.h"

int backup_manifest_write(const char *path, const struct store_manifest *m, struct err *err)
{
	_cleanup_json_ json_t *doc = json_pack(
		"{s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:I}", "schema",
		WIRE_SCHEMA, "version", REEVE_VERSION, "ledger", m->ledger, "ledger_schema",
		(json_int_t)m->schema, "taken_ns", (json_int_t)m->taken_ns, "bytes",
		(json_int_t)m->bytes, "sha256", m->sha256, "jobs", (json_int_t)m->jobs,
		"imported", (json_int_t)m->imported, "attempts", (json_int_t)m->attempts,
		"last_job", (json_int_t)m->last_job, "charge_requested_ms",
		(json_int_t)m->charge_requested_ms, "charge_used_ms",
		(json_int_t)m->charge_used_ms, "verified", (int)m->is_verified, "differences",
		(json_int_t)m->differences);
	_cleanup_free_ char *text = doc ? wire_print(doc, JSON_INDENT(2)) : NULL;
	struct replace_file f = { .path = path, .text = text, .is_synced = true };
	int r;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	f.size = strlen(text);
	r = replace_file(&f, err);
	if (r >= 0 && chmod(path, 0600) < 0)
		r = err_set(err, -errno, "mode of %.200s: %m", path);
	return r;
}

static void copy_texts(struct store_manifest *m, const char *version, const char *ledger,
		       const char *sha256)
{
	snprintf(m->version, sizeof(m->version), "%s", version);
	snprintf(m->ledger, sizeof(m->ledger), "%s", ledger);
	snprintf(m->sha256, sizeof(m->sha256), "%s", sha256);
}

int backup_manifest_read(const char *path, struct store_manifest *ret, struct err *err)
{
	const char *schema, *version, *ledger, *sha256;
	json_int_t n[10];
	json_error_t why;
	int fd = owner_open(path);
	_cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	_cleanup_json_ json_t *doc = NULL;
	int verified;

	if (!f)
		return err_set(
			err, fd < 0 ? fd : -errno,
			"the backup has no manifest, %.200s: %s; a ledger that was copied by "
			"other means is put in its place, then marked: reeve admin restore --mark",
			path, strerror(fd < 0 ? -fd : errno));
	doc = wire_load_stream(f, 0, &why);
	if (!doc)
		return err_set(err, -EBADMSG, "%.200s is not readable: %s", path, why.text);
	if (json_unpack_ex(doc, &why, 0,
			   "{s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:I}",
			   "schema", &schema, "version", &version, "ledger", &ledger,
			   "ledger_schema", &n[0], "taken_ns", &n[1], "bytes", &n[2], "sha256",
			   &sha256, "jobs", &n[3], "imported", &n[4], "attempts", &n[5],
			   "last_job", &n[6], "charge_requested_ms", &n[7], "charge_used_ms",
			   &n[8], "verified", &verified, "differences", &n[9]) < 0 ||
	    strcmp(schema, WIRE_SCHEMA) != 0)
		return err_set(err, -EBADMSG, "%.200s is no manifest of a backup: %s", path,
			       why.text);
	*ret = (struct store_manifest){ .schema = n[0],
					.taken_ns = n[1],
					.bytes = n[2],
					.jobs = n[3],
					.imported = n[4],
					.attempts = n[5],
					.last_job = n[6],
					.charge_requested_ms = n[7],
					.charge_used_ms = n[8],
					.is_verified = verified != 0,
					.differences = n[9] };
	copy_texts(ret, version, ledger, sha256);
	return 0;
}

/* ---- figures of a ledger ---- */

/* SQLite's check of every page and index. */
static int check_pages(struct store *s, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, "PRAGMA integrity_check(1)", "");

	if (r <= 0)
		return r;
	r = strcmp(store_text(st, 0), "ok") == 0
		    ? 0
		    : err_set(err, -EBADMSG, "the copy is damaged, since the ledger is: %.300s",
			      store_text(st, 0));
	db_done(st);
	return r;
}

enum sum_column {
	SUM_JOBS,
	SUM_LAST,
	SUM_IMPORTED,
	SUM_ATTEMPTS,
	SUM_REQUESTED,
	SUM_USED,
};

static int count_rows(struct store *s, struct store_manifest *m, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT (SELECT COUNT(*) FROM jobs),"
		" (SELECT COALESCE(MAX(job), 0) FROM jobs WHERE job < " SQL_SLURM_FROM "),"
		" (SELECT COUNT(*) FROM imported), COUNT(*),"
		" COALESCE(SUM(charge_requested_ms), 0),"
		" COALESCE(SUM(charge_used_ms), 0) FROM attempts",
		"");

	if (r <= 0)
		return r;
	m->jobs = db_int(st, SUM_JOBS);
	m->last_job = db_int(st, SUM_LAST);
	m->imported = db_int(st, SUM_IMPORTED);
	m->attempts = db_int(st, SUM_ATTEMPTS);
	m->charge_requested_ms = db_int(st, SUM_REQUESTED);
	m->charge_used_ms = db_int(st, SUM_USED);
	db_done(st);
	return 0;
}

static int count_difference(void *ctx, const struct store_difference *d, struct err *err)
{
	(void)ctx;
	(void)d;
	(void)err;
	return 0;
}

int backup_count(struct store *s, struct store_manifest *m, struct err *err)
{
	struct store_verified n = { 0 };
	int r = m->is_verified ? check_pages(s, err) : 0;

	if (r >= 0)
		r = count_rows(s, m, err);
	if (r >= 0 && m->is_verified)
		r = store_verify(s, count_difference, NULL, &n, err);
	snprintf(m->ledger, sizeof(m->ledger), "%s", s->identity.id);
	m->differences = n.differences;
	return r < 0 ? r : 0;
}
