/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps - routes of the commands that users start inside a running job (`reeve exec`). */
#pragma once
#include "controller/api/call.h"

int route_start_steps(struct call *c, struct err *err);
int route_steps(struct call *c, struct err *err);
int route_cancel_step(struct call *c, struct err *err);
int route_step_output(struct call *c, struct err *err);
