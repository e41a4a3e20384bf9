/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_source.c - reads and changes accounts through the controller or in a ledger file. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/admin/accounts_source.h"
#include "cli/offline/ledger_file.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/accounts/accounts_change.h"

/* What the controller answers is as hostile as any input, and its faults are the controller's: -EPROTO, not
 * -EINVAL, which is wrong usage. */
static int open_live(struct accounts_source *s, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	const char *text;
	int r = cli_get(s->c, "/v1/accounts", &answer, err);

	if (r < 0)
		return r;
	text = json_string_value(json_object_get(answer, "text"));
	if (!text)
		return err_set(err, -EPROTO, "the controller's answer has no accounts in it");
	s->revision = cli_int(answer, "revision", 0);
	s->is_partial = !json_is_true(json_object_get(answer, "complete"));
	snprintf(s->origin, sizeof(s->origin), "%s", cli_text(answer, "source"));
	r = accounts_parse(text, strlen(text), "the controller's accounts", &s->now, err);
	return r == -EINVAL ? -EPROTO : r;
}

int accounts_source_open(struct cli *c, const struct verb_call *call,
			 struct accounts_source *ret, struct err *err)
{
	const char *ledger = verb_value(call, "ledger");
	int r;

	*ret = (struct accounts_source){ .c = c, .origin = "ledger" };
	if (!ledger) {
		r = cli_begin(c, call, err);
		return r < 0 ? r : open_live(ret, err);
	}
	author_name(ret->author); /* before root becomes the ledger's owner */
	r = cli_begin_offline(c, call, err);
	if (r == 0)
		r = ledger_file_open(ledger, LEDGER_FILE_THERE, &ret->store, err);
	return r < 0 ? r : store_accounts_load(ret->store, &ret->now, &ret->revision, err);
}

int accounts_source_open_to_change(struct cli *c, const struct verb_call *call,
				   struct accounts_source *ret, struct err *err)
{
	int r = accounts_source_open(c, call, ret, err);

	if (r == 0 && ret->is_partial)
		return err_set(err, -EPERM,
			       "only operators may change accounts; ask one (Operators= in "
			       "controller.conf)");
	return r;
}

void accounts_source_done(struct accounts_source *s)
{
	accounts_free(s->now);
	store_close(s->store);
	*s = (struct accounts_source){ 0 };
}

static int change_file(struct accounts_source *s, const struct accounts_source_order *w,
		       json_t **ret, struct err *err)
{
	return accounts_change_apply(
		s->store,
		&(struct accounts_order){ .now = s->now,
					  .revision = w->revision,
					  .new = w->new,
					  .author = s->author,
					  .now_ns = clock_ns(CLOCK_REALTIME),
					  .is_dry_run = w->is_dry_run },
		ret, err);
}

/* The controller compares the revision once more, in its own transaction. */
static int change_live(struct accounts_source *s, const struct accounts_source_order *w,
		       json_t **ret, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *body = NULL;
	int r = accounts_write(w->new, &text, err);

	if (r < 0)
		return r;
	body = json_pack("{s:s,s:I,s:b,s:s}", "schema", WIRE_SCHEMA, "revision",
			 (json_int_t)w->revision, "dry_run", w->is_dry_run, "text", text);
	if (!body)
		return err_set(err, -ENOMEM, "out of memory, or a text that is not UTF-8");
	return cli_ask(
		s->c,
		(struct http_call){ .method = "POST", .path = "/v1/accounts", .body = body },
		ret, err);
}

int accounts_source_change(struct accounts_source *s, const struct accounts_source_order *w,
			   json_t **ret, struct err *err)
{
	if (w->revision != s->revision)
		return err_set(err, -EBUSY,
			       "the accounts have revision %" PRId64 " by now, not %" PRId64
			       "; see what changed in 'reeve admin accounts log', then repeat "
			       "the command with the new revision",
			       s->revision, w->revision);
	return s->store ? change_file(s, w, ret, err) : change_live(s, w, ret, err);
}

int accounts_source_log(struct accounts_source *s, int64_t limit, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	char path[64];
	int r;

	if (s->store)
		return accounts_change_log(s->store, &(struct store_accounts_page){ 0, limit },
					   ret, err);
	snprintf(path, sizeof(path), "/v1/accounts/log?limit=%" PRId64, limit);
	r = cli_get(s->c, path, &answer, err);
	if (r == 0)
		*ret = json_incref(json_object_get(answer, "changes"));
	return r;
}
