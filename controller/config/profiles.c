/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profiles.c - reads the profiles that a file names, one after the other, so that one
 * site may have clusters of several, and renames their clusters; see config_impl.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/config/config_impl.h"
#include "controller/config/profile.h"

#define PROFILES_MAX 16

struct profile {
	char name[256];
	struct config *alone; /* what it states, for comparison */
};

struct profiles {
	struct profile list[PROFILES_MAX];
	size_t n;
};

/* "A, B": the next of a list, without blanks; false: there is none. */
static bool next_item(const char **list, char *buf, size_t size)
{
	const char *p = *list;
	size_t n;

	if (!p)
		return false;
	p += strspn(p, " \t");
	n = strcspn(p, ",");
	*list = p[n] ? p + n + 1 : NULL;
	while (n && strchr(" \t", p[n - 1]))
		n--;
	snprintf(buf, size, "%.*s", n < size ? (int)n : (int)size - 1, p);
	return true;
}

/* ---- profiles beside each other ---- */

static bool is_stated(const struct config *c, const void *object, const char *key)
{
	return config_place(c, object, key).line > 0;
}

static int compare_setting(const struct profile *a, const struct profile *b,
			   const struct config_setting *s, struct err *err)
{
	char of_a[256] = "", of_b[256] = "";

	if (config_setting_format(a->alone, s, NULL, (struct config_text){ of_a, sizeof(of_a) },
				  NULL) < 0 ||
	    config_setting_format(b->alone, s, NULL, (struct config_text){ of_b, sizeof(of_b) },
				  NULL) < 0 ||
	    !strcmp(of_a, of_b))
		return 0;
	return err_set(err, -EINVAL,
		       "%s of [%s] is %.80s in %.80s and %.80s in %.80s; state it in this file",
		       s->key, s->section, of_a, a->name, of_b, b->name);
}

/* [Policy], [Queue NAME] or [Qos NAME]. */
struct part {
	const char *section, *name;
};

static const void *part_of(const struct config *c, const struct part *p)
{
	if (!strcmp(p->section, "Queue"))
		return config_queue(c, p->name);
	if (!strcmp(p->section, "Qos"))
		return config_qos(c, p->name);
	return c;
}

/* A key that both state for one object must have the same value, or be stated by the file
 * itself. */
static int compare_keys(const struct profile *a, const struct profile *b,
			const struct config *own, const struct part *part, struct err *err)
{
	const void *of_a = part_of(a->alone, part), *of_b = part_of(b->alone, part);
	const void *of_own = part_of(own, part);
	char section[REQUEST_NAME_MAX + 8];
	int r = 0;

	snprintf(section, sizeof(section), "%s%s%s", part->section, *part->name ? " " : "",
		 part->name);
	for (const struct conf_key *k = config_keys; of_a && of_b && k->key && r == 0; k++)
		if (!strcmp(k->section, part->section) && is_stated(a->alone, of_a, k->key) &&
		    is_stated(b->alone, of_b, k->key) &&
		    !(of_own && is_stated(own, of_own, k->key)))
			r = compare_setting(a, b, &(struct config_setting){ section, k->key },
					    err);
	return r;
}

/* Refuses two profiles that contradict each other where the file itself does not decide. */
static int compare_profiles(const struct profile *a, const struct profile *b,
			    const struct config *own, struct err *err)
{
	int r = compare_keys(a, b, own, &(struct part){ "Policy", "" }, err);

	for (size_t i = 0; i < b->alone->n_queues && r == 0; i++)
		r = compare_keys(a, b, own,
				 &(struct part){ "Queue", b->alone->queues[i]->name }, err);
	for (size_t i = 0; i < b->alone->n_qos && r == 0; i++)
		r = compare_keys(a, b, own, &(struct part){ "Qos", b->alone->qos[i]->name },
				 err);
	for (size_t i = 0; i < b->alone->n_clusters && r == 0; i++)
		for (size_t k = 0; k < a->alone->n_clusters && r == 0; k++)
			if (!strcmp(a->alone->clusters[k]->name, b->alone->clusters[i]->name))
				r = err_set(err, -EINVAL, "%s and %s both have a [Cluster %s]",
					    a->name, b->name, b->alone->clusters[i]->name);
	return r;
}

/* ---- reading ---- */

static int keep_place(void *target, const struct conf_place *place, struct err *err)
{
	return config_note(target, place, err);
}

static void ignore_fault(void *ctx, const struct conf_fault *fault)
{
	(void)ctx;
	(void)fault;
}

/* Reads a profile twice: onto the configuration, and by itself (`alone`), for comparison with
 * others. */
