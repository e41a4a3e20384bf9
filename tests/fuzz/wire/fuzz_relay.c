/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_relay.c - any bytes as a node's messages of interactive steps, or a user's: refused with words, or every message lies within the bytes
 * that came with the document.
 *
 * links: common/model/array common/model/after common/model/features
 *
 * links: common/err common/model/amount common/model/resources common/model/select common/model/mail
 *
 * links: common/model/request common/model/usage common/model/job common/model/console/console
 *
 * links: common/model/gpu_use common/model/gpus common/wire/console/console_relay
 *
 * links: common/utf8 common/wire/wire_gpu common/wire/fields common/wire/sync common/wire/sync_answer
 *
 * links: common/wire/wire common/wire/json/load common/wire/doc common/wire/wire_usage common/wire/wire_request common/wire/wire_report
 *
 * libs: -ljansson -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/console/console.h"
#include "common/wire/console/console_relay.h"
#include "common/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_relay(const json_t *doc)
{
	struct console_relay r;
	struct err err = { "" };
	size_t n, at = 0;
	const uint8_t *bytes = wire_attached(doc, &n);
	int result = console_relay_decode(doc, &r, &err);

	if ((result < 0) != (*err.text != 0))
		abort();
	for (size_t i = 0; result == 0 && i < r.n_steps; i++) {
		struct console_output m;

		if (r.steps[i].size && r.steps[i].message != bytes + at)
			abort();
		at += (size_t)r.steps[i].size;
		console_decode_output(r.steps[i].message, (size_t)r.steps[i].size, &m, NULL);
	}
	if (result == 0 && at != n)
		abort();
	console_relay_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };

	if (wire_parse_whole((const char *)data, size, &doc, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	check_relay(doc);
	return 0;
}
