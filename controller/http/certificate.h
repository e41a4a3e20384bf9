/* SPDX-License-Identifier: GPL-2.0-or-later */
/* certificate - the certificate of this controller with its key, and the authorities whose clients
 * it serves: read from files at start, and again while it runs.
 *
 * Connections keep what was read when they were opened; new ones get what was read last. Files that
 * cannot be used change nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct certificate;
struct certificate_set;
struct err;

#define CERTIFICATE_WARN_S (14 * 86400) /* left until its end: from here on it is warned of */

struct certificate_files {
	const char *certificate, *key; /* PEM; with the chain behind the certificate */
	const char
		*clients; /* PEM: authorities of client certificates; NULL: none is asked for */
	bool needs_client; /* a client without a certificate is refused */
};

/* The paths must stay. -EINVAL: no certificate or key in a file, they do not belong together, or the
 * certificate is not valid now; -EACCES, -ENOENT ...: a file cannot be read. */
int certificate_open(const struct certificate_files *files, struct certificate **ret,
		     struct err *err);
struct certificate *certificate_close(struct certificate *c);
DEFINE_CLEANUP(struct certificate *, certificate_close)
/* Reads the files again. < 0: as certificate_open(), and what was read before stays. */
int certificate_reload(struct certificate *c, struct err *err);

/* Seconds until its end; may be negative. */
int64_t certificate_left_s(const struct certificate *c);
/* Algorithm and bits of its public key: "RSA 4096". Until the next certificate_reload(). */
const char *certificate_key(const struct certificate *c);
/* "CN=head, valid until 2026-12-31 10:00:00 UTC" */
#define CERTIFICATE_WORDS_MAX 400
void certificate_format(const struct certificate *c, char ret[static CERTIFICATE_WORDS_MAX]);

/* For channel.c: a TLS session of a server with what was read last. *ret_set must be released after
 * the session. -ENOMEM. */
struct gnutls_session_int;
int certificate_begin(struct certificate *c, struct gnutls_session_int **ret_session,
		      struct certificate_set **ret_set);
void certificate_release(struct certificate_set *set);
