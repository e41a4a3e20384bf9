/* SPDX-License-Identifier: GPL-2.0-or-later */
/* auth - authenticates messages by munge: a credential is bound to the message.
 *
 * A request carries the header "Authorization: Munge CREDENTIAL"; the credential's payload is
 * "reeve1 " + the lower-case hex SHA-256 of METHOD, space, path with query, newline, body.
 * An answer that is acted on as root (node sync) carries "X-Reeve-Credential" with the
 * SHA-256 of the request's credential, newline, answer body: so an answer belongs to exactly
 * one request and was made by the controller's user. munged refuses a second decode of a
 * credential, therefore a credential is decoded once, by the receiver, and never logged.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

#define AUTH_HEADER_MAX 1024
#define AUTH_SOCKET_MAX 256  /* of a path; the system takes 108 bytes */
#define AUTH_PAYLOAD_SIZE 71 /* "reeve1 " and the digest */
#define AUTH_REQUEST_HEADER "Authorization"
#define AUTH_ANSWER_HEADER "X-Reeve-Credential"

struct auth_who {
	uint32_t uid, gid;
	char host[64]; /* numeric address the credential was made on */
};

struct auth_text {
	const char *first, *second; /* "METHOD PATH" / request credential; then the body */
	size_t second_size;
	const uint32_t *reader; /* signing: only this uid can decode it; NULL: any */
};

/* A credential of an exchange is valid for this long, and clocks may differ by less: the receiver
 * decodes it at once. */
#define AUTH_TTL_S 60

/* `socket` NULL: munged's default. The value of the header into buf. -EACCES / -ENOENT: munged
 * cannot be reached (err says how to start it). */
int auth_sign(const char *socket, struct auth_text what, char buf[static AUTH_HEADER_MAX],
	      struct err *err);
/* Checks and decodes `header` against `what`. -EACCES: forged, expired, replayed, rewound, or
 * bound to other text; err says which (without secrets). */
int auth_verify(const char *socket, const char *header, struct auth_text what,
		struct auth_who *ret, struct err *err);

/* The two halves of auth_verify(), for a server that must know the caller before the body has
 * arrived:
 * 1. auth_decode() reads the header alone. -EACCES: forged, expired, replayed, rewound, or not of
 *    this form. Only ret->who can be trusted then.
 * 2. auth_match() checks that the whole request is what was signed. -EACCES: it is not. */
struct auth_said {
	struct auth_who who;
	char payload[AUTH_PAYLOAD_SIZE];
};
int auth_decode(const char *socket, const char *header, struct auth_said *ret, struct err *err);
/* Is `header` (NULL: none) of the form of a credential, and shorter than AUTH_HEADER_MAX? -EACCES. */
int auth_check(const char *header, struct err *err);
int auth_match(const struct auth_said *said, struct auth_text what, struct err *err);

/* ---- credentials that are stored and read much later ---- */

#define AUTH_SEAL_MAX (256 << 10) /* a sealed text as it travels, and the text in it */
#define AUTH_SEAL_TTL_S                                                                        \
	300 /* munged remembers a replay for this long; a seal is read later too */

/* A text of the caller's own, signed and encrypted by munged such that only processes of uid
 * `reader` can read it. *ret is malloc()ed. Errors as auth_sign(). -EMSGSIZE: too long. */
struct auth_seal {
	const char *text;
	size_t size;
	uint32_t reader;
};
int auth_seal(const char *socket, const struct auth_seal *what, char **ret, struct err *err);

struct auth_sealed {
	struct auth_who who;
	int64_t made_s; /* real time, by the clock of where it was made */
	char *text;	/* malloc()ed, `size` bytes and a NUL */
	size_t size;
};
/* The author is certain, freshness is not: an expired credential, and one that was read
 * before, is good here (munge(3): EMUNGE_CRED_EXPIRED and _REPLAYED come after the signature
 * was found right). Its age and its repetition are the caller's to judge. -EACCES: forged,
 * garbled, for another reader, of another realm's key, or made in the future. */
int auth_unseal(const char *socket, const char *credential, struct auth_sealed *ret,
		struct err *err);
void auth_sealed_done(struct auth_sealed *s);

/* Name of a uid, and uid and primary gid of a name, through NSS. -ENOENT. */
int auth_user_name(uint32_t uid, char *buf, size_t size, struct err *err);
int auth_user_lookup(const char *name, uint32_t *ret_uid, uint32_t *ret_gid, struct err *err);
int auth_group_lookup(const char *name, uint32_t *ret_gid, struct err *err);
/* All groups of a user, `gid` among them; of a uid without a name that one alone. *ret is
 * malloc()ed. */
int auth_user_groups(uint32_t uid, uint32_t gid, uint32_t **ret, size_t *ret_n,
		     struct err *err);
