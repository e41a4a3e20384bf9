/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_pbs - any line as a record of a PBS accounting log: what is taken can be charged.
 * links: controller/history/pbs controller/history/pbs_resources controller/history/history
 * links: common/model/gpus common/model/resources common/model/amount common/model/features
 * links: common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include "controller/history/pbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct history_job j;
	int64_t gpus = 0;
	int why = pbs_parse_line((const char *)data, size, &j);

	if (why < PBS_NO_JOB || why >= _HISTORY_WHY_MAX)
		abort();
	if (why != HISTORY_OK)
		return 0;
	if (j.end_s - j.start_s - j.suspended_s <= 0 || j.ncpus <= 0 || j.ngpus < 0)
		abort();
	for (int32_t i = 0; i < j.gpus.n; i++)
		gpus += j.gpus.of[i].n;
	if (gpus != j.ngpus)
		abort();
	return 0;
}
