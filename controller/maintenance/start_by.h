/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_by - ends queued jobs that were to start at once, or within some seconds, and did not (`reeve run --immediate`). */
#pragma once
#include "controller/api/context.h"

/* Makes a->start_by_source. < 0: the event loop refuses it. */
int start_by_open(struct api *a);
void start_by_close(struct api *a);
/* After a cycle over this cluster that went well: ends those whose time is over, with the reason why they wait. */
void start_by_check(struct api *a, const char *cluster);
/* After the cycles over all clusters: the next one is run when the next job's time is over. */
void start_by_plan(struct api *a);
