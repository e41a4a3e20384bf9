/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_listing - any text as the output of a quota tool: refused with words, or rows whose figures can be counted and whose texts end.
 * links: storage/listing storage/names common/err
 */
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "storage/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct listing_row *row)
{
	if (row->kind >= _LISTING_KIND_MAX || row->id < LISTING_NO_ID || row->bytes < 0 ||
	    row->files < 0 || row->limit_bytes < 0 || row->limit_files < 0 ||
	    strlen(row->name) >= sizeof(row->name) ||
	    strlen(row->filesystem) >= sizeof(row->filesystem) || strchr(row->name, '\n'))
		abort();
}

static int read_lines(char *rest, struct err *err)
{
	struct listing in = { 0 };
	const char *line;

	while ((line = strsep(&rest, "\n"))) {
		struct listing_row row;
		int r = listing_line(&in, line, &row, err);

		if (r < 0)
			return r;
		if (r > 0)
			check_row(&row);
	}
	return listing_end(&in, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), name[LISTING_NAME_MAX];
	struct err err = { "" };

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (names_find_project(text, 1001, name) && strlen(name) >= sizeof(name))
		abort();
	if (read_lines(text, &err) < 0 && !err.text[0])
		abort();
	free(text);
	return 0;
}
