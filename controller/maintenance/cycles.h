/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycles - runs the scheduling cycles that api_request_cycle() requests. */
#pragma once

struct api;

/* Makes a->cycle_source. < 0: the event loop refuses it. */
int cycles_open(struct api *a);
void cycles_close(struct api *a);
