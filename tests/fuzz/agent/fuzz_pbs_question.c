/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_pbs_question.c - any bytes as a question or an answer of PBS's hook: refused with words, or within its bounds, and written again as a
 * document that reads the same.
 *
 * links: common/err common/utf8 common/model/amount common/model/resources common/model/features common/model/request
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/usage common/model/job
 *
 * links: common/model/gpu_use common/model/gpus common/model/script common/model/pbs/id common/wire/wire common/wire/json/load common/wire/doc common/wire/fields
 *
 * links: agent/pbs/question
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/pbs/question.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_question(const struct pbs_question *q)
{
	_cleanup_doc_ struct doc d = doc_object();
	struct pbs_question again = { 0 };
	_cleanup_json_ json_t *j = NULL;
	struct err err = { "" };

	if (q->ask < 0 || q->ask >= _PBS_ASK_MAX || q->run < 0 || q->uid < 0 || q->ncpus < 0 ||
	    q->vmem_bytes < 0 || q->pid < 0 || q->wait_status < -1)
		abort();
	wire_encode_fields(pbs_question_fields, q, &d);
	j = doc_take(&d);
	if (!j || wire_decode_fields(pbs_question_fields, j, &again, &err) < 0 ||
	    again.ask != q->ask || again.mem_bytes != q->mem_bytes ||
	    strcmp(again.jobs, q->jobs) != 0 || strcmp(again.gpus, q->gpus) != 0)
		abort();
}

static void check_id(const char *text)
{
	struct err err = { "" };
	int64_t id;

	if (pbs_id_parse(text, &id, &err) < 0) {
		if (!*err.text)
			abort();
	} else if (id <= 0) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *doc =
		json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct pbs_question q = { 0 };
	struct pbs_answer a = { 0 };
	struct err err = { "" };
	char *id = strndup((const char *)data, size);

	check_id(id);
	free(id);
	if (!json_is_object(doc))
		return 0;
	if (wire_decode_fields(pbs_question_fields, doc, &q, &err) >= 0)
		check_question(&q);
	else if (!*err.text)
		abort();
	if (wire_decode_fields(pbs_answer_fields, doc, &a, &err) >= 0 &&
	    (a.verdict < 0 || a.verdict >= _PBS_VERDICT_MAX))
		abort();
	return 0;
}
