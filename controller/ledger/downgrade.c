/* SPDX-License-Identifier: GPL-2.0-or-later */
/* downgrade.c - see downgrade.h. */
#include <errno.h>
#include <unistd.h>
#include "common/err.h"
#include "controller/ledger/downgrade.h"
#include "controller/ledger/lead.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/postgres/pg.h"

/* What undoes a migration, for both databases; `version` is what that one makes. Newest first. */
struct way_back {
	int version;
	const char *sql[8]; /* ends with NULL */
};
static const struct way_back ways_back[] = {
	{ 47, { "DROP TABLE outages" } },
	{ 46, { "ALTER TABLE nodes DROP COLUMN pids" } },
	{ 45,
	  { "UPDATE stored SET bytes = bytes - 64 * (SELECT COUNT(*) FROM depends d"
	    " JOIN jobs j ON j.job = d.job WHERE j.user = stored.user)" } },
	{ 44,
	  { "ALTER TABLE attempts DROP COLUMN rate_den",
	    "ALTER TABLE attempts DROP COLUMN rate_num",
	    "ALTER TABLE attempts DROP COLUMN node_cores" } },
	{ 43, { "DROP TABLE storage" } },
	{ 42,
	  { "DROP INDEX jobs_active_user", "DROP INDEX jobs_active_account",
	    "CREATE INDEX jobs_active_user ON jobs(user, state, job) WHERE state < 5",
	    "CREATE INDEX jobs_active_account ON jobs(account, state, job) WHERE state < 5" } },
};

static int undo_migrations(struct store *s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(ways_back); i++) {
		for (const char *const *sql = ways_back[i].sql; r >= 0 && *sql; sql++)
			r = db_run(s->db, err, *sql, "");
		if (r >= 0)
			r = db_set_schema(s->db, ways_back[i].version - 1, err);
	}
	return r;
}

int store_downgrade(const char *place, struct store_downgraded *ret, struct err *err)
{
	_cleanup_(store_lead_closep) struct store_lead *lead = NULL;
	_cleanup_(store_closep) struct store *s = NULL;
	int r;

	if (!pg_is_place(place) && access(place, F_OK) < 0)
		return err_set(err, -errno, "cannot open the ledger %.200s: %m", place);
	r = store_lead_take(place, "reeve admin downgrade", &lead, err);

	if (r >= 0)
		r = store_open(store_lead_place(lead), &s, err);
	if (r >= 0)
		r = db_begin(s->db, err);
	if (r >= 0)
		r = db_end(s->db, undo_migrations(s, err), err);
	if (r < 0)
		return r;
	*ret = (struct store_downgraded){ ways_back[0].version, STORE_SCHEMA_BEFORE };
	return 0;
}
