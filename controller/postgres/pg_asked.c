/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_asked.c - queries that are sent ahead in the pipeline, and whose answers wait until they are run. See db_ask(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

struct pg_asked {
	struct pg_asked *next;
	const char *sql;
	PGresult *result;
	bool has_arrived;  /* or has failed: then there is no result */
	bool is_forgotten; /* and has not arrived: the pipeline alone knows it */
	size_t n_values;
	struct db_value values[]; /* their texts and blobs behind them */
};

static void free_asked(struct pg_asked *a)
{
	pq.PQclear(a->result);
	free(a);
}

static struct pg_asked *copy_asked(const char *sql, const struct db_values *values)
{
	size_t size = sizeof(struct pg_asked) + values->n * sizeof(struct db_value);
	struct pg_asked *a;
	char *to;

	for (size_t i = 0; i < values->n; i++)
		size += values->v[i].data ? values->v[i].size + 1 : 0;
	a = calloc(1, size);
	if (!a)
		return NULL;
	a->sql = sql;
	a->n_values = values->n;
	to = (char *)(a->values + values->n);
	for (size_t i = 0; i < values->n; i++) {
		struct db_value *v = &a->values[i];

		*v = values->v[i];
		if (!v->data)
			continue;
		/* calloc() has ended a text. */
		v->data = v->size ? memcpy(to, v->data, v->size) : to;
		to += v->size + 1;
	}
	return a;
}

int pg_ask(struct db *d, const char *sql, const struct db_values *values, struct err *err)
{
	struct pg *p = pg_of(d);
	struct pg_asked **end = &p->asked, *a;
	struct db_values own;
	struct db_row *row;
	int r;

	if (!p->has_lock) /* not in a transaction */
		return 0;
	a = copy_asked(sql, values);
	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	own = (struct db_values){ a->values, a->n_values };
	r = pg_query(d, sql, &own, &row, err);
	if (r >= 0)
		r = pg_send(row, a, err);
	if (r < 0) {
		free_asked(a);
		return r;
	}
	while (*end)
		end = &(*end)->next;
	*end = a;
	return 0;
}

static bool is_same(const struct db_value *a, const struct db_value *b)
{
	if (a->kind != b->kind || a->number != b->number || a->size != b->size ||
	    !a->data != !b->data)
		return false;
	return !a->size || memcmp(a->data, b->data, a->size) == 0;
}

static bool is_of(const struct pg_asked *a, const char *sql, const struct db_values *values)
{
	bool is = a->sql == sql && a->n_values == values->n;

	for (size_t i = 0; i < values->n && is; i++)
		is = is_same(&a->values[i], &values->v[i]);
	return is;
}

int pg_take_asked(struct pg *p, const char *sql, const struct db_values *values, PGresult **ret,
		  struct err *err)
{
	struct pg_asked **at = &p->asked, *a;
	int r = 0;

	while (*at && !is_of(*at, sql, values))
		at = &(*at)->next;
	if (!*at)
		return 0;
	if (!(*at)->has_arrived)
		r = pg_await(p, *at, err);
	if (r < 0) /* all of them are forgotten */
		return r;
	a = *at;
	*at = a->next;
	*ret = a->result;
	a->result = NULL;
	free_asked(a);
	return *ret != NULL;
}

void pg_forget_asked(struct db *d)
{
	struct pg *p = pg_of(d);

	while (p->asked) {
		struct pg_asked *a = p->asked;

		p->asked = a->next;
		a->is_forgotten = true;
		if (a->has_arrived)
			free_asked(a);
	}
}

/* ---- from the pipeline ---- */

bool pg_has_arrived(const struct pg_asked *a)
{
	return a->has_arrived;
}

static void end_asked(struct pg_asked *a, PGresult *result)
{
	a->has_arrived = true;
	a->result = result;
	if (a->is_forgotten)
		free_asked(a);
}

int pg_receive_asked(struct pg *p, struct pg_asked *a, struct err *err)
{
	PGresult *result = pq.PQgetResult(p->conn);

	if (pq.PQresultStatus(result) != PGRES_TUPLES_OK) {
		const char *sql = a->sql;

		end_asked(a, NULL);
		return pg_fail(p, result, sql, err);
	}
	end_asked(a, result);
	/* A NULL ends the results of each statement. */
	pq.PQclear(pq.PQgetResult(p->conn));
	return 0;
}

void pg_miss_asked(struct pg_asked *const *sent, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sent[i])
			end_asked(sent[i], NULL);
}
