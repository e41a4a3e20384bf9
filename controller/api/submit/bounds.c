/* bounds.c - see bounds.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/api/submit/bounds.h"
#include "controller/ledger/jobs/stored.h"

#define KEEP_NS (60 * S_NS) /* what has ended since is found out that late at most */

struct count {
	struct count *next;
	enum store_queued_by by;
	char name[REQUEST_NAME_MAX];
	int64_t n, at_ns; /* at_ns 0: never counted */
};

struct bounds {
	struct count *counts;
};

int bounds_new(struct bounds **ret, struct err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

struct bounds *bounds_free(struct bounds *b)
{
	while (b && b->counts) {
		struct count *c = b->counts;

		b->counts = c->next;
		free(c);
	}
	free(b);
	return NULL;
}

/* NULL: none, and no memory for one. */
static struct count *find(struct bounds *b, enum store_queued_by by, const char *name)
{
	struct count *c = b->counts;

	while (c && (c->by != by || strcmp(c->name, name) != 0))
		c = c->next;
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->by = by;
	strcpy(c->name, name);
	c->next = b->counts;
	b->counts = c;
	return c;
}

static int64_t size_of(const struct request *q)
{
	return q->array.n ? q->array.n : 1;
}

static int check_array(struct call *c, const struct request *q, struct err *err)
{
	int64_t most = c->api->c.config->max_array_size;

	if (q->array.n <= most)
		return 0;
	err_set(err, 0, "the array has %lld elements, and MaxArraySize allows %lld",
		(long long)q->array.n, (long long)most);
	return call_refuse(c, 400, "array-too-large",
			   "hand it in as several arrays, or ask the operators to raise "
			   "MaxArraySize in controller.conf");
}

struct bound {
	enum store_queued_by by;
	const char *what, *name, *key;
	int64_t most; /* 0: none */
};

static int check_one(struct call *c, struct bounds *b, const struct bound *bound, int64_t more,
		     struct err *err)
{
	struct count *count = find(b, bound->by, bound->name);
	int64_t now_ns = call_monotonic_ns();
	int r;

	if (!count)
		return err_set(err, -ENOMEM, "out of memory");
	if (!count->at_ns || now_ns - count->at_ns > KEEP_NS || count->n + more > bound->most) {
		r = store_queued(c->api->c.store, bound->by, bound->name, &count->n, err);
		if (r < 0)
			return r;
		count->at_ns = now_ns;
	}
	if (count->n + more <= bound->most)
		return 0;
	err_set(err, 0, "%s %s has %lld jobs queued, %lld more were handed in, and %s is %lld",
		bound->what, bound->name, (long long)count->n, (long long)more, bound->key,
		(long long)bound->most);
	return call_refuse(c, 400, "too-many-jobs",
			   "wait until some have started, or cancel some");
}

int bounds_refuse_stored(struct call *c, const char *name, int64_t more, struct err *err)
{
	char have[AMOUNT_TEXT_MAX], added[AMOUNT_TEXT_MAX], most[AMOUNT_TEXT_MAX],
		time[AMOUNT_TEXT_MAX];
	const struct config *config = c->api->c.config;
	int64_t bytes = 0;
	int r = store_stored(c->api->c.store, name, &bytes, err);

	if (r < 0)
		return r;
	amount_format_bytes_like(more, config->max_stored_per_user, added);
	err_set(err, 0,
		"user %s fills %s of the ledger with scripts, environments, steps and "
		"output%s%s, "
		"and MaxStoredPerUser is %s; what has ended is removed %s after its end "
		"(KeepOutput)",
		name, amount_format_bytes_like(bytes, config->max_stored_per_user, have),
		more ? "; this needs up to " : "", more ? added : "",
		amount_format_bytes_like(config->max_stored_per_user,
					 config->max_stored_per_user, most),
		amount_format_seconds(config->keep_output_s, time));
	return call_refuse(
		c, 400, "too-much-stored",
		"submit many jobs with one script, or as an array, write large output "
		"to files, and cancel queued jobs that are not needed");
}

static int64_t bytes_of(const struct request *q)
{
	int64_t n = q->script ? (int64_t)strlen(q->script) : 0;

	for (char **e = q->env; e && *e; e++)
		n += (int64_t)strlen(*e) + 1;
	return n;
}

static int check_stored(struct call *c, const struct request *q, struct err *err)
{
	int64_t most = c->api->c.config->max_stored_per_user, more = bytes_of(q), have = 0;
	int r = most ? store_stored(c->api->c.store, q->user, &have, err) : 0;

	if (r < 0 || !most || have + more <= most)
		return r;
	return bounds_refuse_stored(c, q->user, more, err);
}

int bounds_check(struct call *c, struct bounds *b, const struct request *q, struct err *err)
{
	const struct config *config = c->api->c.config;
	const struct bound all[] = {
		{ STORE_QUEUED_BY_USER, "user", q->user, "MaxQueuedPerUser",
		  config->max_queued_per_user },
		{ STORE_QUEUED_BY_ACCOUNT, "account", q->account, "MaxQueuedPerAccount",
		  config->max_queued_per_account },
	};
	int r = check_array(c, q, err);

	for (size_t i = 0; i < ARRAY_LEN(all) && r >= 0; i++)
		if (all[i].most > 0)
			r = check_one(c, b, &all[i], size_of(q), err);
	if (r >= 0)
		r = check_stored(c, q, err);
	return r;
}

void bounds_add(struct bounds *b, const struct request *q)
{
	for (struct count *c = b->counts; c; c = c->next)
		if (!strcmp(c->name, c->by == STORE_QUEUED_BY_USER ? q->user : q->account))
			c->n += size_of(q);
}
