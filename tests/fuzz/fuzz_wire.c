/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_wire.c - any bytes as a document: what decodes encodes to what decodes the same.
 *
 * links: common/model/array common/model/after common/model/features common/model/select common/model/mail
 *
 * links: common/err common/model/amount common/model/resources
 *
 * links: common/model/request common/model/usage common/model/job common/model/gpu_use
 *
 * links: common/utf8 common/wire/wire_gpu
 *
 * links: common/wire/wire common/wire/json/load common/wire/doc common/wire/wire_usage common/wire/wire_request common/wire/wire_report
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one_report(const json_t *j)
{
	struct report r, again;
	_cleanup_json_ json_t *back = NULL;
	struct err err;

	if (wire_decode_report(j, "report", &r, &err) < 0)
		return;
	back = wire_encode_report(&r);
	if (!back || wire_decode_report(back, "report", &again, &err) < 0 ||
	    again.seq != r.seq || again.n_gpus != r.n_gpus)
		abort();
	report_done(&again);
	report_done(&r);
}

static void one_request(const json_t *j)
{
	_cleanup_(request_done) struct request r;
	_cleanup_json_ json_t *back = NULL;
	struct err err;

	request_init(&r);
	if (wire_decode_request(j, "request", &r, &err) < 0)
		return;
	request_check(&r, &err);
	back = wire_encode_request(&r);
	if (!back || wire_decode_request(back, "request", &r, &err) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *j = NULL;
	struct err err;

	if (wire_parse((const char *)data, size, &j, &err) < 0)
		return 0;
	one_report(j);
	one_request(j);
	return 0;
}
