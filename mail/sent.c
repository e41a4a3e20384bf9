/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent.c - the database of what was sent, and the lock of each job; see sent.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/db/db.h"
#include "common/err.h"
#include "common/time_units.h"
#include "mail/sent.h"

#define KEPT_S (30 * DAY_S)

struct mail_sent {
	struct db *db;
	int lock;
};

static const char schema[] =
	"CREATE TABLE sent("
	" job INTEGER NOT NULL, attempt INTEGER NOT NULL, reason TEXT NOT NULL, recipient TEXT NOT NULL,"
	" user TEXT NOT NULL, at_s INTEGER NOT NULL, PRIMARY KEY(job, attempt, reason, recipient)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX sent_user ON sent(user, at_s);"
	"CREATE INDEX sent_at ON sent(at_s);";
static const char *const migrations[] = { schema, NULL };

static int open_lock(const char *database, int *ret, struct err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s.lock", database);
	*ret = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return *ret < 0 ? err_set(err, -errno, "%.200s: %m", path) : 0;
}

int mail_sent_open(const char *path, struct mail_sent **ret, struct err *err)
{
	struct mail_sent *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->lock = -1;
	r = db_open(path, migrations, &s->db, err);
	if (r >= 0)
		r = open_lock(path, &s->lock, err);
	if (r < 0)
		s = mail_sent_close(s);
	*ret = s;
	return r;
}

struct mail_sent *mail_sent_close(struct mail_sent *s)
{
	if (!s)
		return NULL;
	db_close(s->db);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
	return NULL;
}

/* One byte of the lock file is one job's; the kernel releases it when the process ends. */
int mail_sent_lock(struct mail_sent *s, int64_t job, struct err *err)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)job, .l_len = 1
	};

	while (fcntl(s->lock, F_OFD_SETLKW, &range) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "lock of the state: %m");
	return 0;
}

int mail_sent_has(struct mail_sent *s, const struct mail_sent_key *key, struct err *err)
{
	const struct mail_message *m = key->message;

	return db_has_row(
		s->db, err,
		"SELECT 1 FROM sent WHERE job = ?1 AND attempt = ?2 AND reason = ?3 AND recipient = ?4",
		"iitt", m->job, m->attempt, m->reason, key->to);
}

int mail_sent_count(struct mail_sent *s, const struct mail_sent_key *key, int64_t *ret,
		    struct err *err)
{
	return db_query_int(s->db, err, ret,
			    "SELECT COUNT(*) FROM sent WHERE user = ?1 AND at_s > ?2", "ti",
			    key->message->user, key->now_s - HOUR_S);
}

int mail_sent_add(struct mail_sent *s, const struct mail_sent_key *key, struct err *err)
{
	const struct mail_message *m = key->message;
	int r = db_run(s->db, err, "DELETE FROM sent WHERE at_s < ?1", "i",
		       key->now_s - KEPT_S);

	if (r >= 0)
		r = db_run(
			s->db, err,
			"INSERT INTO sent(job, attempt, reason, recipient, user, at_s) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
			"iittti", m->job, m->attempt, m->reason, key->to, m->user, key->now_s);
	return r;
}
