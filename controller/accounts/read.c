/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read.c - reads a file or a text, checks it, and builds struct accounts; see accounts.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts_impl.h"

struct source {
	const char *path;	 /* a file with its drop-ins; NULL: */
	const char *text, *name; /* a text */
	size_t size;
};

/* One copy of a file's name for all statements of it: they come file by file. */
static const char *keep_file(struct accounts_typed_all *all, const char *file)
{
	char **more;

	if (all->n_files && !strcmp(all->files[all->n_files - 1], file))
		return all->files[all->n_files - 1];
	more = realloc(all->files, (all->n_files + 1) * sizeof(*more));
	if (!more)
		return NULL;
	all->files = more;
	more[all->n_files] = strdup(file);
	return more[all->n_files] ? more[all->n_files++] : NULL;
}

static int store_statement(void *target, const struct conf_place *place, struct err *err)
{
	struct accounts_typed_all *all = target;
	struct accounts_typed *t = place->object;
	const char *file = keep_file(all, place->file);
	struct accounts_typed_place at = { file, place->line };

	if (!file)
		return err_set(err, -ENOMEM, "out of memory");
	if (!place->key) {
		t->head = at;
		return 0;
	}
	t->keys[accounts_key_rank(place->key->section, place->key->key)] = at;
	return accounts_check_value(place, err);
}

static void count_fault(void *ctx, const struct conf_fault *fault)
{
	struct accounts_typed_all *all = ctx;

	all->n_faults++;
	all->tell(all->ctx, fault);
}

static int read_source(const struct source *from, struct accounts_typed_all *all,
		       struct accounts **ret, struct err *err)
{
	const struct conf_reader how = { accounts_keys,	  accounts_sections, all,
					 store_statement, count_fault,	     all };
	int r = from->path ? conf_read(from->path, &how, err)
			   : conf_read_text(from->text, from->size, from->name, &how, err);

	if (r < 0)
		return r;
	accounts_check_all(all);
	return all->n_faults ? all->n_faults : accounts_build(all, ret, err);
}

int accounts_check(const char *path, void (*tell)(void *ctx, const struct conf_fault *fault),
		   void *ctx, struct accounts **ret, struct err *err)
{
	struct accounts_typed_all all = { .tell = tell, .ctx = ctx };
	int r = read_source(&(struct source){ .path = path }, &all, ret, err);

	accounts_typed_done(&all);
	return r;
}

static void keep_first(void *ctx, const struct conf_fault *fault)
{
	struct err *first = ctx;

	if (!*first->text)
		err_set(first, 0, "%s", fault->text);
}

static int read_first(const struct source *from, struct accounts **ret, struct err *err)
{
	struct err first = { "" };
	struct accounts_typed_all all = { .tell = keep_first, .ctx = &first };
	int r = read_source(from, &all, ret, err);

	accounts_typed_done(&all);
	return r > 0 ? err_set(err, -EINVAL, "%s", first.text) : r;
}

int accounts_read(const char *path, struct accounts **ret, struct err *err)
{
	return read_first(&(struct source){ .path = path }, ret, err);
}

int accounts_parse(const char *text, size_t size, const char *name, struct accounts **ret,
		   struct err *err)
{
	return read_first(&(struct source){ .text = text, .size = size, .name = name }, ret,
			  err);
}
