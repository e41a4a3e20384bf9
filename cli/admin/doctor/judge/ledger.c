/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger.c - see ledger.h. */
#include <inttypes.h>
#include <string.h>
#include "cli/admin/doctor/judge/ledger.h"

#define OLDEST_SERVER 150000 /* docs/operation.md */

static void judge_schema(struct judge_report *r, const char *check, int64_t version,
			 int64_t newest)
{
	if (!newest || version == newest)
		return;
	judge_add(r, check, version < newest ? JUDGE_WARN : JUDGE_FAIL,
		  "its schema has version %" PRId64 ", this version of Reeve writes %" PRId64,
		  version, newest);
	judge_remedy(r, version < newest
				? "systemctl restart reeve-controller (it upgrades the ledger)"
				: "install the version of Reeve that wrote it, or a newer one");
}

void judge_database(struct judge_report *r, const struct judge_database *d)
{
	if (*d->why) {
		judge_add(r, d->check, JUDGE_FAIL, "%s: %s", d->place, d->why);
		judge_remedy(r, "ls -l %s*", d->place);
	} else if (!d->is_there) {
		judge_add(r, d->check, JUDGE_WARN, "there is no database %s yet", d->place);
		judge_remedy(r, "systemctl start %s",
			     strcmp(d->check, "store") ? "reeve-controller" : "reeve-agent");
	} else if (*d->damage) {
		judge_add(r, d->check, JUDGE_FAIL, "%s is damaged: %s", d->place, d->damage);
		judge_remedy(r,
			     "stop its daemon, keep a copy of %s, and restore the last "
			     "backup",
			     d->place);
	} else if (d->was_cut) {
		judge_add(r, d->check, JUDGE_UNCHECKED,
			  "%s (%" PRId64 " MiB) was not checked whole: it took too long",
			  d->place, d->bytes >> 20);
		judge_remedy(r, "sqlite3 -readonly %s 'PRAGMA quick_check'", d->place);
	} else {
		judge_add(r, d->check, JUDGE_OK,
			  "%s (%" PRId64 " MiB) is consistent, schema version %" PRId64,
			  d->place, d->bytes >> 20, d->version);
	}
	if (!*d->why && d->is_there)
		judge_schema(r, d->check, d->version, d->newest);
}

/* ---- PostgreSQL ---- */

static const struct {
	const char *name, *good, *loses;
	enum judge_state state;
} wanted[] = {
	{ "fsync", "on", "a crash of the server's machine may damage the ledger", JUDGE_FAIL },
	{ "full_page_writes", "on", "a crash of the server's machine may damage the ledger",
	  JUDGE_FAIL },
	{ "statement_timeout", "0", "the server ends long queries and upgrades of the ledger",
	  JUDGE_WARN },
	{ "idle_in_transaction_session_timeout", "0",
	  "the server ends transactions that wait for a node", JUDGE_WARN },
	{ "idle_session_timeout", "0", "the server ends connections of a quiet controller",
	  JUDGE_WARN },
	{ "default_transaction_read_only", "off", "nothing can be written", JUDGE_FAIL },
	{ "in_recovery", "off", "the server is a standby: nothing can be written", JUDGE_FAIL },
};

static const char *find_setting(const struct judge_postgres *p, const char *name)
{
	for (size_t i = 0; i < p->n_settings; i++)
		if (!strcmp(p->settings[i].name, name))
			return p->settings[i].value;
	return NULL;
}

static void judge_settings(struct judge_report *r, const struct judge_postgres *p)
{
	size_t before = r->n;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const char *value = find_setting(p, wanted[i].name);

		if (!value) {
			judge_add(r, "ledger", JUDGE_UNCHECKED,
				  "the server does not say its %s", wanted[i].name);
		} else if (strcmp(value, wanted[i].good) != 0) {
			judge_add(r, "ledger", wanted[i].state, "%s = %s: %s", wanted[i].name,
				  value, wanted[i].loses);
			judge_remedy(r,
				     "ALTER SYSTEM RESET %s; SELECT pg_reload_conf(); (or "
				     "ALTER ROLE ... RESET %s)",
				     wanted[i].name, wanted[i].name);
		}
	}
	if (r->n == before)
		judge_add(r, "ledger", JUDGE_OK,
			  "the server's settings keep what is committed");
}

/* Some come sooner by command, such as those of a backup; where most do, its log (WAL) is full before the time is over. */
#define SOONER_MIN 6

static void judge_checkpoints(struct judge_report *r, const struct judge_postgres *p)
{
	const char *size = find_setting(p, "max_wal_size");

	if (!p->has_checkpoints) {
		judge_add(r, "ledger", JUDGE_UNCHECKED,
			  "the server does not count its checkpoints");
	} else if (p->n_sooner < SOONER_MIN || p->n_sooner <= p->n_timed) {
		judge_add(r, "ledger", JUDGE_OK,
			  "%" PRId64 " of its %" PRId64
			  " checkpoints began before checkpoint_timeout",
			  p->n_sooner, p->n_sooner + p->n_timed);
	} else {
		judge_add(r, "ledger", JUDGE_WARN,
			  "%" PRId64 " of its %" PRId64
			  " checkpoints began before checkpoint_timeout, since its log reached "
			  "max_wal_size = %s MB or by command: nodes wait longer meanwhile",
			  p->n_sooner, p->n_sooner + p->n_timed, size ? size : "?");
		judge_remedy(r,
			     "ALTER SYSTEM SET max_wal_size = '8GB'; SELECT pg_reload_conf(); "
			     "SELECT pg_stat_reset_shared('%s');",
			     p->server < CHECKPOINTER_SERVER ? "bgwriter" : "checkpointer");
	}
}

void judge_postgres(struct judge_report *r, const struct judge_postgres *p)
{
	if (*p->why) {
		judge_add(r, "ledger", JUDGE_FAIL, "PostgreSQL does not answer: %s", p->why);
		judge_remedy(r,
			     "check Database= in /etc/reeve/controller.conf, ~/.pgpass of the "
			     "controller's user, and systemctl status postgresql");
		return;
	}
	judge_add(r, "ledger", p->server < OLDEST_SERVER ? JUDGE_FAIL : JUDGE_OK,
		  "%s: PostgreSQL %" PRId64 ".%" PRId64, p->place, p->server / 10000,
		  p->server % 10000);
	if (p->server < OLDEST_SERVER)
		judge_remedy(r, "upgrade the server to PostgreSQL 15 or newer");
	if (!p->has_ledger) {
		judge_add(r, "ledger", JUDGE_WARN, "there is no ledger in it yet");
		judge_remedy(r, "systemctl start reeve-controller");
	} else {
		judge_schema(r, "ledger", p->version, p->newest);
	}
	judge_checkpoints(r, p);
	judge_settings(r, p);
}
