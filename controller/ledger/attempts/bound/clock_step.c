/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock_step.c - see attempts/bound/clock_step.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/bound/clock_step.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/restored.h"
#include "controller/ledger/store_sqlite.h"

#define KEPT_MAX 96 /* "BOOT OFFSET" */

/* What an earlier controller of this boot kept; `offset_ns` of now, where there is none. */
static int read_kept(struct store *s, const char *boot, int64_t offset_ns, struct err *err)
{
	struct db_row *st;
	size_t n = strlen(boot);
	int r = db_query_first(s->db, err, &st, "SELECT value FROM meta WHERE key = 'clock'",
			       "");
	const char *kept = r > 0 ? db_text(st, 0) : "";

	if (r < 0)
		return r;
	s->clock_offset_ns = offset_ns;
	s->has_clock = !strncmp(kept, boot, n) && kept[n] == ' ';
	if (s->has_clock)
		s->clock_offset_ns = strtoll(kept + n + 1, NULL, 10);
	if (r > 0)
		db_done(st);
	return 0;
}

/* Slurm's own clock says when its jobs began. */
static int write_step(struct store *s, const char *kept, int64_t back_ns, struct err *err)
{
	int r = db_run(s->db, err,
		       "INSERT INTO meta(key, value) VALUES('clock', ?1)"
		       " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
		       "t", kept);

	if (r < 0 || !back_ns)
		return r;
	r = db_run(s->db, err,
		   "UPDATE attempts SET given_ns = given_ns - ?1"
		   " WHERE closed = 0 AND job < ?2",
		   "ii", back_ns, STORE_SLURM_FROM);
	return r < 0 ? r : store_restored_set_back(s, back_ns, err);
}

int64_t store_clock_step(struct store *s, const struct store_clock *now, struct err *err)
{
	int64_t offset_ns = now->wall_ns - now->boot_ns, back_ns;
	char kept[KEPT_MAX];
	int r = s->has_clock ? 0 : read_kept(s, now->boot, offset_ns, err);

	if (r < 0)
		return r;
	back_ns = s->clock_offset_ns - offset_ns;
	if (s->has_clock && llabs(back_ns) < STORE_CLOCK_STEP_NS) {
		s->clock_offset_ns = offset_ns; /* it drifts */
		return 0;
	}
	back_ns = back_ns > 0 ? back_ns : 0;
	snprintf(kept, sizeof(kept), "%s %" PRId64, now->boot, offset_ns);
	r = db_begin(s->db, err);
	if (r >= 0)
		r = db_end(s->db, write_step(s, kept, back_ns, err), err);
	if (r < 0)
		return r;
	s->has_clock = true;
	s->clock_offset_ns = offset_ns;
	s->identity.taken_ns -= back_ns;
	return back_ns;
}
