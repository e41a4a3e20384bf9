/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocation_note.c - notes once that a part of an allocation is used; see ledger/allocation_note.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/allocation_note.h"

#define KEY_MAX 256
#define VALUE_MAX 160

/* The part that was noted last in this period; 0: none. */
static int load_noted(struct store *s, const char *key, const char *period, int64_t *ret,
		      struct err *err)
{
	size_t n = strlen(period);
	struct db_row *st;
	const char *value;
	int r = db_query_first(s->db, err, &st, "SELECT value FROM meta WHERE key = ?1", "t",
			       key);

	*ret = 0;
	if (r <= 0)
		return r;
	value = store_text(st, 0);
	if (!strncmp(value, period, n) && value[n] == ' ')
		*ret = strtoll(value + n + 1, NULL, 10);
	db_done(st);
	return 0;
}

static int write_note(struct store *s, const char *key, const struct store_allocation_note *n,
		      struct err *err)
{
	const struct store_event e = { n->now_ns, 0, "", "allocation", n->document };
	char value[VALUE_MAX];
	int r;

	snprintf(value, sizeof(value), "%s %" PRId64, n->period, n->percent);
	r = db_run(s->db, err,
		   "INSERT INTO meta(key, value) VALUES(?1, ?2)"
		   " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
		   "tt", key, value);
	return r < 0 ? r : store_event(s, &e, err);
}

int store_allocation_note(struct store *s, const struct store_allocation_note *n,
			  struct err *err)
{
	char key[KEY_MAX];
	int64_t noted;
	int r;

	snprintf(key, sizeof(key), "allocation/%s", n->allocation);
	r = load_noted(s, key, n->period, &noted, err);
	if (r < 0 || noted >= n->percent)
		return r;
	r = store_begin(s, err);
	if (r < 0)
		return r;
	r = write_note(s, key, n, err);
	if (r >= 0)
		return store_commit(s, err) < 0 ? -EIO : 1;
	store_rollback(s);
	return r;
}
