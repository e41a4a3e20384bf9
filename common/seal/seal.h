/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal - authenticates messages between two sides with a common key, by whatever way they go: HMAC-SHA-256 (RFC 2104, RFC 4231).
 *
 * It hides nothing, and knows no order: a counter within the text, which grows, lets the other side recognise a repetition.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define SEAL_KEY_SIZE 32
#define SEAL_MAC_SIZE 32

struct seal_text {
	/* Direction and kind of the text, sealed with it, so that one is never taken for another; NULL: none. */
	const char *label;
	const struct iovec *pieces; /* the text, in this order */
	size_t n;
};

void seal_make(const uint8_t key[static SEAL_KEY_SIZE], const struct seal_text *t,
	       uint8_t ret[static SEAL_MAC_SIZE]);
/* In a time that does not depend on the place of a difference. */
bool seal_is_good(const uint8_t key[static SEAL_KEY_SIZE], const struct seal_text *t,
		  const uint8_t mac[static SEAL_MAC_SIZE]);
