/* asked_names.c - see asked_names.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/client/asked_names.h"
#include "common/err.h"
#include "common/nearest.h"

int asked_names_init(struct asked_names *a, const char *what, const char *list, struct err *err)
{
	size_t n;

	*a = (struct asked_names){ .what = what };
	for (; list; list = list[n] ? list + n + 1 : NULL) {
		n = strcspn(list, ",");
		if (n == 0 || n >= REQUEST_NAME_MAX || a->n == ASKED_NAMES_MAX)
			return err_set(err, -EINVAL,
				       "--%s: write one name, or up to %d with commas between",
				       what, ASKED_NAMES_MAX);
		snprintf(a->name[a->n++].text, REQUEST_NAME_MAX, "%.*s", (int)n, list);
	}
	return 0;
}

static void offer(struct asked_name *asked, const char *name)
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

bool asked_names_meet(struct asked_names *a, const char *name)
{
	bool is_asked = a->n == 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!strcmp(a->name[i].text, name))
			is_asked = a->name[i].is_met = true;
		else if (!a->name[i].is_met)
			offer(&a->name[i], name);
	}
	return is_asked;
}

int asked_names_check(const struct asked_names *a, struct err *err)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct asked_name *n = &a->name[i];

		if (n->is_met)
			continue;
		if (*n->nearest)
			return err_set(err, -ENOENT, "no %s '%s' there; did you mean '%s'?",
				       a->what, n->text, n->nearest);
		return err_set(err, -ENOENT, "no %s '%s' there, or none that you may see",
			       a->what, n->text);
	}
	return 0;
}
