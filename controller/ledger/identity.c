/* SPDX-License-Identifier: GPL-2.0-or-later */
/* identity.c - the number of a ledger; see identity.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "common/clock.h"
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"

const struct store_identity *store_identity(const struct store *s)
{
	return &s->identity;
}

static int make_id(struct store *s, struct err *err)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return err_set(err, -errno, "random bytes: %m");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(s->identity.id + 2 * i, 3, "%02x", bytes[i]);
	return db_run(s->db, err,
		      "INSERT INTO meta(key, value) VALUES('ledger', ?1)"
		      " ON CONFLICT(key) DO NOTHING",
		      "t", s->identity.id);
}

enum meta_column { META_KEY, META_VALUE };

static void read_meta(struct store_identity *id, const char *key, const char *value)
{
	if (strcmp(key, "ledger") == 0)
		snprintf(id->id, sizeof(id->id), "%s", value);
	else if (strcmp(key, "restored_ns") == 0)
		id->restored_ns = strtoll(value, NULL, 10);
	else if (strcmp(key, "taken_ns") == 0)
		id->taken_ns = strtoll(value, NULL, 10);
}

static int read_identity(struct store *s, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT key, value FROM meta"
			 " WHERE key IN ('ledger', 'restored_ns', 'taken_ns')",
			 "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		read_meta(&s->identity, db_text(st, META_KEY), db_text(st, META_VALUE));
	return r;
}

/* Two programs may open a new ledger at once: that of the first counts. */
int store_identity_load(struct store *s, struct err *err)
{
	int r;

	s->identity = (struct store_identity){ .opened_ns = clock_ns(CLOCK_MONOTONIC) };
	r = read_identity(s, err);
	if (r < 0 || *s->identity.id)
		return r;
	r = make_id(s, err);
	return r < 0 ? r : read_identity(s, err);
}
