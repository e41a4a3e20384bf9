/* names - texts as small numbers: the first is 0. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct names {
	char **texts;	/* by number */
	int32_t *slots; /* number + 1; 0: free */
	size_t n, size;
};

/* < 0: out of memory. */
int32_t names_number(struct names *n, const char *text);
/* < 0: there is none. */
int32_t names_find(const struct names *n, const char *text);
void names_done(struct names *n);
