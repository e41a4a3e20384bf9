/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal.c - makes and checks authentication codes; see seal.h. */
#include <nettle/hmac.h>
#include <string.h>
#include "common/seal/seal.h"

void seal_make(const uint8_t key[static SEAL_KEY_SIZE], const struct seal_text *t,
	       uint8_t ret[static SEAL_MAC_SIZE])
{
	struct hmac_sha256_ctx hmac;

	hmac_sha256_set_key(&hmac, SEAL_KEY_SIZE, key);
	/* With its NUL, so that no label is the beginning of another one with text. */
	if (t->label)
		hmac_sha256_update(&hmac, strlen(t->label) + 1, (const uint8_t *)t->label);
	for (size_t i = 0; i < t->n; i++)
		if (t->pieces[i].iov_len)
			hmac_sha256_update(&hmac, t->pieces[i].iov_len, t->pieces[i].iov_base);
	hmac_sha256_digest(&hmac, SEAL_MAC_SIZE, ret);
}

bool seal_is_good(const uint8_t key[static SEAL_KEY_SIZE], const struct seal_text *t,
		  const uint8_t mac[static SEAL_MAC_SIZE])
{
	uint8_t right[SEAL_MAC_SIZE];
	uint8_t differs = 0;

	seal_make(key, t, right);
	for (size_t i = 0; i < SEAL_MAC_SIZE; i++)
		differs |= right[i] ^ mac[i];
	return !differs;
}
