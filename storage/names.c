/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - asks the system for groups, and searches the lines of /etc/projid; see names.h. */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "storage/names.h"

#define PROJID_MAX (4 << 20) /* bytes of the file that are read */

struct names {
	char *projects; /* the text of /etc/projid */
};

/* The number behind the ":" at the end of a line; -1: there is none. */
static int64_t read_id(const char *at, const char *end)
{
	int64_t id = at < end ? 0 : -1;

	for (; at < end && id >= 0; at++)
		id = *at < '0' || *at > '9' || id > UINT32_MAX ? -1 : id * 10 + (*at - '0');
	return id;
}

bool names_find_project(const char *text, int64_t id, char ret[static LISTING_NAME_MAX])
{
	for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
		const char *colon;

		end = line + strcspn(line, "\n");
		colon = memchr(line, ':', (size_t)(end - line));
		if (*line == '#' || !colon || colon == line ||
		    colon - line >= LISTING_NAME_MAX || read_id(colon + 1, end) != id)
			continue;
		memcpy(ret, line, (size_t)(colon - line));
		ret[colon - line] = '\0';
		return true;
	}
	return false;
}

int names_open(const char *projid, struct names **ret, struct err *err)
{
	_cleanup_fclose_ FILE *f = fopen(projid, "re");
	struct names *n = calloc(1, sizeof(*n));
	size_t size = 0;

	if (n)
		n->projects = calloc(1, f ? PROJID_MAX : 1);
	if (!n || !n->projects) {
		names_close(n);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (f)
		size = fread(n->projects, 1, PROJID_MAX - 1, f);
	n->projects[size] = '\0';
	*ret = n;
	return 0;
}

struct names *names_close(struct names *n)
{
	if (n)
		free(n->projects);
	free(n);
	return NULL;
}

void names_set(const struct names *n, struct listing_row *row)
{
	const struct group *group;

	if (row->name[0] || row->id < 0)
		return;
	group = row->kind == LISTING_GROUP ? getgrgid((gid_t)row->id) : NULL;
	if (group && strlen(group->gr_name) < sizeof(row->name))
		strcpy(row->name, group->gr_name);
	else if (row->kind != LISTING_PROJECT ||
		 !names_find_project(n->projects, row->id, row->name))
		snprintf(row->name, sizeof(row->name), "%" PRId64, row->id);
}
