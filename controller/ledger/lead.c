/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lead.c - which controller leads a ledger: by a lock on a file, or by controller/postgres/pg_lead.h.
 * See ledger/lead.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/lead.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/postgres/pg.h"
#include "controller/postgres/pg_lead.h"

#define COMMAND_LEASE_S 30

struct store_lead {
	struct pg_lead *pg; /* NULL: a file */
	char *place, *path; /* path: of the lock */
	int fd;
	char me[256], who[256];
	struct store *store;
	store_lead_lost_fn on_lost;
	void *ctx;
};

static void write_me(struct store_lead *l, const char *listen)
{
	char host[128] = "?", since[64] = "?";
	time_t now = time(NULL);
	struct tm tm;

	gethostname(host, sizeof(host) - 1);
	if (gmtime_r(&now, &tm))
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(l->me, sizeof(l->me), "%s at %.64s, process %d, up since %s", host, listen,
		 (int)getpid(), since);
}

/* ---- a file ---- */

/* An open-file-description lock: it belongs to the descriptor, is not lost when another descriptor of
 * the file is closed, and ends with the process. */
static int open_lock(struct store_lead *l, struct err *err)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = open(l->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return l->fd < 0 ? err_set(err, -errno, "open %s: %m", l->path) : 0;
}

/* The leader writes its name into the file that it has locked. */
static void read_who(struct store_lead *l)
{
	ssize_t n = pread(l->fd, l->who, sizeof(l->who) - 1, 0);

	l->who[n > 0 ? n : 0] = '\0';
	l->who[strcspn(l->who, "\n")] = '\0';
}

/* 1: the file that is locked is still the one of that name; 0: it was removed or replaced, and a lock on
 * it excludes no other process. */
static int keep_file(struct store_lead *l, struct err *err)
{
	struct stat held, there;

	if (fstat(l->fd, &held) < 0)
		return err_set(err, -errno, "%s: %m", l->path);
	if (stat(l->path, &there) < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %m", l->path);
	return held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

static int try_file(struct store_lead *l, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r = keep_file(l, err);

	if (r == 0)
		r = open_lock(l, err);
	if (r < 0)
		return r;
	if (fcntl(l->fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return err_set(err, -errno, "lock %s: %m", l->path);
		read_who(l);
		return 0;
	}
	if (ftruncate(l->fd, 0) < 0 || dprintf(l->fd, "%s\n", l->me) < 0)
		return err_set(err, -errno, "write %s: %m", l->path);
	return 1;
}

/* ---- either ---- */

static int open_either(struct store_lead *l, const struct store_lead_config *c, struct err *err)
{
	const struct pg_lead_config p = { l->place, l->me, c->lease_s * S_NS };

	return pg_is_place(l->place) ? pg_lead_open(&p, &l->pg, err) : open_lock(l, err);
}

int store_lead_open(const struct store_lead_config *c, struct store_lead **ret, struct err *err)
{
	_cleanup_(store_lead_closep) struct store_lead *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->fd = -1;
	l->place = strdup(c->place);
	if (!l->place || asprintf(&l->path, "%s.lead", c->place) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	write_me(l, c->listen);
	r = open_either(l, c, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

struct store_lead *store_lead_close(struct store_lead *l)
{
	if (!l)
		return NULL;
	pg_lead_close(l->pg);
	if (l->fd >= 0)
		close(l->fd);
	free(l->place);
	free(l->path);
	free(l);
	return NULL;
}

int store_lead_try(struct store_lead *l, struct err *err)
{
	return l->pg ? pg_lead_try(l->pg, err) : try_file(l, err);
}

int store_lead_keep(struct store_lead *l, struct err *err)
{
	return l->pg ? pg_lead_keep(l->pg, err) : keep_file(l, err);
}

const char *store_lead_who(const struct store_lead *l)
{
	return l->pg ? pg_lead_who(l->pg) : l->who;
}

const char *store_lead_place(const struct store_lead *l)
{
	return l->pg ? pg_lead_place(l->pg) : l->place;
}

/* ---- every transaction ---- */

enum lead_column { LEAD_EPOCH, LEAD_WHO };

/* Runs in the transaction, so with the writers' lock; the row changes under that lock alone. */
static int check_epoch(struct store_lead *l, struct err *err)
{
	struct db *d = l->store->db;
	struct db_row *st;
	int64_t epoch;
	int r = db_query_first(d, err, &st, "SELECT epoch, who FROM reeve_lead", "");

	if (r < 0)
		return r;
	epoch = r > 0 ? db_int(st, LEAD_EPOCH) : 0;
	r = epoch == pg_lead_epoch(l->pg)
		    ? 0
		    : err_set(err, -EOWNERDEAD, "another controller leads now: %.160s",
			      r > 0 ? store_text(st, LEAD_WHO) : "?");
	db_done(st);
	return r;
}

/* After the file of the lock was removed another process may lead by a new one. */
static int check_file(struct store_lead *l, struct err *err)
{
	int r = keep_file(l, err);

	return r == 0 ? err_set(err, -EOWNERDEAD, "%s was taken away", l->path) : r < 0 ? r : 0;
}

static int check_lead(void *ctx, struct err *err)
{
	struct store_lead *l = ctx;
	int r = l->pg ? check_epoch(l, err) : check_file(l, err);

	if (r == -EOWNERDEAD)
		l->on_lost(l->ctx);
	return r;
}

void store_lead_guard(struct store_lead *l, struct store *s, store_lead_lost_fn on_lost,
		      void *ctx)
{
	l->store = s;
	l->on_lost = on_lost;
	l->ctx = ctx;
	db_guard(s->db, check_lead, l);
}

int store_lead_take(const char *place, const char *verb, struct store_lead **ret,
		    struct err *err)
{
	_cleanup_(store_lead_closep) struct store_lead *l = NULL;
	const struct store_lead_config c = { place, verb, COMMAND_LEASE_S };
	int r = store_lead_open(&c, &l, err);

	if (r >= 0)
		r = store_lead_try(l, err);
	if (r == 0)
		return err_set(err, -EBUSY,
			       "a controller has the ledger %.200s: %.200s; stop it first",
			       place, store_lead_who(l));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}
