/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_slurm_batch.c - any bytes as a document of reeve-slurm: refused with words, or within its bounds.
 *
 * links: common/err common/utf8 common/model/amount common/model/resources common/model/features common/model/request
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus common/model/script common/wire/wire common/wire/json/load common/wire/doc common/wire/fields
 *
 * links: common/wire/wire_gpu common/wire/wire_usage common/wire/wire_request common/wire/wire_report common/wire/slurm_batch
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include "common/err.h"
#include "common/wire/slurm_batch.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bounds(const struct slurm_batch *b)
{
	if (!request_is_name(b->cluster) || b->n_jobs > SLURM_BATCH_MAX ||
	    b->n_present > SLURM_BATCH_PRESENT_MAX || b->at_s < 1)
		abort();
	for (size_t i = 0; i < b->n_jobs; i++) {
		const struct slurm_batch_job *j = &b->jobs[i];

		if (j->job < 1 || j->job > UINT32_MAX || j->attempt < 0 || j->start_s < 0 ||
		    j->end_s > SLURM_BATCH_TIME_MAX || j->suspended_s < 0 || j->ncpus < 0 ||
		    j->state >= _SLURM_BATCH_STATE_MAX || j->signal > 127)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(slurm_batch_freep) struct slurm_batch *b = NULL;
	struct slurm_batch_answer answer;
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };

	if (wire_parse((const char *)data, size, &doc, &err) < 0)
		return 0;
	if (slurm_batch_decode(doc, &b, &err) >= 0)
		check_bounds(b);
	else if (!*err.text)
		abort();
	if (slurm_batch_decode_answer(doc, &answer, &err) >= 0)
		slurm_batch_answer_done(&answer);
	return 0;
}
