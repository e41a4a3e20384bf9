/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - reads controller.conf and its profiles, and checks the whole; see config.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/config/config_impl.h"

/* What is read: a file with its drop-ins, or a text (path NULL). */
struct source {
	const char *path, *text;
	size_t size;
};

/* One reading, whatever the number of files. */
struct reading {
	struct config *c;
	const struct config_faults *to;
	int n_faults;
};

/* ---- reading ---- */

/* The place is stored before the value is checked, so that faults found later have file and
 * line. */
static int store_statement(void *target, const struct conf_place *place, struct err *err)
{
	int r = config_note(target, place, err);

	return r < 0 ? r : config_check_value(place, err);
}

static void count_fault(void *ctx, const struct conf_fault *fault)
{
	struct reading *reading = ctx;

	reading->n_faults++;
	reading->to->tell(reading->to->ctx, fault);
}

static void ignore_fault(void *ctx, const struct conf_fault *fault)
{
	(void)ctx;
	(void)fault;
}

static int read_source(const struct source *from, const struct conf_reader *how,
		       struct err *err)
{
	return from->path ? conf_read(from->path, how, err)
			  : conf_read_text(from->text, from->size, "controller.conf", how, err);
}

/* Reads the profiles first, since the file overrides them. Their names are in the file: it is
 * read once before, without reporting faults, to find them. */
static int read_profile(const struct source *from, struct reading *reading, struct err *err)
{
	_cleanup_(config_freep) struct config *scout = NULL;
	struct err why = { "" };
	struct conf_fault fault;
	int r = config_new(&scout, err);

	if (r == 0)
		r = read_source(from,
				&(struct conf_reader){ config_keys, config_sections, scout,
						       store_statement, ignore_fault, NULL },
				err);
	if (r < 0 || !scout->policy.profile)
		return r;
	r = config_read_profiles(scout,
				 &(struct conf_reader){ config_keys, config_sections,
							reading->c, store_statement,
							count_fault, reading },
				 &why);
	if (r == 0 || r == -ENOMEM)
		return r;
	fault = config_place(scout, scout, "Profile");
	err_prefix(&why, 0, "%s, line %d: Profile = %.64s", fault.file, fault.line,
		   scout->policy.profile);
	fault.text = why.text;
	count_fault(reading, &fault);
	return 0;
}

/* Reads everything into reading->c and checks it. < 0: could not be read at all. */
static int read_all(const struct source *from, struct reading *reading, struct err *err)
{
	const struct conf_reader how = { config_keys,	  config_sections, reading->c,
					 store_statement, count_fault,	   reading };
	void *object;
	int r = read_profile(from, reading, err);

	if (r == 0)
		r = read_source(from, &how, err);
	if (r == 0 && !reading->c->n_clusters)
		r = config_add_cluster(reading->c, "main", &object, err);
	if (r == 0)
		config_resolve_units(reading->c);
	if (r == 0)
		reading->n_faults += config_check_all(reading->c, reading->to);
	reading->c->places = config_places_free(reading->c->places);
	return r;
}

static int check_source(const struct source *from, const struct config_faults *to,
			struct config **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *c = NULL;
	struct reading reading = { NULL, to, 0 };
	int r = config_new(&c, err);

	reading.c = c;
	if (r == 0)
		r = read_all(from, &reading, err);
	if (r < 0 || reading.n_faults)
		return r < 0 ? r : reading.n_faults;
	*ret = TAKE_PTR(c);
	return 0;
}

int config_check(const char *path, const struct config_faults *to, struct config **ret,
		 struct err *err)
{
	return check_source(&(struct source){ .path = path }, to, ret, err);
}

static void keep_first_fault(void *ctx, const struct conf_fault *fault)
{
	struct err *first = ctx;

	if (!*first->text)
		err_set(first, 0, "%s", fault->text);
}

static int load_source(const struct source *from, struct config **ret, struct err *err)
{
	struct err first = { "" };
	int r = check_source(from, &(struct config_faults){ keep_first_fault, &first }, ret,
			     err);

	return r > 0 ? err_set(err, -EINVAL, "%s", first.text) : r;
}

int config_load(const char *path, struct config **ret, struct err *err)
{
	return load_source(&(struct source){ .path = path }, ret, err);
}

int config_parse(const char *text, size_t size, struct config **ret, struct err *err)
{
	return load_source(&(struct source){ .text = text, .size = size }, ret, err);
}
