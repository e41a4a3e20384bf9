/* SPDX-License-Identifier: GPL-2.0-or-later */
/* storage.c - writes, reads and removes what accounts occupy on file systems; see usage/storage.h. */
#include "common/err.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/storage.h"

static const char put_sql[] =
	"INSERT INTO storage(account, filesystem, bytes, files, limit_bytes, limit_files, at_ns)"
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
	" ON CONFLICT(account, filesystem) DO UPDATE SET bytes = excluded.bytes,"
	" files = excluded.files, limit_bytes = excluded.limit_bytes,"
	" limit_files = excluded.limit_files, at_ns = excluded.at_ns"
	" WHERE excluded.at_ns >= storage.at_ns";

static int put_rows(struct store *s, const struct store_storage *rows, size_t n,
		    int64_t *ret_stored, struct err *err)
{
	*ret_stored = 0;
	for (size_t i = 0; i < n; i++) {
		const struct store_storage *row = &rows[i];
		int r = db_run(s->db, err, put_sql, "ttiiiii", row->account, row->filesystem,
			       row->bytes, row->files, row->limit_bytes, row->limit_files,
			       row->at_ns);

		if (r < 0)
			return r;
		*ret_stored += db_changes(s->db);
	}
	return 0;
}

int store_storage_put(struct store *s, const struct store_storage *rows, size_t n,
		      int64_t *ret_stored, struct err *err)
{
	int r = db_begin(s->db, err);

	return r < 0 ? r : db_end(s->db, put_rows(s, rows, n, ret_stored, err), err);
}

/* clang-format off */
#define STORAGE_COLUMNS(X) \
	X(STORAGE_ACCOUNT,     "account") \
	X(STORAGE_FILESYSTEM,  ", filesystem") \
	X(STORAGE_BYTES,       ", bytes") \
	X(STORAGE_FILES,       ", files") \
	X(STORAGE_LIMIT_BYTES, ", limit_bytes") \
	X(STORAGE_LIMIT_FILES, ", limit_files") \
	X(STORAGE_AT_NS,       ", at_ns")
/* clang-format on */
enum { STORAGE_COLUMNS(SQL_NAME) };

int store_storage_each(struct store *s, const char *account, store_storage_fn fn, void *ctx,
		       struct err *err)
{
	struct db_row *st;
	int r = db_query(
		s->db, err, &st,
		"SELECT " STORAGE_COLUMNS(SQL_COLUMN) " FROM storage"
						      " WHERE account = ?1 ORDER BY filesystem",
		"t", account);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct store_storage row = {
			.account = store_text(st, STORAGE_ACCOUNT),
			.filesystem = store_text(st, STORAGE_FILESYSTEM),
			.bytes = db_int(st, STORAGE_BYTES),
			.files = db_int(st, STORAGE_FILES),
			.limit_bytes = db_int(st, STORAGE_LIMIT_BYTES),
			.limit_files = db_int(st, STORAGE_LIMIT_FILES),
			.at_ns = db_int(st, STORAGE_AT_NS),
		};

		r = fn(ctx, &row, err);
		if (r < 0)
			db_done(st);
	}
	return r < 0 ? r : 0;
}

static int remove_rows(struct store *s, const char *filesystem, int64_t *ret_removed,
		       struct err *err)
{
	int r = db_run(s->db, err, "DELETE FROM storage WHERE filesystem = ?1", "t",
		       filesystem);

	if (r < 0)
		return r;
	*ret_removed = db_changes(s->db);
	return 0;
}

int store_storage_remove(struct store *s, const char *filesystem, int64_t *ret_removed,
			 struct err *err)
{
	int r = db_begin(s->db, err);

	return r < 0 ? r : db_end(s->db, remove_rows(s, filesystem, ret_removed, err), err);
}
