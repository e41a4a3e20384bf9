/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console - routes of interactive steps: their users' terminals on one side, their nodes on the other. */
#pragma once
#include "controller/api/call.h"

struct consoles;

int route_console(struct call *c, struct err *err);
int route_node_console(struct call *c, struct err *err);
struct consoles *console_free_all(struct consoles *s);
