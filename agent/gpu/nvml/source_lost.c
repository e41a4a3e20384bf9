/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_lost.c - decides what an error of the NVIDIA driver means: no value, a lost device, or
 * the whole library down. */
#include <string.h>
#include "agent/gpu/nvml/source_impl.h"

void nvml_source_lose(struct nvml_source *s, struct nvml_gpu *g, const char *why)
{
	struct book_device *bd = &s->b->devices[g->device];

	g->handle = NULL;
	s->is_lost = true;
	if (!bd->total.is_lost)
		book_note(s->b, "GPU %d (%s) is lost: %s", bd->d.index, bd->d.uuid, why);
	bd->total.is_lost = true;
}

static void lose_card(struct nvml_source *s, const struct nvml_gpu *g, const char *why)
{
	int card = s->b->devices[g->device].d.parent;

	if (card < 0)
		card = g->device;
	for (int i = 0; i < s->n_gpus; i++)
		if (s->gpus[i].device == card ||
		    s->b->devices[s->gpus[i].device].d.parent == card)
			nvml_source_lose(s, &s->gpus[i], why);
}

static void lose_all(struct nvml_source *s, const char *why)
{
	for (int i = 0; i < s->n_gpus; i++)
		nvml_source_lose(s, &s->gpus[i], why);
	s->n = nvml_unload(s->n);
}

/* NVML_INVALID_ARGUMENT comes for the handle of a removed MIG instance, but from some drivers also
 * for a function that they do not support: the UUID tells them apart. */
static bool is_device_gone(struct nvml_source *s, const struct nvml_gpu *g, enum nvml_rc rc)
{
	char uuid[NVML_UUID_SIZE];

	return rc != NVML_INVALID_ARGUMENT || nvml_uuid(s->n, g->handle, uuid) != NVML_OK ||
	       strcmp(uuid, s->b->devices[g->device].d.uuid) != 0;
}

bool nvml_source_failed(struct nvml_source *s, struct nvml_gpu *g, enum nvml_rc rc,
			const char *what)
{
	switch (rc) {
	case NVML_OK:
		return false;
	case NVML_NOT_FOUND:
	case NVML_NOT_SUPPORTED:
	case NVML_FUNCTION_NOT_FOUND:
		return true;
	case NVML_UNINITIALIZED:
	case NVML_DRIVER_NOT_LOADED:
	case NVML_VERSION_MISMATCH:
		lose_all(s, nvml_rc_text((int)rc));
		return true;
	case NVML_GPU_IS_LOST:
	case NVML_RESET_REQUIRED:
	case NVML_GPU_NOT_FOUND:
	case NVML_INVALID_ARGUMENT:
		if (is_device_gone(s, g, rc)) {
			lose_card(s, g, nvml_rc_text((int)rc));
			return true;
		}
		/* fallthrough */
	default:
		book_note(s->b, "GPU %d: %s: %s", s->b->devices[g->device].d.index, what,
			  nvml_rc_text((int)rc));
		return true;
	}
}
