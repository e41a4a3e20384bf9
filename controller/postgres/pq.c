/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pq.c - loads libpq and finds the functions that pq.h lists. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/postgres/pq.h"

#define LIBRARY "libpq.so.5"

struct pq pq;

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define PQ_ENTRY(name) { #name, offsetof(struct pq, name) },
	PQ_FUNCTIONS(PQ_ENTRY)
#undef PQ_ENTRY
};

/* Repeated calls do nothing; the library stays loaded until the process ends. */
int pq_load(struct err *err)
{
	static void *library;

	if (library)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return err_set(err, -ENOENT,
			       "a ledger in PostgreSQL needs " LIBRARY " (package libpq5): %s",
			       dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f) {
			dlclose(library);
			library = NULL;
			return err_set(err, -ENOENT,
				       LIBRARY " has no %s: a newer one is needed",
				       functions[i].name);
		}
		/* C has no conversion of void * to a function pointer: POSIX stores it as here. */
		*(void **)(void *)((char *)&pq + functions[i].offset) = f;
	}
	return 0;
}
