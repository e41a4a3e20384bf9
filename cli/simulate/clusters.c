/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clusters.c - counts the jobs of a trace by cluster; see clusters.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/simulate/clusters.h"
#include "common/err.h"

int simulate_clusters_count(struct simulate_clusters *c, const char *name)
{
	bool is_other = c->only && strcmp(c->only, name) != 0;
	size_t i = 0;

	c->left_out += is_other;
	while (i < c->n && strcmp(c->of[i].name, name) != 0)
		i++;
	if (i == SIMULATE_CLUSTERS_MAX) {
		c->more++;
		return is_other;
	}
	if (i == c->n)
		snprintf(c->of[c->n++].name, sizeof(c->of[i].name), "%s", name);
	c->of[i].jobs++;
	return is_other;
}

static const char *list_clusters(const struct simulate_clusters *c,
				 char buf[static SIMULATE_CLUSTERS_TEXT_MAX])
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < c->n && n < SIMULATE_CLUSTERS_TEXT_MAX; i++)
		n += (size_t)snprintf(buf + n, SIMULATE_CLUSTERS_TEXT_MAX - n, "%s%s %" PRId64,
				      i ? ", " : "", *c->of[i].name ? c->of[i].name : "-",
				      c->of[i].jobs);
	if (c->more && n < SIMULATE_CLUSTERS_TEXT_MAX)
		snprintf(buf + n, SIMULATE_CLUSTERS_TEXT_MAX - n, ", others %" PRId64, c->more);
	return buf;
}

int simulate_clusters_check(const struct simulate_clusters *c, const char *path,
			    struct err *err)
{
	char list[SIMULATE_CLUSTERS_TEXT_MAX];

	for (size_t i = 0; i < c->n; i++)
		if (!c->only || !strcmp(c->of[i].name, c->only))
			return 0;
	if (!c->only || c->n == 0)
		return 0;
	return err_set(err, -EINVAL, "%.200s: no job of cluster '%.64s'; there are: %.300s",
		       path, c->only, list_clusters(c, list));
}

const char *simulate_clusters_one(const struct simulate_clusters *c)
{
	if (c->only)
		return c->only;
	return c->n == 1 && *c->of[0].name ? c->of[0].name : NULL;
}

const char *simulate_clusters_mixed(const struct simulate_clusters *c,
				    char buf[static SIMULATE_CLUSTERS_TEXT_MAX])
{
	buf[0] = '\0';
	return c->only || c->n < 2 ? buf : list_clusters(c, buf);
}
