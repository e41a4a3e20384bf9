/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps_place.c - where a step is, whose it is, and whether it has a console. See steps/steps.h. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/steps/steps.h"

enum place_column { PLACE_ATTEMPT, PLACE_NODE, PLACE_STATE, PLACE_UID, PLACE_ADDRESS };

/* From the command as it was stored: who may be attached to it. */
static int read_console(struct store *s, struct store_step_place *p, struct err *err)
{
	_cleanup_json_ json_t *spec = NULL;
	_cleanup_free_ char *text = NULL;
	const char *hangup, *console;
	int r = store_steps_spec(s, p->id.job, p->id.step, &text, err);

	if (r < 0)
		return r;
	spec = wire_load(text, 0, NULL);
	hangup = json_string_value(json_object_get(spec, "on_hangup"));
	console = json_string_value(json_object_get(spec, "console"));
	p->is_interactive = console != NULL;
	p->is_pty = console && !strcmp(console, "pty");
	p->keeps = hangup && !strcmp(hangup, "keep");
	return 0;
}

int store_steps_place(struct store *s, struct sync_step_id at, store_step_place_fn fn,
		      void *ctx, struct err *err)
{
	struct store_step_place p = { .id = at };
	struct db_row *st;
	int r = read_console(s, &p, err);

	if (r >= 0)
		r = db_query_first(s->db, err, &st,
				   "SELECT t.attempt, t.node, t.state, j.uid,"
				   " COALESCE(n.address, '') FROM steps t"
				   " JOIN jobs j ON j.job = t.job"
				   " LEFT JOIN nodes n ON n.node = t.node"
				   " WHERE t.job = ?1 AND t.step = ?2",
				   "ii", at.job, at.step);
	if (r == 0)
		r = err_set(err, -ENOENT, "no step %lld of job %lld", (long long)at.step,
			    (long long)at.job);
	if (r < 0)
		return r;
	p.id.attempt = (int32_t)db_int(st, PLACE_ATTEMPT);
	p.node = store_text(st, PLACE_NODE);
	p.state = (enum store_step_state)(int)db_int(st, PLACE_STATE);
	p.uid = (uint32_t)db_int(st, PLACE_UID);
	p.address = store_text(st, PLACE_ADDRESS);
	r = fn(ctx, &p, err);
	db_done(st);
	return r;
}
