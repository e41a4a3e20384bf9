/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_script.c - any bytes as a job script: never a crash, and what is accepted is kept whole.
 *
 * links: common/model/array common/model/after common/model/select common/model/mail common/model/features
 *
 * links: common/err common/model/amount common/model/resources
 *
 * links: common/model/request common/model/script
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(request_done) struct request r;
	char ignored[256];
	struct err err;
	char *exact = malloc(size ? size : 1);

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	request_init(&r);
	if (request_parse_script(&r, exact, size, "fuzz", ignored, &err) == 0 &&
	    (strlen(r.script) != size || memcmp(r.script, data, size)))
		abort();
	request_check(&r, &err);
	free(exact);
	return 0;
}
