/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_number.c - refuses an exchange of a node that a later one has overtaken.
 *
 * A request may be held up in the network and come in after later ones: what it lists is no
 * longer so. Within a boot of the node its exchanges are numbered; and a boot that was followed
 * by another never comes back.
 */
#include <errno.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/store_sqlite.h"

/* Earlier boots are remembered for so long: much longer than a munge credential is valid, so that no
 * request of a boot that was forgotten can still come in. */
#define KEEP_NS DAY_NS

static int begin_boot(struct store *s, const struct sync *in, int64_t now_ns, struct err *err)
{
	int r = db_run(s->db, err, "UPDATE boots SET is_over = 1 WHERE node = ?1", "t",
		       in->node);

	if (r >= 0)
		r = db_run(s->db, err, "DELETE FROM boots WHERE node = ?1 AND at_ns < ?2", "ti",
			   in->node, now_ns - KEEP_NS);
	if (r >= 0)
		r = db_run(s->db, err,
			   "INSERT INTO boots(node, boot, number, is_over, at_ns)"
			   " VALUES(?1, ?2, ?3, 0, ?4)",
			   "ttii", in->node, in->boot, in->number, now_ns);
	return r;
}

enum boot_column { BOOT_NUMBER, BOOT_IS_OVER };
static const char boot_sql[] =
	"SELECT number, is_over FROM boots WHERE node = ?1 AND boot = ?2";

int store_ask_sync_number(struct store *s, const struct sync *in, struct err *err)
{
	return db_ask(s->db, err, boot_sql, "tt", in->node, in->boot);
}

int store_check_sync_number(struct store *s, const struct sync *in, int64_t now_ns,
			    struct err *err)
{
	struct db_row *st;
	int64_t last, is_over;
	int r = db_query_first(s->db, err, &st, boot_sql, "tt", in->node, in->boot);

	if (r < 0)
		return r;
	if (r == 0)
		return begin_boot(s, in, now_ns, err);
	last = db_int(st, BOOT_NUMBER);
	is_over = db_int(st, BOOT_IS_OVER);
	db_done(st);
	if (is_over)
		return err_set(err, -ESTALE, "node %s was booted again after it sent this",
			       in->node);
	if (!in->number)
		return 0;
	if (in->number <= last)
		return err_set(err, -ESTALE, "node %s has sent a later exchange already",
			       in->node);
	return db_run_later(s->db, err,
			    "UPDATE boots SET number = ?3 WHERE node = ?1 AND boot = ?2", "tti",
			    in->node, in->boot, in->number);
}
