/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lazy.c - see lazy.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "cli/cli.h"
#include "cli/lazy/lazy.h"

void *lazy_find(struct lazy *library, const char *name)
{
	void *found = NULL;

	if (!library->loaded)
		library->loaded = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (library->loaded)
		found = dlsym(library->loaded, name);
	if (found)
		return found;
	fprintf(stderr, "reeve: this needs %s (package %s): %s\n", library->file,
		library->package, dlerror());
	exit(CLI_FAILED);
}
