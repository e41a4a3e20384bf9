/* SPDX-License-Identifier: GPL-2.0-or-later */
/* maintenance - the controller's timers: scheduling cycles, lost nodes, jobs that were
 * suspended for too long, and the removal of what ended long ago.
 */
#pragma once
#include "common/cleanup.h"

struct api;
struct err;
struct maintenance;

/* From now on a->cycle_source runs scheduling cycles. */
int maintenance_open(struct api *a, struct maintenance **ret, struct err *err);
/* The configuration has changed. */
int maintenance_reload(struct maintenance *m, struct err *err);
struct maintenance *maintenance_close(struct maintenance *m);
DEFINE_CLEANUP(struct maintenance *, maintenance_close)
