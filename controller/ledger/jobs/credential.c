/* SPDX-License-Identifier: GPL-2.0-or-later */
/* credential.c - stores what users signed of their jobs until these end. See jobs/credential.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sql.h"

int store_credential_add(struct store *s, int64_t job, const char *credential, struct err *err)
{
	return db_run(s->db, err, "INSERT INTO credentials(job, credential) VALUES(?1, ?2)",
		      "it", job, credential);
}

int store_credential_drop(struct store *s, int64_t job, struct err *err)
{
	return db_run_later(
		s->db, err,
		"DELETE FROM credentials WHERE job = ?1"
		" AND EXISTS(SELECT 1 FROM jobs WHERE job = ?1 AND state = " SQL_JOB_ENDED ")",
		"i", job);
}
