/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_resources.c - any text as resources: what is accepted prints and reads back the same.
 * links: common/model/features
 *
 * links: common/err common/model/amount common/model/resources
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct resources res = { 0 }, again = { 0 };
	char *text = malloc(size + 1), buf[512];
	struct err err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (resources_parse(text, &res, &err) == 0 &&
	    (resources_parse(resources_format(&res, buf, sizeof(buf)), &again, &err) < 0 ||
	     memcmp(&res, &again, sizeof(res))))
		abort();
	free(text);
	return 0;
}
