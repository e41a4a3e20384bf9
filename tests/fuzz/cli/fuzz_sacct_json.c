/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_sacct_json - any bytes as a document of `sacct --json`: what is taken can be charged, whatever
 * the pieces in which it is read.
 * links: cli/import/sacct_json controller/history/sacct controller/history/sacct_row
 * links: controller/history/history common/model/gpus common/model/resources common/model/amount
 * links: common/model/features common/err common/wire/json/load
 * libs: -ljansson
 */
#include <stdint.h>
#include <stdlib.h>
#include "cli/import/sacct_json.h"
#include "common/err.h"

/* Returns how many jobs there are, by pieces of `piece` bytes. */
static int read_document(const char *bytes, size_t size, size_t piece)
{
	struct sacct f = { 0 };
	struct sacct_json s = { 0 };
	struct history_job j;
	struct err err;
	int n = 0, r = 0, why;

	while (size && r >= 0) {
		size_t used, now = size < piece ? size : piece;

		r = sacct_json_feed(&s, bytes, now, &used);
		bytes += used;
		size -= used;
		if (r <= 0)
			continue;
		n++;
		why = sacct_json_row(&s, &f, &j);
		if (why < SACCT_NO_JOB || why >= _HISTORY_WHY_MAX)
			abort();
		if (why == HISTORY_OK && (j.end_s <= j.start_s || j.ncpus <= 0))
			abort();
	}
	sacct_json_end(&s, &err);
	sacct_json_done(&s);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	if (read_document(bytes, size, size) != read_document(bytes, size, 7))
		abort();
	return 0;
}
