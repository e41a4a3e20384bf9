/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names - gives each text a number, from 0 in the order of their first use: rows in memory hold numbers
 * of users, accounts, nodes and models instead of texts. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct names {
	char **texts;	/* by number */
	int32_t *slots; /* number + 1; 0: free */
	size_t n, size;
};

/* The number of a text, which is added (and copied) where it is new. -ENOMEM. */
int32_t names_number(struct names *n, const char *text);
/* < 0: the text has no number. */
int32_t names_find(const struct names *n, const char *text);
void names_done(struct names *n);
