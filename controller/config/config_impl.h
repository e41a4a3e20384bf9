/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_impl - shared by the files of config: tables of keys and sections, and the checks. */
#pragma once
#include "controller/config/config.h"

/* keys.c */
extern const struct conf_key config_keys[];

/* objects.c: a configuration with every default; config_free() frees it. -ENOMEM. */
int config_new(struct config **ret, struct err *err);
extern const struct conf_section config_sections[];
int config_add_cluster(void *target, const char *name, void **ret_object, struct err *err);
/* The lists of objects of named sections: where in struct config. Ends with section NULL. */
struct config_list {
	const char *section;
	size_t objects, n; /* offsets of a list of pointers, and of its length */
};
extern const struct config_list config_lists[];
int config_set_text(char **to, const char *text, struct err *err);

/* values.c: checks one statement by itself, and parses its value further. */
int config_check_value(const struct conf_place *place, struct err *err);

/* units.c: an amount of memory, by what units mean at the site; may be a fraction: "4.8GB". */
int config_parse_memory(const char *text, enum amount_units units, struct fraction *ret,
			struct err *err);
/* "cpu=1,gpu=4,mem=0.25/GB" as typed onto w->per. */
int config_parse_weights(const char *value, struct config_weights *w, struct err *err);
/* One of DefaultResources and MaxResources, for every meaning. */
int config_parse_resources(const char *value, struct resources in[static _AMOUNT_UNITS_MAX],
			   struct err *err);
/* Once all is read: the amounts of memory of clusters and node types as they are meant. */
void config_resolve_units(struct config *c);

/* profiles.c: reads the profiles that `own` names, one after the other, by `how` onto
 * its target, whose clusters then have the names that `own` gives them. -EINVAL: no such
 * profile, two that contradict each other where the file itself does not decide, a bad name. */
int config_read_profiles(const struct config *own, const struct conf_reader *how,
			 struct err *err);
int config_check_rename(void *object, const char *value, struct err *err);

/* hooks.c: the same for keys of [Hooks]; object is the struct config. */
int config_check_events(void *object, const char *value, struct err *err);
int config_check_percents(void *object, const char *value, struct err *err);
int config_check_hook(void *object, const char *value, struct err *err);
/* token.c: of MetricsToken=. */
int config_check_token(void *object, const char *value, struct err *err);
/* certificate.c: of Certificate= and ClientCertificates=, and of CertificateKey=. */
int config_check_certificate(void *object, const char *value, struct err *err);
int config_check_key(void *object, const char *value, struct err *err);

/* places.c: file and line of statements, for faults found after reading. */
int config_note(struct config *c, const struct conf_place *place, struct err *err);
struct config_places *config_places_free(struct config_places *p);
/* File and line of the key of an object (key NULL: of its head); line 0 when it was not stated.
 */
struct conf_fault config_place(const struct config *c, const void *object, const char *key);

/* consistency.c: checks that statements agree with each other. Returns the number of faults. */
int config_check_all(const struct config *c, const struct config_faults *to);
