/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_packed_rows.c - any bytes as an answer with packed rows: refused with words, or rows of the asked columns, and an end.
 *
 * links: cli/views/packed_rows common/err common/utf8 common/model/amount common/model/resources common/model/features
 *
 * links: common/model/request common/model/array common/model/after common/model/select common/model/mail common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus common/model/script common/wire/wire common/wire/json/load common/wire/doc common/wire/rows/rowpack
 *
 * libs: -ljansson -lnettle -lm
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cli/views/packed_rows.h"
#include "common/err.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rows(const json_t *answer, size_t size)
{
	static const char *const keys[] = { "a", "b" };
	struct rowpack_value cells[2];
	struct packed_rows rows;
	struct err err = { "" };
	size_t n = 0;
	int r = packed_rows_open(answer, keys, 2, &rows, &err);

	while (r >= 0 && (r = packed_rows_next(&rows, cells, &err)) > 0)
		for (int i = 0; i < 2; i++)
			if (++n > 2 * size || cells[i].kind >= _ROWPACK_KIND_MAX ||
			    (cells[i].kind == ROWPACK_TEXT && strlen(cells[i].text) > size))
				abort();
	if (r < 0 && !*err.text)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };

	if (wire_parse_whole((const char *)data, size, &doc, &err) == 0)
		read_rows(doc, size);
	else if (!*err.text)
		abort();
	return 0;
}
