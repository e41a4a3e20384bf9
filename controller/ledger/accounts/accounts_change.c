/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_change.c - describes a change of the accounts as a document and applies it. See
 * accounts_change.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/ledger/accounts/accounts_change.h"

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static json_t *encode_change(const struct accounts_change *c)
{
	const struct {
		const char *name, *text;
	} parts[] = {
		{ "op", accounts_change_op_name(c->op) },
		{ "section", c->section },
		{ "name", c->name },
		{ "key", c->key },
		{ "item", c->item },
		{ "old", c->old_value },
		{ "new", c->new_value },
	};
	_cleanup_doc_ struct doc d = doc_object();

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].text)
			doc_text(&d, parts[i].name, parts[i].text);
	return doc_take(&d);
}

static json_t *encode_changes(const struct accounts_diff *d)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (size_t i = 0; i < d->n; i++)
		doc_add(&a, encode_change(&d->changes[i]));
	return doc_take(&a);
}

static void add_warning(void *ctx, const char *text)
{
	doc_add(ctx, json_string(text));
}

/* Adds the accounts that are removed and have jobs that have not ended. */
static int add_jobs(struct store *s, const struct accounts_diff *d, json_t *to, struct err *err)
{
	struct store_accounts_active active;
	int r;

	for (size_t i = 0; i < d->n; i++) {
		const struct accounts_change *c = &d->changes[i];

		if (c->op != ACCOUNTS_REMOVE || c->key || strcmp(c->section, "Account") != 0)
			continue;
		r = store_accounts_active(s, c->name, &active, err);
		if (r < 0)
			return r;
		if (active.queued + active.running == 0)
			continue;
		if (json_array_append_new(to,
					  json_pack("{s:s,s:I,s:I}", "account", c->name,
						    "queued", (json_int_t)active.queued,
						    "running", (json_int_t)active.running)) < 0)
			return no_memory(err);
	}
	return 0;
}

static int describe_change(struct store *s, const struct accounts_order *o, json_t *doc,
			   struct err *err)
{
	_cleanup_(accounts_diff_freep) struct accounts_diff *shown = NULL;
	_cleanup_doc_ struct doc warnings = doc_array();
	json_t *jobs = json_array();
	int r;

	if (json_object_set(doc, "warnings", warnings.j) < 0 ||
	    json_object_set_new(doc, "jobs", jobs) < 0)
		return no_memory(err);
	r = accounts_diff(o->now, o->new, &shown, err);
	if (r < 0)
		return r;
	if (json_object_set_new(doc, "changes", encode_changes(shown)) < 0)
		return no_memory(err);
	accounts_warn(o->new, add_warning, &warnings);
	r = doc_check(&warnings, err);
	return r < 0 ? r : add_jobs(s, shown, jobs, err);
}

/* The difference from what is in the ledger: all accounts, where nothing was ever applied there. */
static int change_accounts(struct store *s, const struct accounts_order *o,
			   int64_t *ret_revision, struct err *err)
{
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
	struct store_accounts_change c = { .revision = o->revision,
					   .author = o->author,
					   .now_ns = o->now_ns };
	int r = accounts_diff(o->revision ? o->now : NULL, o->new, &d, err);

	if (r < 0)
		return r;
	*ret_revision = o->revision;
	if (d->n == 0 && o->revision == 0 && o->now && o->now->n_accounts)
		return err_set(err, -EINVAL,
			       "a file that declares nothing cannot take the place of the "
			       "[Account] sections of controller.conf; declare an account, or "
			       "remove those");
	c.diff = d;
	return o->is_dry_run ? 0 : store_accounts_apply(s, &c, ret_revision, err);
}

int accounts_change_apply(struct store *s, const struct accounts_order *o, json_t **ret,
			  struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	int64_t revision = 0;
	int r;

	if (!doc)
		return no_memory(err);
	r = describe_change(s, o, doc, err);
	if (r == 0)
		r = change_accounts(s, o, &revision, err);
	if (r < 0)
		return r;
	if (json_object_set_new(doc, "revision", json_integer(revision)) < 0 ||
	    json_object_set_new(doc, "applied", json_boolean(revision != o->revision)) < 0)
		return no_memory(err);
	*ret = TAKE_PTR(doc);
	return 0;
}

static int add_entry(void *ctx, const struct store_accounts_entry *e, struct err *err)
{
	_cleanup_json_ json_t *j = encode_change(&e->change);
	_cleanup_doc_ struct doc d = doc_edit(j);

	doc_int(&d, "id", e->id);
	doc_int(&d, "revision", e->revision);
	doc_int(&d, "at_ns", e->at_ns);
	doc_text(&d, "author", e->author);
	return json_array_append_new(ctx, doc_take(&d)) < 0 ? no_memory(err) : 0;
}

int accounts_change_log(struct store *s, const struct store_accounts_page *p,
			json_t **ret_array, struct err *err)
{
	_cleanup_json_ json_t *a = json_array();
	int r = a ? store_accounts_log(s, p, add_entry, a, err) : no_memory(err);

	if (r == 0)
		*ret_array = TAKE_PTR(a);
	return r;
}
