/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_sync_steps.c - any bytes as a controller's answer: refused with words, or every element
 * decoded, within its bounds.
 *
 * links: common/model/array common/model/after common/model/features
 *
 * links: common/err common/model/amount common/model/resources common/model/select common/model/mail
 *
 * links: common/model/request common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus
 *
 * links: common/utf8 common/wire/wire_gpu common/wire/fields common/wire/sync common/wire/sync_answer
 *
 * links: common/wire/wire common/wire/json/load common/wire/doc common/wire/wire_usage common/wire/wire_request common/wire/wire_report
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/sync_answer.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_step(const struct sync_desired_step *s)
{
	struct sync_command c;
	struct err why = { "" };
	int r = sync_command_decode(s->command, &c, &why);

	if (s->id.job < 1 || s->id.step < 1 || s->id.attempt < 0 || (r < 0) != (*why.text != 0))
		abort();
	if (r == 0 && c.argv) {
		if (!c.argv[0] || !*c.argv[0] || (c.workdir && *c.workdir != '/'))
			abort();
		for (char **e = c.env; e && *e; e++)
			if (!strchr(*e, '='))
				abort();
	}
	sync_command_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *j = json_loadb((const char *)data, size, 0, NULL);
	struct sync_answer a;
	struct err err = { "" };

	if (!json_is_object(j))
		return 0;
	if (sync_answer_decode(j, &a, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	for (size_t i = 0; i < a.n_step_acks; i++)
		if (a.step_acks[i].job < 1 || a.step_acks[i].step < 1 ||
		    a.step_acks[i].attempt < 0)
			abort();
	for (size_t i = 0; i < a.n_steps; i++)
		check_step(&a.steps[i]);
	for (size_t i = 0; i < a.n_jobs; i++)
		if (a.jobs[i].job < 1 || a.jobs[i].attempt < 0 ||
		    a.jobs[i].want >= _DESIRED_MAX)
			abort();
	if (a.n_steps != json_array_size(json_object_get(j, "steps")) ||
	    a.n_step_acks != json_array_size(json_object_get(j, "step_acks")))
		abort();
	sync_answer_done(&a);
	return 0;
}
