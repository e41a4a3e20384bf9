/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_filter.c - parses a list of names and remembers which were found; see name_filter.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/client/name_filter.h"
#include "common/err.h"
#include "common/nearest.h"

int name_filter_init(struct name_filter *a, const char *what, const char *list, struct err *err)
{
	size_t n;

	*a = (struct name_filter){ .what = what };
	for (; list; list = list[n] ? list + n + 1 : NULL) {
		n = strcspn(list, ",");
		if (n == 0 || n >= REQUEST_NAME_MAX || a->n == NAME_FILTER_MAX)
			return err_set(err, -EINVAL,
				       "--%s: write one name, or up to %d with commas between",
				       what, NAME_FILTER_MAX);
		snprintf(a->name[a->n++].text, REQUEST_NAME_MAX, "%.*s", (int)n, list);
	}
	return 0;
}

/* Keeps the nearer of the best name so far and this one. */
static void consider_name(struct name_filter_entry *asked, const char *name)
{
	struct nearest near;
	const char *best;

	nearest_init(&near, asked->text);
	if (*asked->nearest)
		nearest_offer(&near, asked->nearest);
	nearest_offer(&near, name);
	best = nearest_word(&near);
	if (best && best != asked->nearest)
		snprintf(asked->nearest, sizeof(asked->nearest), "%s", best);
}

bool name_filter_match(struct name_filter *a, const char *name)
{
	bool is_asked = a->n == 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!strcmp(a->name[i].text, name))
			is_asked = a->name[i].is_met = true;
		else if (!a->name[i].is_met)
			consider_name(&a->name[i], name);
	}
	return is_asked;
}

int name_filter_check(const struct name_filter *a, struct err *err)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct name_filter_entry *n = &a->name[i];

		if (n->is_met)
			continue;
		if (*n->nearest)
			return err_set(err, -ENOENT, "no %s '%s'; did you mean '%s'?", a->what,
				       n->text, n->nearest);
		return err_set(err, -ENOENT, "no %s '%s', or none that you may see", a->what,
			       n->text);
	}
	return 0;
}
