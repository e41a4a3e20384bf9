/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token - the secret by which a program that cannot use munge, such as Prometheus, shows who it is. */
#pragma once
#include <stdbool.h>

struct err;

#define TOKEN_MAX 257

/* The token in a file: 16 to TOKEN_MAX - 1 printable characters without blanks, alone on its first
 * line. -EINVAL: it is not, or others than its owner and group may read the file; -errno. Read
 * again at each use, so that it can be changed without a restart. */
int token_read(const char *path, char ret[static TOKEN_MAX], struct err *err);
/* Is the value of an Authorization header "Bearer TOKEN"? Compares in constant time, so that a
 * token cannot be guessed byte by byte. */
bool token_is_shown(const char *authorization, const char *token);
