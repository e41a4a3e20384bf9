/* auth - who says this? munge over the network, bound to what is said.
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
};

/* `socket` NULL: munged's default. The value of the header into buf. -EACCES / -ENOENT: munged
 * cannot be reached (err says so and how to start it). */
int auth_sign(const char *socket, struct auth_text what, char buf[static AUTH_HEADER_MAX],
	      struct err *err);
/* Checks and decodes `header` against `what`. -EACCES: forged, expired, replayed, rewound, or
 * bound to other text; err says which (without secrets). */
int auth_verify(const char *socket, const char *header, struct auth_text what,
		struct auth_who *ret, struct err *err);

/* The two halves of auth_verify(), for who must know who it is before the body is there:
 * 1. from the header alone. -EACCES: forged, expired, replayed, rewound, or not of this form.
 * 2. whether the whole request is what was signed; -EACCES. Until then nothing of it may be
 * believed but who made the credential. */
struct auth_said {
	struct auth_who who;
	char payload[AUTH_PAYLOAD_SIZE];
};
int auth_decode(const char *socket, const char *header, struct auth_said *ret, struct err *err);
int auth_match(const struct auth_said *said, struct auth_text what, struct err *err);

/* Name of a uid, and uid and primary gid of a name, through NSS. -ENOENT. */
int auth_user_name(uint32_t uid, char *buf, size_t size, struct err *err);
int auth_user_lookup(const char *name, uint32_t *ret_uid, uint32_t *ret_gid, struct err *err);
