/* SPDX-License-Identifier: GPL-2.0-or-later */
/* places.c - remembers file and line of each statement, for messages; see config_impl.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/config/config_impl.h"

struct place {
	const void *object;
	const struct conf_key *key;
	const char *file; /* of config_places.files */
	int line;
};

struct config_places {
	struct place *list;
	char **files;
	size_t n, room, n_files;
};

static const char *keep_file(struct config_places *p, const char *file)
{
	char **more;

	if (p->n_files && !strcmp(p->files[p->n_files - 1], file))
		return p->files[p->n_files - 1];
	more = realloc(p->files, (p->n_files + 1) * sizeof(*more));
	if (!more)
		return NULL;
	p->files = more;
	more[p->n_files] = strdup(file);
	return more[p->n_files] ? more[p->n_files++] : NULL;
}

static int grow_places(struct config_places *p)
{
	size_t room = p->room ? p->room * 2 : 64;
	struct place *more;

	if (p->n < p->room)
		return 0;
	more = realloc(p->list, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->list = more;
	p->room = room;
	return 0;
}

int config_note(struct config *c, const struct conf_place *place, struct err *err)
{
	struct config_places *p = c->places ? c->places : calloc(1, sizeof(*p));
	const char *file;

	c->places = p;
	file = p ? keep_file(p, place->file) : NULL;
	if (!file || grow_places(p) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	p->list[p->n++] = (struct place){ place->object, place->key, file, place->line };
	return 0;
}

/* The last statement of a key is the one that counts, so the search begins at the end. */
struct conf_fault config_place(const struct config *c, const void *object, const char *key)
{
	const struct config_places *p = c->places;

	for (size_t i = p ? p->n : 0; i > 0; i--) {
		const struct place *at = &p->list[i - 1];

		if (at->object == object &&
		    (key ? at->key && !strcmp(at->key->key, key) : !at->key))
			return (struct conf_fault){ at->file, at->line, NULL };
	}
	return (struct conf_fault){ p && p->n_files ? p->files[p->n_files - 1] : "", 0, NULL };
}

struct config_places *config_places_free(struct config_places *p)
{
	for (size_t i = 0; p && i < p->n_files; i++)
		free(p->files[i]);
	if (p) {
		free(p->files);
		free(p->list);
	}
	free(p);
	return NULL;
}
