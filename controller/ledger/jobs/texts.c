/* SPDX-License-Identifier: GPL-2.0-or-later */
/* texts.c - stores large texts once for each user, counts the rows that have them, and counts the bytes
 * that each user fills. See jobs/texts.h and stored.h. */
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/jobs/stored.h"
#include "controller/ledger/jobs/texts.h"

#define DIGEST_HEX (2 * SHA256_DIGEST_SIZE + 1)

static void digest_of(const char *text, char hex[static DIGEST_HEX])
{
	uint8_t raw[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, strlen(text), (const uint8_t *)text);
	sha256_digest(&sha, sizeof(raw), raw);
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(hex + 2 * i, 3, "%02x", raw[i]);
}

static int add_bytes(struct store *s, const char *user, int64_t bytes, struct err *err)
{
	return db_run(s->db, err,
		      "INSERT INTO stored(user, bytes) VALUES(?1, ?2)"
		      " ON CONFLICT(user) DO UPDATE SET bytes = stored.bytes + excluded.bytes",
		      "ti", user, bytes);
}

/* 1: the user has such a text; *ret: its id. */
static int find_text(struct store *s, const char *user, const char *digest, int64_t *ret,
		     struct err *err)
{
	int r = db_query_int(s->db, err, ret,
			     "SELECT id FROM texts WHERE user = ?1 AND digest = ?2", "tt", user,
			     digest);

	return r;
}

int store_text_take(struct store *s, const char *user, const char *text, int64_t *ret,
		    struct err *err)
{
	char digest[DIGEST_HEX];
	int64_t size = (int64_t)strlen(text);
	int r;

	digest_of(text, digest);
	r = find_text(s, user, digest, ret, err);
	if (r > 0)
		return db_run(s->db, err, "UPDATE texts SET n = n + 1 WHERE id = ?1", "i",
			      *ret);
	if (r >= 0)
		r = db_run(s->db, err,
			   "INSERT INTO texts(user, digest, n, size, text)"
			   " VALUES(?1, ?2, 1, ?3, ?4)",
			   "ttit", user, digest, size, text);
	if (r >= 0)
		r = add_bytes(s, user, size, err);
	if (r >= 0)
		r = find_text(s, user, digest, ret, err);
	return r < 0 ? r : 0;
}

int store_text_release(struct store *s, int64_t id, int64_t n, struct err *err)
{
	int r = db_run(s->db, err, "UPDATE texts SET n = n - ?2 WHERE id = ?1", "ii", id, n);

	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE stored SET bytes = bytes - COALESCE((SELECT size FROM texts"
			   " WHERE id = ?1 AND n <= 0), 0)"
			   " WHERE user = (SELECT user FROM texts WHERE id = ?1)",
			   "i", id);
	if (r >= 0)
		r = db_run(s->db, err, "DELETE FROM texts WHERE id = ?1 AND n <= 0", "i", id);
	return r;
}

int store_stored_add(struct store *s, int64_t job, int64_t bytes, struct err *err)
{
	if (!bytes)
		return 0;
	return db_run(s->db, err,
		      "INSERT INTO stored(user, bytes) SELECT user, ?2 FROM jobs WHERE job = ?1"
		      " ON CONFLICT(user) DO UPDATE SET bytes = stored.bytes + excluded.bytes",
		      "ii", job, bytes);
}

int store_stored_room(struct store *s, int64_t job, int64_t *ret, struct err *err)
{
	int64_t bytes = 0;
	int r;

	*ret = INT64_MAX;
	if (!s->max_stored)
		return 0;
	r = db_query_int(
		s->db, err, &bytes,
		"SELECT bytes FROM stored WHERE user = (SELECT user FROM jobs WHERE job = ?1)",
		"i", job);
	if (r < 0)
		return r;
	*ret = s->max_stored > bytes ? s->max_stored - bytes : 0;
	return 0;
}

/* --- the contract of stored.h --- */

void store_set_max_stored(struct store *s, int64_t bytes)
{
	s->max_stored = bytes;
}

int store_stored(struct store *s, const char *user, int64_t *ret, struct err *err)
{
	int r;

	*ret = 0;
	r = db_query_int(s->db, err, ret, "SELECT bytes FROM stored WHERE user = ?1", "t",
			 user);
	return r < 0 ? r : 0;
}
