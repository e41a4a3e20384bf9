/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - jansson's parsers and its printer with allocations that are looked at; see load.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/wire/json/load.h"

struct allocators {
	json_malloc_t malloc;
	json_free_t free;
};

static void write_text(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));

	(void)n;
}

static void *allocate_or_end(size_t size)
{
	void *p = malloc(size);

	if (p)
		return p;
	write_text(program_invocation_short_name);
	write_text(": out of memory while a document was read; it cannot go on\n");
	_exit(EXIT_FAILURE);
}

static bool has_failed; /* since begin_with() */

static void *allocate_or_note(size_t size)
{
	void *p = malloc(size);

	has_failed |= !p;
	return p;
}

static struct allocators begin_with(json_malloc_t allocate)
{
	struct allocators before;

	json_get_alloc_funcs(&before.malloc, &before.free);
	json_set_alloc_funcs(allocate, before.free);
	has_failed = false;
	return before;
}

static json_t *end_parsing(struct allocators before, json_t *read)
{
	json_set_alloc_funcs(before.malloc, before.free);
	return read;
}

json_t *wire_load(const char *text, size_t flags, json_error_t *ret_why)
{
	struct allocators before = begin_with(allocate_or_end);

	return end_parsing(before, json_loads(text, flags, ret_why));
}

json_t *wire_load_bytes(const char *text, size_t size, size_t flags, json_error_t *ret_why)
{
	struct allocators before = begin_with(allocate_or_end);

	return end_parsing(before, json_loadb(text, size, flags, ret_why));
}

json_t *wire_load_stream(FILE *from, size_t flags, json_error_t *ret_why)
{
	struct allocators before = begin_with(allocate_or_end);

	return end_parsing(before, json_loadf(from, flags, ret_why));
}

char *wire_print(const json_t *j, size_t flags)
{
	struct allocators before = begin_with(allocate_or_note);
	char *text = json_dumps(j, flags);

	json_set_alloc_funcs(before.malloc, before.free);
	if (!has_failed)
		return text;
	free(text);
	return NULL;
}
