/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.h - NVIDIA's GPUs and MIG instances through NVML, written into a book.
 *
 * When the driver goes away, or a GPU is lost, the values stay, the device is marked lost,
 * and the library is loaded again after some seconds, later after minutes. Devices are recognized
 * by their UUID. A device that was not there at the first opening is never added; a note names it.
 */
#pragma once
#include "agent/gpu/book.h"

struct nvml_source;

/* Every field set. 0 also where there is no driver: the source then has no devices, and a note
 * says why if such a card is on the bus. -ENOMEM. */
int nvml_source_open(const struct gpu_options *o, struct book *b, struct nvml_source **ret,
		     struct err *err);
struct nvml_source *nvml_source_close(struct nvml_source *s);

/* One look, between book_begin() and book_end(). */
void nvml_source_sample(struct nvml_source *s);

/* As gpu_check_clean(); -ENOENT: not a device of this source. */
int nvml_source_check(struct nvml_source *s, int device, char text[static GPU_TEXT_MAX]);
