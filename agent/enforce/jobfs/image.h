/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image.h - a file system of the agent's own in a preallocated file, mounted on a directory.
 * Private to agent/enforce/jobfs/. For nodes whose local disk has no project quota. */
#pragma once
#include <stdint.h>

struct err;

/* Makes the image (ext4 with enforced project quota, every block preallocated) unless it is
 * there, attaches it to a loop device that goes away with the mount, and mounts it on `dir`
 * in the mount namespace of PID 1, so that jobs see it. Blocking, about a second when the
 * image is made. Errors name the file and the step. */
int image_mount(const char *image, int64_t bytes, const char *dir, struct err *err);
