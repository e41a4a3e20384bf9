/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lazy.h - libraries that most runs of the command do not need: each is loaded when the first of its functions is called. Linking
 * them costs every command their search, mapping, relocation and initialisers: libsystemd alone brings six more.
 *
 * A file of this folder defines the functions of one library that `reeve` calls, under their own names and with the types of
 * the library's header; the daemons are linked with the library itself. A function that is missing here is an error of the
 * linker. */
#pragma once

struct lazy {
	const char *file, *package;
	void *loaded;
};

/* The function of the library. Where there is none, prints what is missing and ends the program with CLI_FAILED: the command is
 * installed with these packages. */
void *lazy_find(struct lazy *library, const char *name);

#define LAZY(result, name, parameters, arguments)                                              \
	result name parameters                                                                 \
	{                                                                                      \
		static __typeof__(&(name)) found;                                              \
		if (!found)                                                                    \
			*(void **)(void *)&found = lazy_find(&library, #name);                 \
		return found arguments;                                                        \
	}
