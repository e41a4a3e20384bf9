/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload.c - reads controller.conf again and passes it on to the rooms; see controller/reload.h. */
#include "common/conf/reload_log.h"
#include "common/err.h"
#include "common/log.h"
#include "controller/api/api.h"
#include "controller/maintenance/maintenance.h"
#include "controller/reload.h"

/* The values are in force already; where a room cannot follow, a restart mends it. */
static void reload_rooms(const struct reload *r)
{
	struct err err = { "" };

	if (!r->api)
		return;
	if (api_reload(r->api, &err) < 0)
		log_event(LOG_ERR, "reload", "%s; restart the controller", err.text);
	if (maintenance_reload(r->maintenance, &err) < 0)
		log_event(LOG_ERR, "reload", "%s; restart the controller", err.text);
}

void reload_config(const struct reload *r, struct reload_log *log)
{
	_cleanup_(config_freep) struct config *fresh = NULL;
	struct err err = { "" };
	int n = config_check(r->path, &(struct config_faults){ reload_log_fault, log }, &fresh,
			     &err);

	if (n < 0)
		reload_log_refusal(log, err.text);
	if (n)
		return;
	/* These lines go by the more talkative of both levels: a change to `err` is still logged. */
	if (fresh->log_level > r->config->log_level)
		log_set_max(LOG_ERR + fresh->log_level);
	config_reload(r->config, fresh, &log->changes);
	if (log->changes.tally.keys + log->changes.tally.sections > log->changes.tally.restart)
		reload_rooms(r);
}
