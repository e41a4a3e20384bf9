/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curses.c - loads the wide ncurses when a screen is opened; see curses.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include "cli/top/curses.h"
#include "common/cleanup.h"
#include "common/err.h"

struct curses curses;

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define CURSES_ENTRY(name) { #name, offsetof(struct curses, name) },
	CURSES_FUNCTIONS(CURSES_ENTRY)
#undef CURSES_ENTRY
};

int curses_load(struct err *err)
{
	/* The library stays loaded: it has the state of the terminal. */
	void *library = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return err_set(
			err, -ENOENT,
			"the live screen needs ncurses (package libncursesw6): %s; 'reeve top "
			"--once' prints one page without it",
			dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f)
			return err_set(err, -ENOENT, "ncurses has no %s: a newer one is needed",
				       functions[i].name);
		*(void **)(void *)((char *)&curses + functions[i].offset) = f;
	}
	return 0;
}
