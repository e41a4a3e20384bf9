/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words.c - NULL-terminated lists of texts; see words.h. */
#include <errno.h>
#include <stdlib.h>
#include "cli/client/words.h"
#include "common/err.h"

int words_append(char ***list, size_t *n, char *word, struct err *err)
{
	char **more = word ? realloc(*list, (*n + 2) * sizeof(*more)) : NULL;

	if (!more) {
		free(word);
		return err_set(err, -ENOMEM, "out of memory");
	}
	more[(*n)++] = word;
	more[*n] = NULL;
	*list = more;
	return 0;
}

char **words_free(char **list)
{
	for (char **p = list; p && *p; p++)
		free(*p);
	free(list);
	return NULL;
}