static int read_one(struct profiles *all, const char *name, const struct conf_reader *how,
		    struct err *err)
{
	struct profile *p = &all->list[all->n];
	_cleanup_free_ char *path = NULL;
	struct config *to = how->target;
	int r;

	if (all->n == PROFILES_MAX)
		return err_set(err, -EINVAL, "more than %d profiles", PROFILES_MAX);
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->list[i].name, name))
			return err_set(err, -EINVAL, "%s is named twice", name);
	r = profile_find(name, &path, err);
	if (r == 0)
		r = conf_read(path, how, err);
	if (r == 0 && (to->policy.profile || to->policy.rename))
		r = err_set(err, -EINVAL,
			    "%s states Profile= or RenameClusters= itself; name its profiles "
			    "here, with commas between them",
			    path);
	if (r < 0)
		return r;
	p->alone = calloc(1, sizeof(*p->alone));
	if (!p->alone)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(p->name, sizeof(p->name), "%s", name);
	all->n++;
	return conf_read(path,
			 &(struct conf_reader){ config_keys, config_sections, p->alone,
						keep_place, ignore_fault, NULL },
			 err);
}

/* ---- names ---- */

/* "OLD=NEW" */
static int split_rename(char *item, char **ret_new, struct err *err)
{
	char *equals = strchr(item, '=');

	if (equals) {
		*equals = '\0';
		*ret_new = equals + 1;
	}
	if (!equals || !request_is_name(item) || !request_is_name(*ret_new))
		return err_set(err, -EINVAL, "'%.80s': write OLD=NEW, e.g. narval=main", item);
	return 0;
}

int config_check_rename(void *object, const char *value, struct err *err)
{
	char item[2 * REQUEST_NAME_MAX + 2], *new;
	int r = 0;

	(void)object;
	while (r == 0 && next_item(&value, item, sizeof(item)))
		r = split_rename(item, &new, err);
	return r;
}

static void rename_types(struct config *c, const char *old, const char *new)
{
	size_t n = strlen(old);

	for (size_t i = 0; i < c->n_node_types; i++) {
		char *name = c->node_types[i]->name, rest[2 * REQUEST_NAME_MAX];

		if (strncmp(name, old, n) != 0 || name[n] != '/')
			continue;
		snprintf(rest, sizeof(rest), "%s", name + n);
		snprintf(name, sizeof(c->node_types[i]->name), "%s%.63s", new, rest);
	}
}

static int rename_one(struct config *c, const char *old, const char *new, struct err *err)
{
	struct config_cluster *found = NULL;

	for (size_t i = 0; i < c->n_clusters; i++) {
		if (!strcmp(c->clusters[i]->name, new))
			return err_set(err, -EINVAL, "RenameClusters: there is a cluster %s",
				       new);
		if (!strcmp(c->clusters[i]->name, old))
			found = c->clusters[i];
	}
	if (!found)
		return err_set(err, -EINVAL, "RenameClusters: no profile has a cluster %s",
			       old);
	strcpy(found->name, new);
	rename_types(c, old, new);
	return 0;
}

static int rename_all(struct config *c, const char *list, struct err *err)
{
	char item[2 * REQUEST_NAME_MAX + 2], *new;
	int r = 0;

	while (r == 0 && next_item(&list, item, sizeof(item))) {
		r = split_rename(item, &new, err);
		if (r == 0)
			r = rename_one(c, item, new, err);
	}
	return r;
}

const char *config_renamed(const struct config *c, const char *old,
			   char buf[static REQUEST_NAME_MAX])
{
	char item[2 * REQUEST_NAME_MAX + 2], *new;
	const char *list = c->policy.rename;

	while (next_item(&list, item, sizeof(item)))
		if (split_rename(item, &new, NULL) == 0 && !strcmp(item, old)) {
			snprintf(buf, REQUEST_NAME_MAX, "%s", new);
			return buf;
		}
	return old;
}

int config_read_profiles(const struct config *own, const struct conf_reader *how,
			 struct err *err)
{
	struct profiles all = { .n = 0 };
	const char *list = own->policy.profile;
	char name[256];
	int r = 0;

	while (r == 0 && next_item(&list, name, sizeof(name)))
		r = read_one(&all, name, how, err);
	for (size_t b = 1; b < all.n; b++)
		for (size_t a = 0; a < b && r == 0; a++)
			r = compare_profiles(&all.list[a], &all.list[b], own, err);
	if (r == 0)
		r = rename_all(how->target, own->policy.rename, err);
	for (size_t i = 0; i < all.n; i++)
		config_free(all.list[i].alone);
	return r;
}
