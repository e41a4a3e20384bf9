/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_pending.c - any bytes as the list of jobs that wait in Slurm, or as its answer: refused with words, or within its bounds and written again
 * as a document that reads the same.
 *
 * links: common/err common/utf8 common/model/amount common/model/resources common/model/features common/model/request
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus common/model/script common/wire/wire common/wire/json/load common/wire/doc common/wire/fields
 *
 * links: common/wire/slurm_pending
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/slurm_pending.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const struct slurm_pending_job *j, const struct slurm_pending_job *again)
{
	if (j->job < 1 || j->uid < 0 || j->ncpus < 0 || j->ngpus < 0 || j->mem_bytes < 0 ||
	    j->walltime_s < 0 || j->tasks < 0 || j->tasks > SLURM_PENDING_TASKS_MAX)
		abort();
	if (j->job != again->job || j->site != again->site || j->priority != again->priority ||
	    j->array_job != again->array_job || strcmp(j->reason, again->reason) != 0)
		abort();
}

static void check_list(const struct slurm_pending *p)
{
	_cleanup_json_ json_t *doc = slurm_pending_encode(p);
	struct slurm_pending again;
	struct err err = { "" };

	if (p->n_jobs > SLURM_PENDING_MAX || p->age_ms < 0 || !doc ||
	    slurm_pending_decode(doc, &again, &err) < 0 || again.n_jobs != p->n_jobs ||
	    again.is_first != p->is_first || again.is_last != p->is_last)
		abort();
	for (size_t i = 0; i < p->n_jobs; i++)
		check_job(&p->jobs[i], &again.jobs[i]);
	slurm_pending_done(&again);
}

static void check_answer(const struct slurm_pending_answer *a)
{
	if (a->weight < 0 || a->weight > SLURM_PENDING_SITE_MAX ||
	    a->n_sites > SLURM_PENDING_MAX)
		abort();
	for (size_t i = 0; i < a->n_sites; i++)
		if (a->sites[i].site < 0 || a->sites[i].site > SLURM_PENDING_SITE_MAX)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *doc = NULL;
	struct slurm_pending_answer a;
	struct slurm_pending p;
	struct err err = { "" };

	if (wire_parse((const char *)data, size, &doc, &err) < 0)
		return 0;
	if (slurm_pending_decode(doc, &p, &err) >= 0)
		check_list(&p);
	else if (!*err.text)
		abort();
	slurm_pending_done(&p);
	err.text[0] = '\0';
	if (slurm_pending_decode_answer(doc, &a, &err) >= 0)
		check_answer(&a);
	else if (!*err.text)
		abort();
	slurm_pending_answer_done(&a);
	return 0;
}
