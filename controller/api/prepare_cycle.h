/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prepare_cycle - runs before each scheduling cycle: resolves dependencies, and makes rows for
 * tasks of arrays. */
#pragma once
#include "controller/api/context.h"

/* Jobs whose dependencies are met may start, those whose dependencies failed end. True: there
 * are arrays with tasks that have no row yet. A failure is logged. */
bool prepare_cycle(struct api *a);
