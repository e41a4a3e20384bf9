/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_plan.c - any bytes as the plan that the launcher reads before it gives up its rights, and as a message of an
 * interactive step: what is accepted of those lies within its bounds and encodes the same.
 * links: common/err agent/launch/plan common/model/console/console
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/launch/plan.h"
#include "common/err.h"
#include "common/model/console/console.h"

static void check_messages(const void *data, size_t size)
{
	static uint8_t again[CONSOLE_MESSAGE_MAX];
	struct console_output out;
	struct console_input in;

	if (console_decode_input(data, size, &in, NULL) == 0 &&
	    (in.credential.size > CONSOLE_CREDENTIAL_MAX || in.state.size > size ||
	     in.data.size > size || console_encode_input(&in, again) != size ||
	     memcmp(again, data, size) != 0))
		abort();
	if (console_decode_output(data, size, &out, NULL) == 0 &&
	    (out.acked < 0 || console_encode_output(&out, again) != size ||
	     memcmp(again, data, size) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan p = { 0 };
	struct err err;
	char *exact = malloc(size ? size : 1);
	size_t sum = 0;

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	if (plan_decode(exact, size, &p, &err) == 0) {
		for (char **w = p.argv; w && *w; w++)
			sum += strlen(*w);
		for (char **w = p.env; w && *w; w++)
			sum += strlen(*w);
		if (sum > size)
			abort();
		plan_done(&p);
	}
	check_messages(exact, size);
	free(exact);
	return 0;
}
