/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map.c - reads the CSV file of --map and looks names up in it; see map.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "cli/import/map.h"
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/utf8.h"

enum kind { ACCOUNT, USER, CLUSTER, GPU, PARTITION, QOS, _KIND_MAX };
static const char *const kinds[] = { "account", "user", "cluster", "gpu", "partition", "qos" };
static const char *const columns[] = { "kind", "from", "to", NULL };

struct entry {
	enum kind kind;
	char from[REQUEST_NAME_MAX], to[REQUEST_NAME_MAX];
};

struct import_map {
	struct entry *entries; /* sorted once loaded */
	size_t n, room;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->from, y->from);
}

/* Names of other systems may have any bytes but control characters; those that a ledger gets are
 * UTF-8 and have no blanks. */
static bool is_foreign(const char *text)
{
	size_t n = strlen(text);

	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	return n > 0 && n < REQUEST_NAME_MAX;
}

static bool is_name(const char *text)
{
	return is_foreign(text) && history_is_name(text) && utf8_is_valid(text);
}

static int read_entry(struct csv *c, const char *const *fields, const int *at,
		      struct entry *ret, struct err *err)
{
	const char *kind = fields[at[0]], *from = fields[at[1]], *to = fields[at[2]];
	enum kind k = 0;

	while (k < _KIND_MAX && strcmp(kinds[k], kind) != 0)
		k++;
	if (k == _KIND_MAX)
		return csv_error(c, err,
				 "kind '%.32s': write account, user, cluster, "
				 "gpu, partition or qos",
				 kind);
	if (!is_foreign(from) || !is_name(to))
		return csv_error(c, err, "'%.64s' is not a name%s",
				 is_foreign(from) ? to : from,
				 is_foreign(from) ? ": to is UTF-8 without blanks" : "");
	ret->kind = k;
	strcpy(ret->from, from);
	strcpy(ret->to, to);
	return 0;
}

static int add_entry(struct import_map *m, const struct entry *e, struct err *err)
{
	if (m->n == m->room) {
		size_t room = m->room ? m->room * 2 : 256;
		void *p = reallocarray(m->entries, room, sizeof(*m->entries));

		if (!p)
			return err_set(err, -ENOMEM, "out of memory");
		m->entries = p;
		m->room = room;
	}
	m->entries[m->n++] = *e;
	return 0;
}

static int read_all(struct import_map *m, struct csv *c, struct err *err)
{
	const char *const *fields;
	struct entry e;
	int at[3], r = csv_header(c, columns, at, err);

	while (r >= 0 && (r = csv_next(c, &fields, err)) > 0) {
		r = read_entry(c, fields, at, &e, err);
		if (r >= 0)
			r = add_entry(m, &e, err);
	}
	return r;
}

int import_map_load(const char *path, struct import_map **ret, struct err *err)
{
	_cleanup_(import_map_freep) struct import_map *m = calloc(1, sizeof(*m));
	_cleanup_(csv_closep) struct csv *c = NULL;
	int r = m ? csv_open(path, &c, err) : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = read_all(m, c, err);
	if (r < 0)
		return r;
	if (m->n)
		qsort(m->entries, m->n, sizeof(*m->entries), compare_entries);
	for (size_t i = 1; i < m->n; i++)
		if (compare_entries(&m->entries[i - 1], &m->entries[i]) == 0)
			return err_set(err, -EINVAL, "%.200s: %s %s is there twice", path,
				       kinds[m->entries[i].kind], m->entries[i].from);
	*ret = TAKE_PTR(m);
	return 0;
}

struct import_map *import_map_free(struct import_map *m)
{
	if (!m)
		return NULL;
	free(m->entries);
	free(m);
	return NULL;
}

/* A name that the table lacks stays as it is. */
static void rename_one(const struct import_map *m, enum kind kind,
		       char name[static REQUEST_NAME_MAX])
{
	struct entry key = { .kind = kind };
	const struct entry *e;

	strcpy(key.from, name);
	e = bsearch(&key, m->entries, m->n, sizeof(key), compare_entries);
	if (e)
		strcpy(name, e->to);
}

/* "a100-40", or "t4-16/NODETYPE" where the profile has several types of nodes with that model.
 */
static void rename_gpus(const struct import_map *m, struct history_job *j)
{
	struct gpus before = j->gpus;

	j->gpus = (struct gpus){ 0 };
	for (int32_t i = 0; i < before.n; i++) {
		char *name = before.of[i].model, *type;

		if (!*name) /* "-" in the table is a job without a model */
			strcpy(name, "-");
		rename_one(m, GPU, name);
		if (!strcmp(name, "-"))
			*name = '\0';
		type = strchr(name, '/');
		if (type) {
			*type++ = '\0';
			strcpy(j->node_type, type);
		}
		gpus_add(&j->gpus, name,
			 before.of[i].n); /* cannot fail: no more models than before */
	}
}

void import_map_apply(const struct import_map *m, struct history_job *j)
{
	if (!m->n)
		return;
	rename_one(m, ACCOUNT, j->account);
	rename_one(m, USER, j->user);
	rename_one(m, CLUSTER, j->cluster);
	rename_one(m, PARTITION, j->queue);
	rename_one(m, QOS, j->qos);
	rename_gpus(m, j);
}

static bool is_bad(const char *name, char ret_bad[static REQUEST_NAME_MAX])
{
	if (history_is_name(name) && utf8_is_valid(name))
		return false;
	utf8_clean(strcpy(ret_bad, name));
	return true;
}

bool import_map_check(struct history_job *j, char ret_bad[static REQUEST_NAME_MAX])
{
	utf8_clean(j->queue);
	utf8_clean(j->qos);
	if (is_bad(j->cluster, ret_bad) || is_bad(j->account, ret_bad) ||
	    is_bad(j->user, ret_bad))
		return false;
	for (int32_t k = 0; k < j->gpus.n; k++)
		if (is_bad(j->gpus.of[k].model, ret_bad))
			return false;
	return true;
}
