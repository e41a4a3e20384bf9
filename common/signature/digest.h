/* SPDX-License-Identifier: GPL-2.0-or-later */
/* digest - the SHA-256 of a command and of an environment, as signature.h has them. Private to
 * this room. */
#pragma once
#include "common/signature/signature.h"

/* Of a script and its arguments, or, where script is NULL, of a command and its arguments; each
 * text with its NUL. */
void digest_command(const char *script, char *const *argv,
		    char ret[static SIGNATURE_DIGEST_MAX]);
/* Of the first `n` of a list of texts, each with its NUL. */
void digest_texts(char *const *list, size_t n, char ret[static SIGNATURE_DIGEST_MAX]);
size_t digest_count(char *const *list);
