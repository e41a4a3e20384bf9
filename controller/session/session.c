/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.c - the tables of tickets and sessions; see session.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/session/session.h"

#define TOKEN_BYTES 32

struct entry {
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct session_user user;
	int64_t end_ns; /* 0: free */
};

struct entries {
	struct entry *at;
	size_t n, room;
};

struct session_table {
	struct entries tickets, sessions;
};

struct session_table *session_table_new(void)
{
	return calloc(1, sizeof(struct session_table));
}

struct session_table *session_table_free(struct session_table *t)
{
	if (t) {
		free(t->tickets.at);
		free(t->sessions.at);
	}
	free(t);
	return NULL;
}

static void digest_token(const char *token, uint8_t ret[static SHA256_DIGEST_SIZE])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, strlen(token), (const uint8_t *)token);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, ret);
}

/* The time that the comparison takes says something of a digest, not of the token. */
static struct entry *find_entry(const struct entries *e, const char *token, int64_t now_ns)
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	digest_token(token, digest);
	for (size_t i = 0; i < e->n; i++)
		if (e->at[i].end_ns > now_ns &&
		    !memcmp(e->at[i].digest, digest, sizeof(digest)))
			return &e->at[i];
	return NULL;
}

/* A free place, that of an entry that has ended, or, where the user has SESSION_OF_USER, the one that ends first. */
static struct entry *find_place(struct entries *e, struct session_user user, int64_t now_ns)
{
	struct entry *empty = NULL, *oldest = NULL;
	size_t of_user = 0;

	for (size_t i = 0; i < e->n; i++) {
		struct entry *one = &e->at[i];

		if (one->end_ns <= now_ns) {
			empty = one;
		} else if (one->user.uid == user.uid) {
			of_user++;
			if (!oldest || one->end_ns < oldest->end_ns)
				oldest = one;
		}
	}
	return of_user >= SESSION_OF_USER ? oldest : empty;
}

static struct entry *add_place(struct entries *e)
{
	if (e->n == SESSION_MAX)
		return NULL;
	if (e->n == e->room) {
		size_t room = e->room ? 2 * e->room : 16;
		struct entry *at = reallocarray(e->at, room, sizeof(*at));

		if (!at)
			return NULL;
		e->at = at;
		e->room = room;
	}
	return &e->at[e->n++];
}

static int add_entry(struct entries *e, const struct entry *of, int64_t now_ns,
		     char ret[static SESSION_TOKEN_MAX], struct err *err)
{
	struct entry *at = find_place(e, of->user, now_ns);
	uint8_t random[TOKEN_BYTES];

	if (!at)
		at = add_place(e);
	if (!at)
		return err_set(err, -EBUSY, "%d sessions are open, and no more are kept",
			       SESSION_MAX);
	*at = *of;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		at->end_ns = 0;
		return err_set(err, -EIO, "no random numbers: %m");
	}
	base16_encode_update(ret, sizeof(random), random);
	ret[BASE16_ENCODE_LENGTH(TOKEN_BYTES)] = '\0';
	digest_token(ret, at->digest);
	return 0;
}

int session_new_ticket(struct session_table *t, struct session_user user, int64_t now_ns,
		       char ret[static SESSION_TOKEN_MAX], struct err *err)
{
	const struct entry of = { .user = user, .end_ns = now_ns + SESSION_TICKET_S * S_NS };

	return add_entry(&t->tickets, &of, now_ns, ret, err);
}

static int refuse_ticket(struct err *err)
{
	return err_set(err, -ENOENT, "this link was used before, or is older than %d seconds",
		       SESSION_TICKET_S);
}

int session_find_ticket(const struct session_table *t, const char *ticket, int64_t now_ns,
			struct session_user *ret, struct err *err)
{
	const struct entry *e = find_entry(&t->tickets, ticket, now_ns);

	if (!e)
		return refuse_ticket(err);
	*ret = e->user;
	return 0;
}

int session_redeem(struct session_table *t, const char *ticket, int64_t now_ns,
		   char ret[static SESSION_TOKEN_MAX], struct err *err)
{
	struct entry *of = find_entry(&t->tickets, ticket, now_ns);
	struct entry session;

	if (!of)
		return refuse_ticket(err);
	session = *of;
	of->end_ns = 0;
	session.end_ns = now_ns + SESSION_S * S_NS;
	return add_entry(&t->sessions, &session, now_ns, ret, err);
}

bool session_find(const struct session_table *t, const char *token, int64_t now_ns,
		  struct session_user *ret)
{
	const struct entry *e = find_entry(&t->sessions, token, now_ns);

	if (e)
		*ret = e->user;
	return e != NULL;
}

void session_end(struct session_table *t, const char *token)
{
	struct entry *e = find_entry(&t->sessions, token, 0);

	if (e)
		e->end_ns = 0;
}
