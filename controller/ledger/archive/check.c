/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - compares archive files with what the ledger recorded of them; finds the archives that may have
 * a job. See archive.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/csv/csv.h"
#include "common/err.h"
#include "controller/ledger/archive/archive_impl.h"

#define NAMES_MAX 64 /* columns of a file */

struct check {
	struct store *s;
	const struct store_archive_check *how;
	struct store_archive_checked n;
	int64_t archive, month, part; /* that is being checked */
	struct rollup_set *sums;      /* of its attempts: day 0, figures below */
};
enum {
	SUM_ATTEMPTS = ROLLUP_JOBS_STARTED,
	SUM_RUNNING = ROLLUP_RUNNING_MS,
	SUM_REQUESTED = ROLLUP_CHARGE_REQUESTED_MS,
	SUM_USED = ROLLUP_CHARGE_USED_MS
};

/* One line for the caller, and one difference more. */
static int add_finding(struct check *c, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int add_finding(struct check *c, struct err *err, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	c->n.differences++;
	return c->how->fn(c->how->ctx, line, err);
}

/* ---- sums of attempts ---- */

enum attempt_field {
	A_CLUSTER,
	A_ACCOUNT,
	A_USER,
	A_POOL,
	A_RUNNING_NS,
	A_REQUESTED_MS,
	A_USED_MS,
	_A_MAX
};
static const char *const wanted[] = {
	"cluster",	  "account", "user", "pool", "running_ns", "charge_requested_ms",
	"charge_used_ms",
};
_Static_assert(ARRAY_LEN(wanted) == _A_MAX, "a name a field");

/* The columns of the first release that archived; later ones were appended, and older files lack them. */
#define FIRST_COLUMNS 36

/* Splits the header in place into `names`, which ends with NULL as csv_header_some() needs it; at[]: where the wanted columns are.
 */
static void split_header(char *header, const char *names[static NAMES_MAX + 1], int at[_A_MAX])
{
	char *save = NULL;
	int n = 0;

	for (char *name = strtok_r(header, ",", &save); name && n < NAMES_MAX;
	     name = strtok_r(NULL, ",", &save)) {
		for (int i = 0; i < _A_MAX; i++)
			if (!strcmp(name, wanted[i]))
				at[i] = n;
		names[n++] = name;
	}
	names[n] = NULL;
}

static int add_attempt(struct check *c, const char *const *fields, const int *at,
		       struct err *err)
{
	int index = rollup_set_find(c->sums, fields[at[A_CLUSTER]], fields[at[A_ACCOUNT]],
				    fields[at[A_USER]]);
	struct rollup *sum =
		index < 0 ? NULL : rollup_set_at(c->sums, index, atoi(fields[at[A_POOL]]), 0);

	if (!sum)
		return err_set(err, -ENOMEM, "out of memory");
	sum->figure[SUM_ATTEMPTS]++;
	sum->figure[SUM_RUNNING] += strtoll(fields[at[A_RUNNING_NS]], NULL, 10) / 1000000;
	sum->figure[SUM_REQUESTED] += strtoll(fields[at[A_REQUESTED_MS]], NULL, 10);
	sum->figure[SUM_USED] += strtoll(fields[at[A_USED_MS]], NULL, 10);
	return 0;
}

/* Sums the attempts of one file into c->sums. The digest has been checked: numbers are as the archive wrote
 * them. */
static int sum_attempts(struct check *c, const char *path, struct err *err)
{
	_cleanup_free_ char *header = strdup(archive_headers[ARCHIVE_ATTEMPTS]);
	_cleanup_(csv_closep) struct csv *csv = NULL;
	const char *names[NAMES_MAX + 1], *const *fields;
	int at[_A_MAX] = { 0 }, columns[NAMES_MAX], r;

	if (!header)
		return err_set(err, -ENOMEM, "out of memory");
	split_header(header, names, at);
	r = csv_open(path, &csv, err);
	if (r >= 0)
		r = csv_header_some(csv, names, FIRST_COLUMNS, columns, err);
	for (int i = 0; i < _A_MAX && r >= 0; i++)
		at[i] = columns[at[i]];
	while (r >= 0 && (r = csv_next(csv, &fields, err)) > 0)
		r = add_attempt(c, fields, at, err);
	return r;
}

enum sums_column {
	S_CLUSTER,
	S_ACCOUNT,
	S_USER,
	S_POOL,
	S_ATTEMPTS,
	S_RUNNING,
	S_REQUESTED,
	S_USED
};

static const struct {
	const char *name;
	int figure;
} figures[] = { [S_ATTEMPTS - S_ATTEMPTS] = { "attempts", SUM_ATTEMPTS },
		[S_RUNNING - S_ATTEMPTS] = { "running_ms", SUM_RUNNING },
		[S_REQUESTED - S_ATTEMPTS] = { "charge_requested_ms", SUM_REQUESTED },
		[S_USED - S_ATTEMPTS] = { "charge_used_ms", SUM_USED } };

/* One recorded sum against the file's, which is zeroed: check_rest() finds what has no recorded row. */
static int compare_sum(struct check *c, struct db_row *st, struct err *err)
{
	int index = rollup_set_find(c->sums, store_text(st, S_CLUSTER),
				    store_text(st, S_ACCOUNT), store_text(st, S_USER));
	struct rollup *sum =
		index < 0 ? NULL : rollup_set_at(c->sums, index, (int)db_int(st, S_POOL), 0);
	int r = 0;

	if (!sum)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < (int)ARRAY_LEN(figures) && r >= 0; i++) {
		int64_t recorded = db_int(st, S_ATTEMPTS + i),
			found = sum->figure[figures[i].figure];

		if (recorded != found)
			r = add_finding(c, err,
					"%s, %s, %s, pool %s: %s is %" PRId64
					" in the ledger, %" PRId64 " in the file",
					store_text(st, S_CLUSTER), store_text(st, S_ACCOUNT),
					store_text(st, S_USER),
					charge_pool_name((enum charge_pool)db_int(st, S_POOL)),
					figures[i].name, recorded, found);
	}
	*sum = (struct rollup){ 0 };
	return r;
}

