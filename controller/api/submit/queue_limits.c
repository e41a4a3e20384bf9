/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_limits.c - checks queue limits, with counts kept between submissions; see
 * queue_limits.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/stored_limit.h"
#include "controller/api/submit/queue_limits.h"
#include "controller/ledger/jobs/stored.h"

/* After this time a count is read again: jobs have started or ended meanwhile. */
#define KEEP_NS MIN_NS

struct count {
	struct count *next;
	enum store_queued_by by;
	char name[REQUEST_NAME_MAX];
	int64_t n, at_ns; /* at_ns 0: never counted */
};

struct queue_limits {
	struct count *counts;
};

int queue_limits_new(struct queue_limits **ret, struct err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

struct queue_limits *queue_limits_free(struct queue_limits *l)
{
	while (l && l->counts) {
		struct count *c = l->counts;

		l->counts = c->next;
		free(c);
	}
	free(l);
	return NULL;
}

/* Finds or adds a count. NULL: out of memory. */
static struct count *find_count(struct queue_limits *l, enum store_queued_by by,
				const char *name)
{
	struct count *c = l->counts;

	while (c && (c->by != by || strcmp(c->name, name) != 0))
		c = c->next;
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->by = by;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->next = l->counts;
	l->counts = c;
	return c;
}

static int64_t count_jobs(const struct request *q)
{
	return q->array.n ? q->array.n : 1;
}

static int check_array(struct call *c, const struct request *q, struct err *err)
{
	int64_t most = c->api->c.config->max_array_size;

	if (q->array.n <= most)
		return 0;
	err_set(err, 0, "the array has %lld tasks, and MaxArraySize allows %lld",
		(long long)q->array.n, (long long)most);
	return call_refuse(c, 400, "array-too-large",
			   "submit it as several arrays, or ask the operators to raise "
			   "MaxArraySize in controller.conf");
}

struct queue_limit {
	enum store_queued_by by;
	const char *what, *name, *key;
	int64_t most; /* 0: none */
	int64_t more; /* jobs to add */
};

static int check_limit(struct queue_limits *l, struct call *c, const struct queue_limit *limit,
		       struct err *err)
{
	struct count *count = find_count(l, limit->by, limit->name);
	int64_t now_ns = api_monotonic_ns(), more = limit->more;
	int r;

	if (!count)
		return err_set(err, -ENOMEM, "out of memory");
	if (!count->at_ns || now_ns - count->at_ns > KEEP_NS || count->n + more > limit->most) {
		r = store_queued(c->api->c.store, limit->by, limit->name, &count->n, err);
		if (r < 0)
			return r;
		count->at_ns = now_ns;
	}
	if (count->n + more <= limit->most)
		return 0;
	err_set(err, 0, "%s %s has %lld jobs queued; with %lld more that exceeds %s, %lld",
		limit->what, limit->name, (long long)count->n, (long long)more, limit->key,
		(long long)limit->most);
	return call_refuse(c, 400, "too-many-jobs",
			   "wait until some have started, or cancel some");
}

/* The bytes that the job stores in the ledger: its script, its environment and its dependencies. */
static int64_t bytes_of(const struct request *q)
{
	int64_t n = (int64_t)q->after.n * STORE_DEPEND_BYTES;

	n += q->script ? (int64_t)strlen(q->script) : 0;
	for (char **e = q->env; e && *e; e++)
		n += (int64_t)strlen(*e) + 1;
	return n;
}

int queue_limits_check(struct queue_limits *l, struct call *c, const struct request *q,
		       struct err *err)
{
	const struct config *config = c->api->c.config;
	const struct queue_limit all[] = {
		{ STORE_QUEUED_BY_USER, "user", q->user, "MaxQueuedPerUser",
		  config->max_queued_per_user, count_jobs(q) },
		{ STORE_QUEUED_BY_ACCOUNT, "account", q->account, "MaxQueuedPerAccount",
		  config->max_queued_per_account, count_jobs(q) },
	};
	int r = check_array(c, q, err);

	for (size_t i = 0; i < ARRAY_LEN(all) && r >= 0; i++)
		if (all[i].most > 0)
			r = check_limit(l, c, &all[i], err);
	return r < 0 ? r : stored_limit_check(c, q->user, bytes_of(q), err);
}

void queue_limits_add(struct queue_limits *l, const struct request *q)
{
	for (struct count *c = l->counts; c; c = c->next)
		if (!strcmp(c->name, c->by == STORE_QUEUED_BY_USER ? q->user : q->account))
			c->n += count_jobs(q);
}
