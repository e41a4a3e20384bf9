/* SPDX-License-Identifier: GPL-2.0-or-later */
/* about - GET /v1/about: which version this controller is and what its clock shows, for `reeve admin doctor`. */
#pragma once
#include "controller/api/call.h"

int route_about(struct call *c, struct err *err);
