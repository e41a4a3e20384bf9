/* SPDX-License-Identifier: GPL-2.0-or-later */
/* database.c - see database.h. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/database.h"
#include "common/process/bounded.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/owner/owner.h"
#include "common/utf8.h"
#include "controller/postgres/pq.h"

/* ---- SQLite ---- */

#define BUSY_MAX_S 5
#define STEPS_BETWEEN_LOOKS 100000 /* of SQLite's machine, some milliseconds */

struct deadline {
	int64_t at_ns;
	bool has_passed;
};

static int look_at_clock(void *ctx)
{
	struct deadline *d = ctx;

	d->has_passed = clock_ns(CLOCK_MONOTONIC) > d->at_ns;
	return d->has_passed;
}

/* The first column of the first row as text; false: there is none, why says it. */
static bool ask_sqlite(sqlite3 *db, const char *sql, struct judge_database *ret, char *buf,
		       size_t size)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	const char *text = NULL;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(st, 0);
	if (text)
		utf8_format(buf, size, "%s", text);
	else
		utf8_format(ret->why, sizeof(ret->why), "%s", sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return text != NULL;
}

static void check_pages(sqlite3 *db, int limit_s, struct judge_database *ret)
{
	struct deadline d = { .at_ns = clock_ns(CLOCK_MONOTONIC) + limit_s * S_NS };
	char said[JUDGE_WHY_MAX];

	sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, look_at_clock, &d);
	if (ask_sqlite(db, "PRAGMA quick_check(1)", ret, said, sizeof(said))) {
		if (strcmp(said, "ok") != 0)
			snprintf(ret->damage, sizeof(ret->damage), "%s", said);
	} else if (d.has_passed) {
		ret->was_cut = true;
		ret->why[0] = '\0';
	} else { /* such as "database disk image is malformed" */
		snprintf(ret->damage, sizeof(ret->damage), "%s", ret->why);
		ret->why[0] = '\0';
	}
}

/* Each of its two queries may wait so long for another program's lock. */
static int busy_s(int limit_s)
{
	return limit_s < BUSY_MAX_S ? limit_s : BUSY_MAX_S;
}

