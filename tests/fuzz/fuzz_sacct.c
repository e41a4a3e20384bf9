/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_sacct - any lines as headings and jobs of sacct: what is taken can be charged.
 * links: controller/history/sacct controller/history/sacct_row controller/history/history common/model/gpus
 * links: common/model/resources common/model/amount common/model/features common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "controller/history/sacct.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct sacct f = { 0 };
	struct history_job j;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		int why = sacct_parse_line(&f, at, (size_t)(stop - at), &j);

		if (why == HISTORY_OK && (j.end_s <= j.start_s || j.ncpus <= 0 ||
					  j.suspended_s >= j.end_s - j.start_s))
			abort();
		if (why < SACCT_NO_JOB || why >= _HISTORY_WHY_MAX)
			abort();
		at = newline ? newline + 1 : end;
	}
	return 0;
}
