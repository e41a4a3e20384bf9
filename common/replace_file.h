/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replace_file - writes a file that other programs read at any time: they see the old contents or the new ones
 * whole. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

struct replace_file {
	const char *path, *text;
	size_t size;
	bool is_synced;	 /* on disk when this returns: for what is not written again soon */
	bool is_private; /* a new file is 0600 */
};

/* Writes a new file beside `path` and renames it. A file that is replaced passes its mode on; a new one is 0644.
 * -errno: what was there is unchanged, and nothing is left beside it. */
int replace_file(const struct replace_file *f, struct err *err);
