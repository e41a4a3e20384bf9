/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync - the route of a node's exchange, POST /v1/node/sync. */
#pragma once
#include "controller/api/call.h"

int route_sync(struct call *c, struct err *err);
