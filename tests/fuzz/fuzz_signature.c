/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_signature.c - any bytes as what a user has signed: refused with words, or a statement
 * that allows a job or a step, or says why not.
 *
 * links: common/err common/utf8 common/signature/signature common/signature/digest
 *
 * links: common/signature/allows common/wire/wire common/wire/json/load common/wire/doc common/wire/wire_usage common/wire/wire_request common/model/usage
 *
 * links: common/model/request common/model/resources common/model/amount common/model/features common/model/job common/model/gpu_use
 *
 * links: common/wire/fields common/wire/sync common/wire/sync_answer common/wire/wire_report common/wire/wire_gpu
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/gpus
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/signature/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *argv[] = { (char *)"true", NULL };

static void judge_job(const struct signature_job *s)
{
	char lines[ARRAY_ENV][ARRAY_ENV_MAX], *env[ARRAY_ENV + 1] = { NULL };
	struct request q = { .name = "t", .argv = argv, .env = env, .workdir = (char *)"/" };
	const struct signature_given given = { &q, 43, 1, NULL };
	const struct job_id id = { 40, s->asked.array.first };
	struct err err = { "" };
	int64_t base = 0;
	int r;

	for (int i = 0; i < ARRAY_ENV; i++)
		env[i] = (char *)array_format_env(id, i, lines[i]);
	q.res.ncpus = 1;
	r = signature_allows_job(s, &given, &base, &err);
	if ((r == 0) == (*err.text != '\0') || (r == 0 && base < 1))
		abort();
}

static void judge_step(const struct signature_step *s)
{
	const struct signature_given_step given = {
		.job = 43, .node = "n1", .job_workdir = "/", .argv = argv
	};
	struct err err = { "" };
	int r = signature_allows_step(s, &given, &err);

	if ((r == 0) == (*err.text != '\0'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct signature_job job;
	struct signature_step step;
	struct err err = { "" };

	if (signature_decode_job((const char *)data, size, &job, &err) == 0) {
		judge_job(&job);
		signature_job_done(&job);
	} else if (!*err.text) {
		abort();
	}
	err.text[0] = '\0';
	if (signature_decode_step((const char *)data, size, &step, &err) == 0) {
		judge_step(&step);
		signature_step_done(&step);
	} else if (!*err.text) {
		abort();
	}
	return 0;
}