static void look_at_file(int limit_s, struct judge_database *ret)
{
	char version[32];
	sqlite3 *db = NULL;
	struct stat st;

	if (stat(ret->place, &st) < 0) {
		if (errno != ENOENT)
			snprintf(ret->why, sizeof(ret->why), "%s", strerror(errno));
		return;
	}
	ret->is_there = true;
	ret->bytes = st.st_size;
	if (sqlite3_open_v2(ret->place, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		snprintf(ret->why, sizeof(ret->why), "cannot be opened: %s",
			 db ? sqlite3_errmsg(db) : "out of memory");
	if (!*ret->why)
		sqlite3_busy_timeout(db, busy_s(limit_s) * 1000);
	if (!*ret->why &&
	    ask_sqlite(db, "PRAGMA user_version", ret, version, sizeof(version))) {
		ret->version = strtoll(version, NULL, 10);
		check_pages(db, limit_s, ret);
	}
	sqlite3_close(db);
}

/* SQLite creates files next to the database and follows links: root looks at another user's as that user, in a process that
 * cannot go back. The user may stop it, but not past its limit, and cannot trace it nor have a core file of it. */
static _Noreturn void look_as_owner(int to, int limit_s, struct judge_database *ret)
{
	struct err err;

	if (bounded_begin(limit_s + 2 * busy_s(limit_s) + 1) < 0)
		_exit(1);
	if (owner_become(ret->place, &err) < 0)
		utf8_format(ret->why, sizeof(ret->why), "%s", err.text);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!*ret->why)
		look_at_file(limit_s, ret);
	_exit(write(to, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret) ? 0 : 1);
}

/* The texts come from a process of another user: they may lack a NUL. false: no result. */
static bool take_found(int from, struct judge_database *ret)
{
	struct judge_database found;

	if (read(from, &found, sizeof(found)) != (ssize_t)sizeof(found))
		return false;
	ret->is_there = found.is_there;
	ret->was_cut = found.was_cut;
	ret->version = found.version;
	ret->bytes = found.bytes;
	utf8_copy(ret->why, sizeof(ret->why), found.why, sizeof(found.why));
	utf8_copy(ret->damage, sizeof(ret->damage), found.damage, sizeof(found.damage));
	return true;
}

void gather_database(int limit_s, struct judge_database *ret)
{
	int ends[2], status;
	pid_t pid;

	if (geteuid() != 0) {
		look_at_file(limit_s, ret);
		return;
	}
	pid = pipe2(ends, O_CLOEXEC) < 0 ? -1 : fork();
	if (pid == 0)
		look_as_owner(ends[1], limit_s, ret);
	if (pid < 0) {
		snprintf(ret->why, sizeof(ret->why), "no process could be started: %s",
			 strerror(errno));
		return;
	}
	close(ends[1]);
	if (!take_found(ends[0], ret))
		snprintf(ret->why, sizeof(ret->why), "its check ended without a result");
	close(ends[0]);
	waitpid(pid, &status, 0);
}

/* ---- PostgreSQL ---- */

/* With peer authentication the server asks the kernel for the effective user; libpq looks for ~/.pgpass by $HOME or PGPASSFILE. */
static void become_user(const char *user)
{
	const struct passwd *p = geteuid() == 0 ? getpwnam(user) : NULL;
	char path[512];

	if (!p)
		return;
	snprintf(path, sizeof(path), "%.480s/.pgpass", p->pw_dir);
	setenv("PGPASSFILE", path, 0);
	setenv("PGUSER", user, 0);
	if (seteuid(p->pw_uid) < 0)
		unsetenv("PGPASSFILE");
}

static PGresult *ask_postgres(PGconn *c, const char *sql)
{
	PGresult *result = pq.PQexec(c, sql);

	if (pq.PQresultStatus(result) == PGRES_TUPLES_OK && pq.PQntuples(result) > 0)
		return result;
	pq.PQclear(result);
	return NULL;
}

static void read_version(PGconn *c, struct judge_postgres *ret)
{
	PGresult *r = ask_postgres(c, "SELECT current_setting('server_version_num')");

	if (r)
		ret->server = strtoll(pq.PQgetvalue(r, 0, 0), NULL, 10);
	pq.PQclear(r);
	r = ask_postgres(c, "SELECT version FROM reeve_schema");
	ret->has_ledger = r;
	if (r)
		ret->version = strtoll(pq.PQgetvalue(r, 0, 0), NULL, 10);
	pq.PQclear(r);
}

static void read_settings(PGconn *c, struct judge_postgres *ret)
{
	PGresult *r = ask_postgres(
		c,
		"SELECT name, setting FROM pg_settings WHERE name IN ('fsync', "
		"'full_page_writes', 'statement_timeout', "
		"'idle_in_transaction_session_timeout', 'idle_session_timeout', "
		"'default_transaction_read_only', 'max_wal_size') UNION ALL SELECT 'in_recovery', "
		"CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END");

	for (int i = 0; r && i < pq.PQntuples(r) && ret->n_settings < JUDGE_SETTINGS_MAX; i++) {
		struct judge_setting *s = &ret->settings[ret->n_settings++];

		snprintf(s->name, sizeof(s->name), "%s", pq.PQgetvalue(r, i, 0));
		snprintf(s->value, sizeof(s->value), "%s", pq.PQgetvalue(r, i, 1));
	}
	pq.PQclear(r);
}

static void read_checkpoints(PGconn *c, struct judge_postgres *ret)
{
	PGresult *r = ask_postgres(
		c, ret->server < CHECKPOINTER_SERVER
			   ? "SELECT checkpoints_timed, checkpoints_req FROM pg_stat_bgwriter"
			   : "SELECT num_timed, num_requested FROM pg_stat_checkpointer");

	ret->has_checkpoints = r;
	if (r) {
		ret->n_timed = strtoll(pq.PQgetvalue(r, 0, 0), NULL, 10);
		ret->n_sooner = strtoll(pq.PQgetvalue(r, 0, 1), NULL, 10);
	}
	pq.PQclear(r);
}

void gather_postgres(const char *where, const char *user, struct judge_postgres *ret)
{
	const uid_t self = geteuid();
	const char *host;
	struct err err;
	PGconn *c;

	if (pq_load(&err) < 0) {
		snprintf(ret->why, sizeof(ret->why), "%s", err.text);
		return;
	}
	become_user(user);
	c = pq.PQconnectdb(where);
	if (geteuid() != self && seteuid(self) < 0)
		abort(); /* no other finding would be right */
	if (pq.PQstatus(c) != CONNECTION_OK) {
		utf8_format(ret->why, sizeof(ret->why), "%s", pq.PQerrorMessage(c));
	} else {
		host = pq.PQhost(c);
		utf8_format(ret->place, sizeof(ret->place), "%s on %s", pq.PQdb(c),
			    host && *host ? host : "this machine");
		read_version(c, ret);
		read_settings(c, ret);
		read_checkpoints(c, ret);
	}
	pq.PQfinish(c);
}
