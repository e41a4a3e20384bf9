/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_answers.c - the answers of queries that were sent ahead, until they are run. See pg_impl.h. */
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

void pg_free_asked(struct pg_asked *a)
{
	pq.PQclear(a->result);
	free(a);
}

struct pg_asked *pg_new_asked(const char *sql, const struct db_values *values)
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

void pg_add_asked(struct pg *p, struct pg_asked *a)
{
	struct pg_asked **end = &p->asked;

	while (*end)
		end = &(*end)->next;
	*end = a;
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

struct pg_asked *pg_find_asked(const struct pg *p, const char *sql,
			       const struct db_values *values)
{
	struct pg_asked *a = p->asked;

	while (a && !is_of(a, sql, values))
		a = a->next;
	return a;
}

PGresult *pg_take_asked(struct pg *p, struct pg_asked *a)
{
	struct pg_asked **at = &p->asked;
	PGresult *result = a->result;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->result = NULL;
	pg_free_asked(a);
	return result;
}

void pg_forget_asked(struct db *d)
{
	struct pg *p = pg_of(d);

	while (p->asked) {
		struct pg_asked *a = p->asked;

		p->asked = a->next;
		a->is_forgotten = true;
		if (a->has_arrived)
			pg_free_asked(a);
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
		pg_free_asked(a);
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
