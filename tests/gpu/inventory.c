/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inventory [NVML] - print the devices of agent/gpu as CSV, to be compared with the vendor's own tool: index, uuid, product, MiB, bus
 * id, model, and where the busy time comes from. NVML: the driver's library, where it is not the usual one. */
#include <stdio.h>
#include "agent/gpu/gpu.h"

int main(int argc, char **argv)
{
	struct gpu_options o = { .nvml = argc > 1 ? argv[1] : NULL };
	_cleanup_(gpu_closep) struct gpu *g = NULL;

	if (gpu_open(&o, &g, NULL) < 0)
		return 1;
	gpu_sample(g, 0, NULL, NULL, NULL);
	for (int i = 0; i < gpu_count(g); i++) {
		const struct gpu_device *d = gpu_device(g, i);
		const char *busy = gpu_source(g, i, GPU_HAVE_BUSY);

		printf("%d, %s, %s, %lld, %s, %s, %s\n", d->index, d->uuid, d->product,
		       (long long)d->mem_bytes >> 20, d->bus_id, d->model, busy ? busy : "-");
	}
	for (const char *const *n = gpu_notes(g); *n; n++)
		fprintf(stderr, "note: %s\n", *n);
	return 0;
}
