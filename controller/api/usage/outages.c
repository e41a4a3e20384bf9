/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outages.c - GET and POST /v1/outages, POST /v1/outages/remove: outages that operators declared. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/wire/fields.h"
#include "controller/api/usage/usage.h"
#include "controller/ledger/usage/adjust.h"
#include "controller/ledger/usage/outages.h"

#define TIME_MAX 40

static int check_operator(struct call *c, struct err *err)
{
	return call_check_operator(c, "only operators declare and remove outages",
				   "'reeve admin outage list' lists those declared", err);
}

static int add_to_list(void *ctx, const struct store_outage *o, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "id", o->id);
	doc_int(&d, "at_ns", o->at_ns);
	doc_int(&d, "from_ns", o->from_ns);
	doc_int(&d, "to_ns", o->to_ns);
	doc_text_if(&d, "cluster", *o->cluster ? o->cluster : NULL);
	doc_text(&d, "author", o->author);
	doc_text(&d, "reason", o->reason);
	if (json_array_append_new(ctx, doc_take(&d)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int open_answer(struct call *c, json_t **ret_list, struct err *err)
{
	int r = call_open_list(c, "outages", ret_list, err);

	if (r < 0)
		return r;
	if (json_object_set_new(c->answer, "time_zone",
				json_string(store_zone(c->api->c.store))) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int route_outages(struct call *c, struct err *err)
{
	const struct store_outages which = { .cluster = call_query_text(c, "cluster"),
					     .from_ns = INT64_MIN,
					     .to_ns = INT64_MAX };
	json_t *list;
	int r = open_answer(c, &list, err);

	return r < 0 ? r : store_outage_each(c->api->c.store, &which, add_to_list, list, err);
}

/* ---- declaring ---- */

struct words {
	char cluster[REQUEST_NAME_MAX], from[TIME_MAX], to[TIME_MAX];
	char reason[STORE_REASON_MAX];
};

static const struct wire_field word_fields[] = {
	WIRE_CHARS(struct words, cluster, WIRE_OPTIONAL),
	WIRE_CHARS(struct words, from, 0),
	WIRE_CHARS(struct words, to, 0),
	WIRE_CHARS(struct words, reason, 0),
	WIRE_END,
};

static int read_outage(struct call *c, struct words *w, struct store_outage *ret,
		       struct err *err)
{
	int r = wire_decode_fields(word_fields, c->body, w, err);

	if (r < 0)
		return r;
	*ret = (struct store_outage){ .at_ns = api_now_ns(),
				      .cluster = w->cluster,
				      .reason = w->reason,
				      .author = c->user };
	if (*w->cluster && !config_cluster(c->api->c.config, w->cluster))
		return err_set(err, -EINVAL, "there is no cluster '%.64s'", w->cluster);
	r = store_outage_parse(c->api->c.store, w->from, &ret->from_ns, err);
	if (r < 0)
		return r;
	return store_outage_parse(c->api->c.store, w->to, &ret->to_ns, err);
}

int route_declare_outage(struct call *c, struct err *err)
{
	struct store_outage o;
	struct words w = { .cluster = "" };
	json_t *list;
	int r = check_operator(c, err);

	if (r < 0)
		return r;
	r = read_outage(c, &w, &o, err);
	if (r < 0)
		return r;
	r = open_answer(c, &list, err);
	if (r < 0)
		return r;
	r = store_outage_add(c->api->c.store, &o, &o.id, err);
	if (r == -EDQUOT)
		return call_refuse(c, 409, "too-many", "remove outages of past periods");
	if (r < 0)
		return r;
	r = add_to_list(list, &o, err);
	if (r < 0)
		return r;
	log_line(LOG_NOTICE, "outage %" PRId64 " declared by %s", o.id, c->user);
	c->status = 201;
	return 0;
}

int route_remove_outage(struct call *c, struct err *err)
{
	int64_t id;
	int r = check_operator(c, err);

	if (r < 0)
		return r;
	r = wire_get_int(c->body, "id", (struct wire_int){ 1, INT64_MAX, NULL }, &id, err);
	if (r < 0)
		return r;
	r = store_outage_remove(c->api->c.store, id, err);
	if (r < 0)
		return r;
	log_line(LOG_NOTICE, "outage %" PRId64 " removed by %s", id, c->user);
	c->answer = json_pack("{s:s,s:I}", "schema", WIRE_SCHEMA, "removed", (json_int_t)id);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}
