/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_fdinfo - any text as fdinfo of a DRM file: what is taken can be counted.
 * links: agent/gpu/drm/fdinfo
 */
#include <stdlib.h>
#include <string.h>
#include "agent/gpu/drm/fdinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fdinfo f;

	if (fdinfo_parse((const char *)data, size, &f) < 0)
		return 0;
	if (!f.driver[0] || strlen(f.driver) >= sizeof(f.driver) ||
	    strlen(f.pdev) >= sizeof(f.pdev) || f.n_engines < 0 ||
	    f.n_engines > FDINFO_ENGINES_MAX || (!f.has_mem && f.mem_bytes))
		abort();
	for (int i = 0; i < f.n_engines; i++)
		if (!f.engines[i].name[0] || strlen(f.engines[i].name) >= FDINFO_NAME_MAX)
			abort();
	return 0;
}
