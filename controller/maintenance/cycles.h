/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycles - runs the scheduling cycles that api_request_cycle() requests, in slices: after CycleSliceMilliseconds= other work
 * goes first, and the cycle goes on from where it stopped. */
#pragma once

struct api;
struct cycles;

/* Makes a->cycle_source. -ENOMEM; < 0: the event loop refuses it. */
int cycles_open(struct api *a, struct cycles **ret);
struct cycles *cycles_close(struct cycles *c);
