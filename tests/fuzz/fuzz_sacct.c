/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_sacct - any line as a job of sacct: what is taken can be charged.
 * links: controller/history/sacct controller/history/history common/model/gpus
 * links: common/model/resources common/model/amount common/model/features common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include "controller/history/sacct.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sacct f = { 0 };
	struct history_job j;
	int why = sacct_parse_line(&f, (const char *)data, size, &j);

	if (why == HISTORY_OK &&
	    (j.end_s <= j.start_s || j.ncpus <= 0 || j.suspended_s >= j.end_s - j.start_s))
		abort();
	if (why < SACCT_NO_JOB || why >= _HISTORY_WHY_MAX)
		abort();
	return 0;
}
