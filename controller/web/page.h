/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page - which documents of the API a page shows, and how they become text. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

struct api_fetch;
struct err;
struct exchange;
struct api;
struct render;

enum page_form { PAGE_HTML, PAGE_JSON, PAGE_CSV };

/* Whose page. `user` NULL: no user is signed in. */
struct page_reader {
	struct api *api;
	struct render *render;
	struct exchange
		*x; /* its path is the page's: "/web/jobs", "/web/jobs.csv", "/web/job/12" */
	unsigned uid, gid;
	const char *user;
	bool is_operator;
	bool is_proxied; /* signed in elsewhere: cannot leave here */
};

struct page_text {
	unsigned status;
	const char *type;
	char *text; /* malloc()ed */
	size_t size;
};

/* Errors of documents are on the page, with the status of the first. -ENOENT: no such page; -EAGAIN: not in this turn
 * (store_usage_turn()); other errors are the controller's own. */
int page_make(const struct page_reader *reader, struct page_text *ret, struct err *err);
/* What is shown where no user is signed in: how to enter, and `why`, if not NULL. */
int page_make_entry(const struct page_reader *reader, const char *why, struct page_text *ret,
		    struct err *err);
/* Asks whether to enter as `user` with `ticket`. */
int page_make_question(const struct page_reader *reader, const char *user, const char *ticket,
		       struct page_text *ret, struct err *err);
