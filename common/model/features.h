/* SPDX-License-Identifier: GPL-2.0-or-later */
/* features - words that nodes have and requests ask for: "ib,nvme".
 *
 * Pure. A list is a text: each word once, in small letters, in the order of the alphabet, with
 * commas between them; "" is none. So lists can be kept, compared and shown as they are.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define FEATURES_MAX 128 /* bytes of a list, with the NUL */

/* Case does not matter; a word that is there already changes nothing. -EINVAL: no name (1 to
 * 63 of letters, digits and . _ + -), or too many; *list is then as it was. */
int features_add(char list[static FEATURES_MAX], const char *word, struct err *err);
/* "b, A" onto the list: words with commas between them, blanks around them. */
int features_parse(const char *text, char list[static FEATURES_MAX], struct err *err);
/* Are all of `wanted` in `has`? */
bool features_have(const char *has, const char *wanted);
/* Small letters; a name of at most `size` - 1 bytes. -EINVAL: it is none. */
int features_lower(const char *name, char *to, size_t size, struct err *err);
