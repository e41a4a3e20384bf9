/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange - one HTTP request and its answer, as the handlers of the server see it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct auth_said;
struct exchange;

const char *exchange_method(const struct exchange *x);
const char *exchange_path(const struct exchange *x);   /* decoded, without query */
const char *exchange_target(const struct exchange *x); /* as received, with query */
const char *exchange_header(const struct exchange *x, const char *name); /* or NULL */
/* The value of a header that must stand alone: NULL where it is missing, or there more than once. */
const char *exchange_header_once(const struct exchange *x, const char *name);
const char *exchange_query(const struct exchange *x, const char *name); /* decoded, or NULL */
/* Valid until the request function returns; while it is kept, until the answer. */
const char *exchange_body(const struct exchange *x, size_t *ret_size);
void exchange_keep_body(struct exchange *x, bool keeps);
/* Frees the body if it is not kept: what was done with it after the request function is done. */
void exchange_leave_body(struct exchange *x);

struct exchange_leave {
	size_t body_max; /* bytes, as sent and as inflated; at most SERVER_BODY_MAX */
	const struct auth_said *said; /* the decoded credential; copied. NULL: none */
};
/* Admits a request: its body is read. Answers with a refusal instead where there is no room for
 * another request of that user. */
void exchange_admit(struct exchange *x, const struct exchange_leave *leave);
/* In the function for headers: exchange_admit(), or exchange_answer(), is called later. Until then the connection waits. */
void exchange_hold(struct exchange *x);
/* Rate limits, before the credential is decoded. exchange_may_try() is false after too many
 * wrong credentials from that address; exchange_may_ask(), for requests that need none, after
 * too many of those, from that address or in all. */
bool exchange_may_try(const struct exchange *x);
void exchange_note_wrong(struct exchange *x);
bool exchange_may_ask(struct exchange *x);
/* Marks its address as a node's: some connections are reserved for nodes. */
void exchange_mark_node(struct exchange *x);
/* Counts a request that could not be served, for its user or else its address. */
void exchange_note_shed(struct exchange *x, const char *why);
/* The credential passed to exchange_admit(), or NULL. */
const struct auth_said *exchange_said(const struct exchange *x);

struct exchange_answer {
	unsigned status;
	const char *type; /* content type; NULL: application/json */
	char *text;	  /* malloc()ed; the exchange frees it */
	size_t size;
	const char *credential; /* X-Reeve-Credential, or NULL; copied */
	char *headers; /* "Name: value" lines, each with its line end; malloc()ed, freed as text is; NULL: none */
};
/* Exactly once for each exchange, which must not be used afterwards. */
void exchange_answer(struct exchange *x, struct exchange_answer a);
