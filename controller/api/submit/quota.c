/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - a step of a submission: checks quotas and the limits of accounts. */
#include <stdio.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/accounts/accounts.h"
#include "controller/api/submit/submit.h"
#include "controller/quota/check.h"

struct quota_site submit_quota_site(const struct call *c)
{
	return (struct quota_site){ .store = c->api->c.store,
				    .config = c->api->c.config,
				    .accounts = c->api->accounts,
				    .expected = c->api->expected,
				    .expected_ns = api_monotonic_ns() };
}

static int query_quota(struct call *c, const struct submit_job *s, struct quota_answer *ret,
		       struct err *err)
{
	const struct quota_site site = submit_quota_site(c);
	const struct quota_submission want = { .request = &s->request,
					       .rate = s->price.rate,
					       .pool = s->price.pool,
					       .now_ns = api_now_ns(),
					       .own = s->own };

	return quota_check(&site, &want, ret, err);
}

/* A job that no grant covers moves to the queue without charge, and is priced there. The
 * number of its nodes makes no difference to that price, and might make it fail. */
static int move_to_bonus(struct call *c, struct submit_job *s, const struct quota_answer *a,
			 struct err *err)
{
	int64_t n_chunk_nodes = s->n_chunk_nodes;
	int r;

	snprintf(s->quota_note, sizeof(s->quota_note),
		 "moved from queue %s to %s, free of charge: %s", s->request.queue, a->queue,
		 a->text);
	snprintf(s->request.queue, sizeof(s->request.queue), "%s", a->queue);
	s->n_chunk_nodes = 0;
	r = submit_find_price(c, s, err);
	s->n_chunk_nodes = n_chunk_nodes;
	return r;
}

int submit_check_quota(struct call *c, struct submit_job *s, struct err *err)
{
	struct quota_answer a;
	int r = query_quota(c, s, &a, err);

	if (r < 0)
		return r;
	if (a.verdict == QUOTA_ACCEPTED) {
		s->task_ms = a.task_ms;
		s->more_ms = a.more_ms;
		return 0;
	}
	if (a.verdict == QUOTA_BONUS)
		return move_to_bonus(c, s, &a, err);
	err_set(err, 0, "%s", a.text);
	return call_refuse(c, 400, a.code, a.remedy);
}

int submit_predict_quota(struct call *c, struct submit_job *s, struct err *err)
{
	static const char *const words[] = { "taken", "bonus", "refused" };
	const struct accounts *accounts = c->api->accounts;
	int32_t account = accounts_find(accounts, s->request.account);
	_cleanup_doc_ struct doc answer = { 0 };
	struct quota_answer a;
	int r;

	_Static_assert(ARRAY_LEN(words) == _QUOTA_VERDICT_MAX, "a word for each verdict");
	if (account < 0 || !accounts_member(accounts, account, c->user))
		return 0;
	r = query_quota(c, s, &a, err);
	if (r < 0)
		return r;
	answer = doc_edit(c->answer);
	doc_text(&answer, "quota", words[a.verdict]);
	doc_text_if(&answer, "quota_note", a.text);
	return doc_check(&answer, err);
}
