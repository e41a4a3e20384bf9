/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_csv - any bytes as a table: no crash, no leak, every record as wide as the header, and
 * every refusal has words and a line.
 *
 * links: common/csv/csv common/nearest common/err
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/csv/csv.h"
#include "common/err.h"

static const char *const names[] = { "a", "b", NULL };

static int read_all(struct csv *c, struct err *err)
{
	const char *const *f;
	int column[2], r = csv_header(c, names, column, err);

	while (r >= 0 && (r = csv_next(c, &f, err)) > 0)
		if (strlen(f[column[0]]) + strlen(f[column[1]]) > 1 << 21)
			abort();
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *mem = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL, *was = stdin;
	struct err err = { "" };
	struct csv *c = NULL;
	int r;

	if (!mem)
		return 0;
	stdin = mem;
	if (csv_open("-", &c, &err) < 0)
		abort();
	r = read_all(c, &err);
	if (r && (r != -EINVAL || strncmp(err.text, "standard input:", 15)))
		abort();
	csv_close(c);
	stdin = was;
	fclose(mem);
	return 0;
}
