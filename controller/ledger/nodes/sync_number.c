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
#include "controller/ledger/nodes/heard.h"
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

static int load_boot(struct store *s, const struct sync *in, struct store_boot *ret,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, boot_sql, "tt", in->node, in->boot);

	*ret = (struct store_boot){ .is_there = r > 0 };
	if (r <= 0)
		return r;
	ret->number = db_int(st, BOOT_NUMBER);
	ret->is_over = db_int(st, BOOT_IS_OVER) != 0;
	db_done(st);
	return 0;
}

int store_check_sync_number(struct store *s, const struct sync *in,
			    const struct store_boot *known, int64_t now_ns, struct err *err)
{
	struct store_boot boot;
	int r = known ? 0 : load_boot(s, in, &boot, err);

	if (r < 0)
		return r;
	if (known)
		boot = *known;
	if (!boot.is_there)
		return begin_boot(s, in, now_ns, err);
	if (boot.is_over)
		return err_set(err, -ESTALE, "node %s was booted again after it sent this",
			       in->node);
	if (!in->number)
		return 0;
	if (in->number <= boot.number)
		return err_set(err, -ESTALE, "node %s has sent a later exchange already",
			       in->node);
	return store_heard_number(s, in, err);
}
