/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notes.c - what owners of jobs of Slurm are to know of them; see jobs/slurm.h. */
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/store_sqlite.h"

int store_slurm_note(struct store *s, const struct store_slurm_case *c, int64_t job,
		     const char *text, struct err *err)
{
	const struct store_event e = { c->now_ns, job, c->node, "slurm", text };
	int r = db_has_row(
		s->db, err,
		"SELECT 1 FROM events WHERE job = ?1 AND what = 'slurm' AND node = ?2"
		" LIMIT 1",
		"it", job, c->node);

	return r == 0 ? store_event(s, &e, err) : r < 0 ? r : 0;
}

int store_slurm_noted(struct store *s, int64_t job, char ret[static STORE_SLURM_NOTED_MAX],
		      struct err *err)
{
	struct db_row *st;
	size_t n = 0;
	int r = db_query(
		s->db, err, &st,
		"SELECT text FROM events WHERE job = ?1 AND what = 'slurm' ORDER BY id", "i",
		job);

	*ret = '\0';
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const char *text = store_text(st, 0);

		if (n + strlen(text) + 3 > STORE_SLURM_NOTED_MAX)
			continue;
		n += (size_t)snprintf(ret + n, STORE_SLURM_NOTED_MAX - n, "%s%s", n ? "; " : "",
				      text);
	}
	return r < 0 ? r : n > 0;
}
