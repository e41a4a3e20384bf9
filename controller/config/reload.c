/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload.c - compares two configurations, and makes one of them that is in force from now on; see
 * config.h. */
#include <stdio.h>
#include <string.h>
#include "common/conf/change.h"
#include "controller/config/config_impl.h"

static const char *const plain_sections[] = { "Controller", "Policy", "Hooks" };

/* ---- objects ---- */

struct objects {
	void **list; /* each begins with its name */
	size_t n;
};

static struct objects objects_of(struct config *c, const struct config_list *l)
{
	return (struct objects){ *(void ***)(void *)((char *)c + l->objects),
				 *(size_t *)(void *)((char *)c + l->n) };
}

/* In both lists most objects are at the same place. NULL: there is none of that name. */
static void *find_object(struct objects in, const char *name, size_t place)
{
	if (place < in.n && !strcmp(in.list[place], name))
		return in.list[place];
	for (size_t i = 0; i < in.n; i++)
		if (!strcmp(in.list[i], name))
			return in.list[i];
	return NULL;
}

static void tell_section(struct conf_changes *to, struct conf_change c, const char *section,
			 const char *name)
{
	snprintf(c.section, sizeof(c.section), "%s %s", section, name);
	conf_change_tell(to, &c);
}

static void compare_objects(const struct config_list *l, struct objects now,
			    struct objects fresh, struct conf_changes *to)
{
	for (size_t i = 0; i < fresh.n; i++) {
		const char *name = fresh.list[i];
		struct conf_pair p = { l->section, name, find_object(now, name, i),
				       fresh.list[i] };

		if (p.now)
			conf_compare(config_keys, &p, to);
		else
			tell_section(to, (struct conf_change){ .is_added = true }, l->section,
				     name);
	}
	for (size_t i = 0; i < now.n; i++)
		if (!find_object(fresh, now.list[i], i))
			tell_section(to, (struct conf_change){ .is_removed = true }, l->section,
				     now.list[i]);
}

/* Jobs that name no cluster go to the first one. */
static void compare_first_cluster(const struct config *now, const struct config *fresh,
				  struct conf_changes *to)
{
	struct conf_change c = { .section = "Cluster" };

	if (!strcmp(now->clusters[0]->name, fresh->clusters[0]->name))
		return;
	snprintf(c.was, sizeof(c.was), "%s", now->clusters[0]->name);
	snprintf(c.is, sizeof(c.is), "%s", fresh->clusters[0]->name);
	conf_change_tell(to, &c);
}

/* ---- the whole ---- */

static void compare_all(struct config *now, struct config *fresh, struct conf_changes *to)
{
	for (size_t i = 0; i < ARRAY_LEN(plain_sections); i++)
		conf_compare(config_keys,
			     &(struct conf_pair){ plain_sections[i], "", now, fresh }, to);
	for (const struct config_list *l = config_lists; l->section; l++)
		compare_objects(l, objects_of(now, l), objects_of(fresh, l), to);
	compare_first_cluster(now, fresh, to);
}

static void swap_int(int *a, int *b)
{
	int kept = *a;

	*a = *b;
	*b = kept;
}

/* What needs a restart stays in force: `fresh` gets it, with what was derived from it when it was read. */
static void keep_restart(struct config *now, struct config *fresh)
{
	for (size_t i = 0; i < ARRAY_LEN(plain_sections); i++)
		conf_swap_restart(config_keys,
				  &(struct conf_pair){ plain_sections[i], "", now, fresh });
	for (const struct config_list *l = config_lists; l->section; l++) {
		struct objects a = objects_of(now, l), b = objects_of(fresh, l);

		for (size_t i = 0; i < b.n; i++) {
			struct conf_pair p = { l->section, b.list[i],
					       find_object(a, b.list[i], i), b.list[i] };

			if (p.now)
				conf_swap_restart(config_keys, &p);
		}
	}
	swap_int(&now->policy.year_start_month, &fresh->policy.year_start_month);
	swap_int(&now->policy.year_start_day, &fresh->policy.year_start_day);
}

void config_reload(struct config *now, struct config *fresh, struct conf_changes *to)
{
	struct config kept;

	compare_all(now, fresh, to);
	keep_restart(now, fresh);
	kept = *now;
	*now = *fresh;
	*fresh = kept;
}
