/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_swf - any line as a job of an SWF file: what is taken can be charged.
 * links: controller/history/swf controller/history/history common/model/gpus
 * links: common/model/resources common/model/amount common/model/features common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include "controller/history/swf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct swf f = { .epoch_s = 1000000000 };
	struct history_job j;
	int why = swf_parse_line(&f, (const char *)data, size, &j);

	if (why == HISTORY_OK &&
	    (j.end_s <= j.start_s || j.ncpus <= 0 || j.suspended_s >= j.end_s - j.start_s))
		abort();
	if (why < SWF_NO_JOB || why >= _HISTORY_WHY_MAX || f.epoch_s < 0)
		abort();
	swf_done(&f);
	return 0;
}