static int check_rest(struct check *c, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < rollup_set_size(c->sums) && r >= 0; i++) {
		const struct rollup_set_entry *e = rollup_set_entry(c->sums, i);
		const struct rollup_set_association *a =
			rollup_set_association(c->sums, e->association);

		if (!rollup_is_zero(&e->rollup))
			r = add_finding(c, err,
					"%s, %s, %s: attempts of the file are not recorded",
					a->cluster, a->account, a->user);
	}
	rollup_set_clear(c->sums);
	return r;
}

static int compare_sums(struct check *c, struct err *err)
{
	struct db_row *st;
	int r = db_query(
		c->s->db, err, &st,
		"SELECT a.cluster, a.account, a.user, x.pool, x.attempts, x.running_ms,"
		" x.charge_requested_ms, x.charge_used_ms FROM archive_sums x"
		" JOIN associations a ON a.id = x.association WHERE x.archive = ?1",
		"i", c->archive);

	while (r >= 0 && (r = db_step(c->s->db, st, err)) > 0) {
		r = compare_sum(c, st, err);
		if (r < 0)
			db_done(st);
	}
	return r < 0 ? r : check_rest(c, err);
}

/* ---- files ---- */

struct recorded {
	int64_t bytes;
	const char *digest;
};

/* 1: the file is as recorded; 0: it is not, which was reported. */
static int check_file(struct check *c, const char *path, struct recorded f, struct err *err)
{
	char digest[ARCHIVE_DIGEST_MAX];
	struct err why = { "" };
	int64_t bytes;
	int r = archive_digest(path, digest, &bytes, &why);

	c->n.files++;
	if (r < 0)
		r = add_finding(c, err, "%s", why.text);
	else if (bytes != f.bytes)
		r = add_finding(c, err,
				"%.200s has %" PRId64 " bytes, %" PRId64 " are recorded", path,
				bytes, f.bytes);
	else if (strcmp(digest, f.digest) != 0)
		r = add_finding(c, err, "%.200s has the SHA-256 %s, %.64s is recorded", path,
				digest, f.digest);
	else
		return 1;
	return r < 0 ? r : 0;
}

enum file_column { FILE_NAME, FILE_BYTES, FILE_DIGEST };

static int check_row(struct check *c, struct db_row *st, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	int t = 0, r;

	while (t < _ARCHIVE_MAX && strcmp(archive_names[t], store_text(st, FILE_NAME)) != 0)
		t++;
	if (t == _ARCHIVE_MAX)
		return err_set(err, -EBADMSG, "'%s' is no file of an archive",
			       store_text(st, FILE_NAME));
	path = archive_path(c->how->dir, (enum archive_table)t, c->month, c->part);
	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	r = check_file(c, path,
		       (struct recorded){ db_int(st, FILE_BYTES), store_text(st, FILE_DIGEST) },
		       err);
	return r > 0 && t == ARCHIVE_ATTEMPTS ? sum_attempts(c, path, err) : r;
}

static int check_files(struct check *c, struct err *err)
{
	struct db_row *st;
	int64_t before = c->n.differences;
	int r = db_query(c->s->db, err, &st,
			 "SELECT name, bytes, digest FROM archive_files WHERE archive = ?1",
			 "i", c->archive);

	while (r >= 0 && (r = db_step(c->s->db, st, err)) > 0) {
		r = check_row(c, st, err);
		if (r < 0)
			db_done(st);
	}
	c->n.months++;
	/* The sums of a file that is not the recorded one say nothing more. */
	if (r < 0 || c->n.differences != before) {
		rollup_set_clear(c->sums);
		return r;
	}
	return compare_sums(c, err);
}

enum archive_column { ARCHIVE_ID, ARCHIVE_MONTH, ARCHIVE_PART, ARCHIVE_IS_DONE };

static int check_archive(struct check *c, struct db_row *st, struct err *err)
{
	char month[CALENDAR_DAY_MAX];

	c->archive = db_int(st, ARCHIVE_ID);
	c->month = db_int(st, ARCHIVE_MONTH);
	c->part = db_int(st, ARCHIVE_PART);
	if (!db_int(st, ARCHIVE_IS_DONE))
		return add_finding(c, err, "the archive of %s is not finished: archive again",
				   calendar_format_month(c->month, month));
	return check_files(c, err);
}

int store_archive_check(struct store *s, const struct store_archive_check *how,
			struct store_archive_checked *ret, struct err *err)
{
	_cleanup_(rollup_set_freep) struct rollup_set *sums = rollup_set_new();
	struct check c = { .s = s, .how = how, .sums = sums };
	struct db_row *st;
	int r = sums ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = db_query(
			s->db, err, &st,
			"SELECT id, month, part, is_done FROM archives ORDER BY month, part",
			"");
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = check_archive(&c, st, err);
		if (r < 0)
			db_done(st);
	}
	if (r >= 0)
		*ret = c.n;
	return r;
}
