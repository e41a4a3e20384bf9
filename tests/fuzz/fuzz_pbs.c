/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_pbs - any lines as records of a PBS accounting log: what is taken can be charged.
 * links: controller/history/pbs controller/history/pbs_resources controller/history/history
 * links: common/model/gpus common/model/resources common/model/amount common/model/features
 * links: common/err controller/history/pbs_phases controller/history/pbs_id
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "controller/history/pbs_phases.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void check_job(int why, const struct history_job *j)
{
	int64_t gpus = 0;

	if (why < PBS_NO_JOB || why >= _HISTORY_WHY_MAX)
		abort();
	if (why != HISTORY_OK)
		return;
	if (j->end_s - j->start_s - j->suspended_s <= 0 || j->ncpus <= 0 || j->ngpus < 0)
		abort();
	for (int32_t i = 0; i < j->gpus.n; i++)
		gpus += j->gpus.of[i].n;
	if (gpus != j->ngpus)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pbs_phases *p = pbs_phases_new();
	const char *at = (const char *)data, *end = at + size;
	struct history_job j;

	check_job(pbs_parse_line(at, size, &j), &j);
	while (p && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		check_job(pbs_phases_line(p, at, (size_t)(stop - at), &j), &j);
		at = newline ? newline + 1 : end;
	}
	pbs_phases_free(p);
	return 0;
}
