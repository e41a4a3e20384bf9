/* SPDX-License-Identifier: GPL-2.0-or-later */
/* restore.c - makes a ledger of a backup; see backup.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/err.h"
#include "common/owner/owner.h"
#include "controller/ledger/backup/backup_impl.h"
#include "controller/ledger/lead.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/postgres/pg.h"

#define VERB "reeve admin restore"

struct restoring {
	const struct store_restoration *how;
	struct store_restored_result *out;
	int from; /* the backup */
	char part[STORE_BACKUP_PATH_MAX];
};

static int check_empty(const char *place, struct err *err)
{
	struct stat st;

	if (stat(place, &st) < 0)
		return errno == ENOENT ? backup_check_closed(place, err)
				       : err_set(err, -errno, "%.200s: %m", place);
	if (st.st_size == 0)
		return backup_check_closed(place, err);
	return err_set(err, -EEXIST,
		       "%.200s is a ledger: move it away (with %.100s-wal, if that is there), "
		       "then restore",
		       place, place);
}

static int copy_back(struct restoring *g, struct err *err)
{
	const struct store_manifest *m = &g->out->manifest;
	struct backup_digest digest;
	int r = backup_copy_file(g->from, g->part, &digest, err);

	if (r < 0)
		return r;
	if (digest.bytes == m->bytes && strcmp(digest.sha256, m->sha256) == 0)
		return 0;
	return err_set(err, -EBADMSG,
		       "%.200s is damaged: %" PRId64
		       " bytes with SHA-256 %s, its manifest has %" PRId64 " and %s",
		       g->how->from, digest.bytes, digest.sha256, m->bytes, m->sha256);
}

static int compare_sums(const struct store_manifest *is, const struct store_manifest *was,
			struct err *err)
{
	if (is->jobs == was->jobs && is->imported == was->imported &&
	    is->attempts == was->attempts && is->last_job == was->last_job &&
	    is->charge_requested_ms == was->charge_requested_ms &&
	    is->charge_used_ms == was->charge_used_ms && is->differences <= was->differences)
		return 0;
	return err_set(err, -EBADMSG,
		       "the restored ledger has %" PRId64 " jobs, %" PRId64
		       " attempts, charges of %" PRId64 " ms and %" PRId64
		       " differences; the manifest has %" PRId64 ", %" PRId64 ", %" PRId64
		       " and %" PRId64,
		       is->jobs, is->attempts, is->charge_requested_ms, is->differences,
		       was->jobs, was->attempts, was->charge_requested_ms, was->differences);
}

static int mark_restored(struct store *s, const struct store_restored *how,
			 int64_t *ret_first_job, struct err *err)
{
	int r = db_begin(s->db, err);

	return r < 0 ? r
		     : db_end(s->db, store_identity_restored(s, how, ret_first_job, err), err);
}

/* Opens the copy, which upgrades an older ledger, compares it, and marks it as restored. */
static int prepare_copy(struct restoring *g, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct store_manifest is = { .is_verified = g->how->is_verified };
	const struct store_restored how = { g->out->manifest.taken_ns, g->how->now_ns,
					    g->how->first_job };
	int r = store_open(g->part, &s, err);

	if (r >= 0)
		r = backup_count(s, &is, err);
	if (r >= 0)
		r = compare_sums(&is, &g->out->manifest, err);
	return r < 0 ? r : mark_restored(s, &how, &g->out->first_job, err);
}

static int give_name(struct restoring *g, struct err *err)
{
	int r = backup_check_closed(g->part, err);

	if (r >= 0)
		r = backup_sync_file(g->part, err);
	if (r >= 0 && rename(g->part, g->how->to) < 0)
		r = err_set(err, -errno, "rename %.200s to %.200s: %m", g->part, g->how->to);
	return r < 0 ? r : backup_sync_dir_of(g->how->to, err);
}

/* Root reads the backup, and then works as the owner of the ledger's directory. */
static int open_backup(struct restoring *g, struct err *err)
{
	char manifest[STORE_BACKUP_PATH_MAX];
	int r = backup_path(manifest, g->how->from, ".json", err);

	if (r >= 0)
		r = backup_manifest_read(manifest, &g->out->manifest, err);
	if (r < 0)
		return r;
	g->from = owner_open(g->how->from);
	if (g->from < 0)
		return err_set(err, g->from, "open %.200s: %s", g->how->from,
			       strerror(-g->from));
	return owner_become(g->how->to, err);
}

static int restore_opened(struct restoring *g, struct err *err)
{
	_cleanup_(store_lead_closep) struct store_lead *lead = NULL;
	int r = store_lead_take(g->how->to, VERB, &lead, err);

	if (r >= 0)
		r = check_empty(g->how->to, err);
	if (r < 0)
		return r;
	backup_unlink(g->part);
	r = copy_back(g, err);
	if (r >= 0)
		r = prepare_copy(g, err);
	if (r >= 0)
		r = give_name(g, err);
	if (r < 0)
		backup_unlink(g->part);
	return r;
}

int store_restore(const struct store_restoration *how, struct store_restored_result *ret,
		  struct err *err)
{
	struct restoring g = { .how = how, .out = ret, .from = -1 };
	int r;

	if (pg_is_place(how->to))
		return err_set(
			err, -ENOTSUP,
			"restore a ledger in PostgreSQL by pg_restore, then mark it: reeve "
			"admin restore --mark; or restore this backup into a file, and move "
			"that by reeve admin migrate");
	r = backup_path(g.part, how->to, ".restoring", err);
	if (r >= 0)
		r = open_backup(&g, err);
	if (r >= 0)
		r = restore_opened(&g, err);
	if (g.from >= 0)
		close(g.from);
	return r;
}

int store_restore_mark(const char *to, const struct store_restored *how, int64_t *ret_first_job,
		       struct err *err)
{
	_cleanup_(store_lead_closep) struct store_lead *lead = NULL;
	_cleanup_(store_closep) struct store *s = NULL;
	int r = store_lead_take(to, VERB, &lead, err);

	if (r >= 0)
		r = store_open(store_lead_place(lead), &s, err);
	return r < 0 ? r : mark_restored(s, how, ret_first_job, err);
}
