/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_steps.c - any bytes as a request to start a step in a job: refused with a message, or what
 * is kept of it is within its bounds and reads back as it was.
 *
 * links: common/model/array common/model/after common/model/features
 *
 * links: common/err common/model/amount common/model/resources
 *
 * links: common/model/request common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus common/model/select common/model/mail
 *
 * links: common/utf8 common/wire/wire_gpu
 *
 * links: common/wire/wire common/wire/json/load common/wire/doc common/wire/wire_usage common/wire/wire_request common/wire/wire_report
 *
 * links: controller/api/steps/step_spec
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/api/steps/step_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t sum_lengths(const json_t *texts)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(texts); i++)
		n += json_string_length(json_array_get(texts, i)) + 1;
	return n;
}

static void check_command(const char *text)
{
	_cleanup_json_ json_t *spec = json_loads(text, 0, NULL);
	const json_t *argv = json_object_get(spec, "argv");
	const char *dir = json_string_value(json_object_get(spec, "workdir"));

	if (!spec || !json_string_length(json_array_get(argv, 0)) || !dir || *dir != '/' ||
	    strlen(dir) >= STEP_WORKDIR_MAX ||
	    sum_lengths(argv) + sum_lengths(json_object_get(spec, "env")) > STEP_SPEC_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *j = NULL;
	_cleanup_free_ char *spec = NULL;
	struct step_nodes nodes = { .n = 0 };
	struct err err = { "" };

	if (wire_parse((const char *)data, size, &j, &err) < 0)
		return 0;
	if (step_spec_read(j, "/home/alice", &spec, &err) == 0)
		check_command(spec);
	else if (!*err.text)
		abort();
	if (step_spec_nodes(j, &nodes, &err) == 0 &&
	    (nodes.n < 1 || nodes.n > STORE_STEPS_OPEN_MAX))
		abort();
	return 0;
}
