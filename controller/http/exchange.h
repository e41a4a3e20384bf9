/* exchange - one request and its answer, as the handlers of the server see it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct auth_said;
struct exchange;

const char *exchange_method(const struct exchange *x);
const char *exchange_path(const struct exchange *x);   /* decoded, without query */
const char *exchange_target(const struct exchange *x); /* as received, with query */
const char *exchange_header(const struct exchange *x, const char *name); /* or NULL */
const char *exchange_query(const struct exchange *x, const char *name);	 /* decoded, or NULL */
/* Valid until the request function returns; after exchange_keep_body(), until the answer. */
const char *exchange_body(const struct exchange *x, size_t *ret_size);
void exchange_keep_body(struct exchange *x);

struct exchange_leave {
	size_t body_max; /* bytes, as sent and as inflated; at most SERVER_BODY_MAX */
	const struct auth_said *said; /* the decoded credential; copied. NULL: none */
};
/* Refuses all the same where there is no room for another request of that user. */
void exchange_admit(struct exchange *x, const struct exchange_leave *leave);
/* Before the credential is decoded. False: too many wrong ones came from that address; for
 * requests that need none: too many requests, from there or in all. */
bool exchange_may_try(const struct exchange *x);
void exchange_note_wrong(struct exchange *x);
bool exchange_may_ask(struct exchange *x);
/* Its address is a node's from now on: some connections are reserved for nodes. */
void exchange_mark_node(struct exchange *x);
/* It could not be served: counted for its user, else for its address. */
void exchange_note_shed(struct exchange *x, const char *why);
/* What exchange_admit() was given, or NULL. */
const struct auth_said *exchange_said(const struct exchange *x);

struct exchange_answer {
	unsigned status;
	const char *type; /* content type; NULL: application/json */
	char *text;	  /* malloc()ed; the exchange takes it */
	size_t size;
	const char *credential; /* X-Reeve-Credential, or NULL; copied */
};
/* Exactly once for each exchange, which must not be used afterwards. */
void exchange_answer(struct exchange *x, struct exchange_answer a);
