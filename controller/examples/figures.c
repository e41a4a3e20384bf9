/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figures.c - splits lists of figures as typed, and reports one figure; see examples_impl.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/examples/examples_impl.h"

void examples_report(struct examples_run *run, const struct example *e, const char *what,
		     const char *published, const char *here)
{
	const struct example_figure f = { e, what, published, here, !strcmp(published, here) };

	run->n_wrong += !f.holds;
	run->fn(run->ctx, &f);
}

bool examples_item(const char **list, const char *between, char *buf, size_t size)
{
	const char *p = *list;
	size_t n;

	if (!p)
		return false;
	p += strspn(p, " \t");
	n = strcspn(p, between);
	*list = p[n] ? p + n + 1 : NULL;
	while (n && strchr(" \t", p[n - 1]))
		n--;
	snprintf(buf, size, "%.*s", n < size ? (int)n : (int)size - 1, p);
	return true;
}

int examples_split(char *item, char **ret_figure, struct err *err)
{
	char *equals = strchr(item, '=');

	if (!equals || equals == item || !equals[1])
		return err_set(err, -EINVAL, "'%.80s' is not NAME=FIGURE", item);
	*equals = '\0';
	*ret_figure = equals + 1;
	return 0;
}
