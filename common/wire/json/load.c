/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - jansson's parsers and its printer with allocations that are looked at; see load.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/wire/json/load.h"

static void write_text(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));

	(void)n;
}

/* What an allocation of jansson's that fails means, in this thread; threads share jansson's functions. */
enum on_failure { RETURN_NULL, END_PROGRAM, NOTE_IT };
static _Thread_local enum on_failure on_failure;
static _Thread_local bool has_failed; /* since NOTE_IT was set */

static void *allocate_block(size_t size)
{
	void *p = malloc(size);

	if (p || on_failure == RETURN_NULL)
		return p;
	has_failed = true;
	if (on_failure == NOTE_IT)
		return NULL;
	write_text(program_invocation_short_name);
	write_text(": out of memory while a document was read; it cannot go on\n");
	_exit(EXIT_FAILURE);
}

/* Before there is a thread. */
__attribute__((constructor)) static void set_allocator(void)
{
	json_set_alloc_funcs(allocate_block, free);
}

static json_t *end_parsing(json_t *read)
{
	on_failure = RETURN_NULL;
	return read;
}

json_t *wire_load(const char *text, size_t flags, json_error_t *ret_why)
{
	on_failure = END_PROGRAM;
	return end_parsing(json_loads(text, flags, ret_why));
}

json_t *wire_load_bytes(const char *text, size_t size, size_t flags, json_error_t *ret_why)
{
	on_failure = END_PROGRAM;
	return end_parsing(json_loadb(text, size, flags, ret_why));
}

json_t *wire_load_stream(FILE *from, size_t flags, json_error_t *ret_why)
{
	on_failure = END_PROGRAM;
	return end_parsing(json_loadf(from, flags, ret_why));
}

char *wire_print(const json_t *j, size_t flags)
{
	char *text;

	on_failure = NOTE_IT;
	has_failed = false;
	text = json_dumps(j, flags);
	on_failure = RETURN_NULL;
	if (!has_failed)
		return text;
	free(text);
	return NULL;
}
