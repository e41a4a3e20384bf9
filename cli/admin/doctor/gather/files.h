/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files - looks at owners, modes and free space. */
#pragma once
#include "cli/admin/doctor/judge/files.h"

/* Sets what was found of the path. */
void gather_path(struct judge_path *p);
/* Sets free_bytes and free_files of the disk of d->path, or of the nearest folder above that is there. */
void gather_disk(struct judge_disk *d);
