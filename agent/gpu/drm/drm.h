/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drm.h - GPUs of AMD and Intel through the kernel's interfaces: /sys, and /proc/PID/fdinfo of
 * every process that has one of their files open.
 *
 * A client (one open of a device file) is counted once, however many descriptors and processes
 * share it: for the process with the lowest pid of those. Busy time is that of its busiest
 * engine. The kernel does not report what a client did between the last sample and its end, so that
 * is not counted.
 */
#pragma once
#include "agent/gpu/book.h"

struct drm;

/* Every field set. -ENOMEM. */
int drm_open(const struct gpu_options *o, struct book *b, struct drm **ret, struct err *err);
struct drm *drm_close(struct drm *d);
void drm_sample(struct drm *d); /* one look, between book_begin() and book_end() */
/* As gpu_check_clean(); -ENOENT: not a device of this source. */
int drm_check(struct drm *d, int device, char text[static GPU_TEXT_MAX]);
