/* fuzz_plan.c - any bytes as the plan that the launcher reads before it gives up its rights.
 * links: common/err agent/launch/plan
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/launch/plan.h"
#include "common/err.h"

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
	free(exact);
	return 0;
}
