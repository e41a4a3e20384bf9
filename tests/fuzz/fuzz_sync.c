/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_sync.c - any bytes as a node's sync document: refused with words, or within its bounds.
 *
 * links: common/model/array common/model/after common/model/features
 *
 * links: common/err common/model/amount common/model/resources common/model/select common/model/mail
 *
 * links: common/model/request common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus
 *
 * links: common/utf8 common/wire/wire_gpu
 *
 * links: common/wire/wire common/wire/json/load common/wire/doc common/wire/fields common/wire/sync common/wire/wire_usage common/wire/wire_request common/wire/wire_report
 *
 * links: controller/http/inflate
 *
 * libs: -ljansson -lnettle -lz
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/sync.h"
#include "common/wire/wire.h"
#include "controller/http/inflate.h"

#define INFLATE_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sync(const struct sync *s)
{
	if (!request_is_name(s->node) || !*s->boot || s->n_reports > SYNC_REPORTS_MAX ||
	    s->n_jobs > WIRE_SYNC_JOBS_MAX || s->n_outputs > SYNC_OUTPUT_MAX ||
	    s->capacity.ncpus < 0 || s->capacity.mem_bytes < 0 || s->free.jobfs_bytes < 0)
		abort();
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i].job < 1 || s->jobs[i].attempt < 0 ||
		    s->jobs[i].state >= _JOB_STATE_MAX)
			abort();
	for (size_t i = 0; i < s->n_outputs; i++)
		if (s->outputs[i].offset < 0 || s->outputs[i].stream >= _SYNC_STREAM_MAX ||
		    s->outputs[i].step < 0 || s->outputs[i].step > SYNC_STEP_MAX ||
		    (s->outputs[i].size && !s->outputs[i].data))
			abort();
}

static void check_steps(const struct sync *s)
{
	for (size_t i = 0; i < s->n_steps; i++) {
		const struct sync_step *t = &s->steps[i];

		if (t->id.job < 1 || t->id.step < 1 || t->id.step > SYNC_STEP_MAX ||
		    t->id.attempt < 0 || t->exit_status < -1 || t->exit_status > 255 ||
		    t->signal < 0 || (i && sync_step_compare(t - 1, t) >= 0))
			abort();
	}
}

static void decode_sync(const char *text, size_t size)
{
	_cleanup_json_ json_t *j = NULL;
	_cleanup_(sync_freep) struct sync *s = NULL;
	struct err err = { "" };

	if (wire_parse(text, size, &j, &err) < 0)
		return;
	if (sync_decode(j, &s, &err) == 0) {
		check_sync(s);
		check_steps(s);
	} else if (!*err.text)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inflate_text t = { 0 };
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	decode_sync(text, size);
	if (inflate_body(data, size, INFLATE_MAX, &t, NULL) == 0) {
		if (t.size > INFLATE_MAX)
			abort();
		free(t.data);
	}
	free(text);
	return 0;
}
