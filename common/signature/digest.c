/* SPDX-License-Identifier: GPL-2.0-or-later */
/* digest.c - hashes commands and environments; see digest.h. */
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include "common/signature/digest.h"

static void add_text(struct sha256_ctx *sha, const char *text)
{
	sha256_update(sha, strlen(text) + 1, (const uint8_t *)text);
}

static void end_digest(struct sha256_ctx *sha, char ret[static SIGNATURE_DIGEST_MAX])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

void digest_command(const char *script, char *const *argv,
		    char ret[static SIGNATURE_DIGEST_MAX])
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	add_text(&sha, script ? "script" : "command");
	if (script)
		add_text(&sha, script);
	for (; argv && *argv; argv++)
		add_text(&sha, *argv);
	end_digest(&sha, ret);
}

void digest_texts(char *const *list, size_t n, char ret[static SIGNATURE_DIGEST_MAX])
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	for (size_t i = 0; i < n; i++)
		add_text(&sha, list[i]);
	end_digest(&sha, ret);
}

size_t digest_count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}
