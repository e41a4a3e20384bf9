/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local - the group or project quotas of an XFS or ext4 of this machine. */
#pragma once
#include "storage/listing.h"

/* Calls fn for each id but 0 that has a use or a limit; a result < 0 ends it. `kind`: LISTING_GROUP or LISTING_PROJECT;
 * _LISTING_KIND_MAX: projects if the file system counts them, else groups. -EOPNOTSUPP: it counts none of these,
 * and err says how to switch that on. */
typedef int (*local_row_fn)(void *ctx, const struct listing_row *row, struct err *err);
int local_read(const char *path, enum listing_kind kind, local_row_fn fn, void *ctx,
	       struct err *err);
