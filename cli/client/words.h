/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words - NULL-terminated lists of texts, as argv: commands, environments, names of nodes.
 *
 * An empty list is NULL.
 */
#pragma once
#include <stddef.h>

struct err;

/* Appends word to *list, which has *n words. Takes ownership of word, also after an error; a NULL
 * word is -ENOMEM, so that strdup() may be passed directly. */
int words_append(char ***list, size_t *n, char *word, struct err *err);
/* Returns NULL. */
char **words_free(char **list);
