/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticket - POST /v1/web/tickets: a link by which the caller's browser opens a session (controller/session). */
#pragma once
#include "controller/api/call.h"

/* {path, valid_s}. 404 `no-pages`: the site serves none. */
int route_ticket(struct call *c, struct err *err);
