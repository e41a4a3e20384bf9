/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_question.c - any bytes as a question of job_submit.lua: refused with words, or amounts within their bounds, which make a document
 * for the controller; and any bytes as the text of an answer: at most two lines that fit.
 *
 * links: common/err common/utf8 common/model/amount common/model/resources common/model/features common/model/request
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus common/model/script common/wire/wire common/wire/json/load common/wire/doc common/wire/fields
 *
 * links: common/wire/slurm_submit slurm/follow/array slurm/submit/question
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/wire/wire.h"
#include "slurm/submit/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_amount(int64_t n)
{
	if (n < 0 || n > INT64_C(1) << 62)
		abort();
}

/* What is accepted here is a document that the controller accepts, with the same amounts. */
static void check_document(struct slurm_submit *j)
{
	struct doc doc = doc_message();
	struct slurm_submit read = { 0 };
	struct err err = { "" };
	json_t *body;

	strcpy(j->cluster, "vc");
	strcpy(j->user, "alice");
	wire_encode_fields(slurm_submit_fields, j, &doc);
	body = doc_take(&doc);
	if (!body || wire_decode_fields(slurm_submit_fields, body, &read, &err) < 0)
		abort();
	if (read.ncpus != j->ncpus || read.mem_bytes != j->mem_bytes ||
	    read.tasks != j->tasks || read.walltime_s != j->walltime_s)
		abort();
	json_decref(body);
}

static void check_job(struct question *q)
{
	struct slurm_submit *j = &q->job;

	check_amount(j->ncpus);
	check_amount(j->ngpus);
	check_amount(j->mem_bytes);
	check_amount(j->walltime_s);
	if (j->ncpus < 1 || j->tasks < 1 || j->tasks > SLURM_SUBMIT_TASKS_MAX ||
	    q->uid == UINT32_MAX)
		abort();
	check_document(j);
}

static void check_answer(const char *text)
{
	struct slurm_submit_answer a = { .verdict = SLURM_SUBMIT_REFUSE };
	char buf[QUESTION_ANSWER_MAX];
	const char *said, *end;

	snprintf(a.text, sizeof(a.text), "%s", text);
	said = question_format_answer(&a, buf);
	end = strchr(said, '\n');
	if (!end || !(end = strchr(end + 1, '\n')) || end[1])
		abort();
	said = question_format_none(text, buf);
	end = strchr(said, '\n');
	if (!end || !(end = strchr(end + 1, '\n')) || end[1])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question q;
	struct err err = { "" };
	char *text = strndup((const char *)data, size < QUESTION_MAX ? size : QUESTION_MAX - 1);

	if (!text)
		return 0;
	if (question_parse(text, &q, &err) >= 0)
		check_job(&q);
	else if (!*err.text)
		abort();
	check_answer(text);
	free(text);
	return 0;
}
