/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload.c - reads agent.conf again and applies it; see agent/reload.h. */
#include "agent/reload.h"
#include "agent/report/spool.h"
#include "common/conf/reload_log.h"
#include "common/err.h"
#include "common/log.h"

int agent_reload_level(const struct agent_reload *from)
{
	return from->is_debug ? LOG_DEBUG : LOG_ERR + from->conf->log_level;
}

/* Most keys are read where they are needed; what modules have of others they get here. *fresh and *users are
 * taken over. */
static void apply_fresh(struct node *n, const struct agent_reload *from,
			struct agent_config *fresh, struct users *users, struct reload_log *log)
{
	/* These lines go by the more talkative of both levels: a change to `err` is still logged. */
	if (fresh->log_level > from->conf->log_level && !from->is_debug)
		log_set_max(LOG_ERR + fresh->log_level);
	agent_config_reload(from->conf, fresh, &log->changes);
	users_done(&n->users);
	n->users = *users;
	spool_set_max(n->spool, from->conf->spool_max_bytes);
	agent_config_done(fresh);
}

void agent_reload(struct node *n, const struct agent_reload *from)
{
	struct agent_config fresh;
	struct reload_log log;
	struct users users;
	struct err err = { "" };
	int r;

	reload_log_begin(&log);
	r = agent_config_check(from->path,
			       &(struct agent_config_faults){ reload_log_fault, &log }, &fresh,
			       &err);
	if (!r && (r = users_open(&fresh, &users, &err)) < 0)
		agent_config_done(&fresh);
	if (r < 0)
		reload_log_refusal(&log, err.text);
	if (!r)
		apply_fresh(n, from, &fresh, &users, &log);
	reload_log_end(&log);
	log_set_max(agent_reload_level(from));
}
