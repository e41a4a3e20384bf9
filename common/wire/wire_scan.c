/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire_scan.c - see wire.h: one look at every byte, no memory. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"

/* Behind the string that begins at `p` (its first quote is before it); `end` when it has no
 * end. */
static const char *skip_string(const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return end;
}

/* Every value and every key but the first value stands behind one of [ { , : - so there are at
 * most as many as these, and one. */
static void count_one(char c, struct wire_bounds *n, size_t *depth)
{
	switch (c) {
	case '{':
	case '[':
		n->containers++;
		n->elements++;
		if (++*depth > n->depth)
			n->depth = *depth;
		break;
	case '}':
	case ']':
		*depth -= *depth > 0;
		break;
	case ',':
	case ':':
		n->elements++;
		break;
	default:
		break;
	}
}

static const char *find_excess(const struct wire_bounds *n, const struct wire_bounds *max)
{
	if (n->depth > max->depth)
		return "levels";
	if (n->containers > max->containers)
		return "objects and arrays";
	return n->elements > max->elements ? "elements" : NULL;
}

int wire_scan(const char *text, size_t size, const struct wire_bounds *max, struct err *err)
{
	const char *end = text + size, *p = text, *what = NULL;
	struct wire_bounds n = { .elements = 1 };
	size_t depth = 0, most;

	while (p < end && !what) {
		if (*p == '"') {
			p = skip_string(p + 1, end);
			continue;
		}
		count_one(*p++, &n, &depth);
		what = find_excess(&n, max);
	}
	if (!what)
		return 0;
	most = n.depth > max->depth		? max->depth
	       : n.containers > max->containers ? max->containers
						: max->elements;
	return err_set(err, -EMSGSIZE, "the document has more than %zu %s", most, what);
}
