/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes - routes that list, drain and resume nodes. */
#pragma once
#include "controller/api/call.h"

int route_list_nodes(struct call *c, struct err *err);
int route_node_watch(struct call *c, struct err *err);
int route_core_map(struct call *c, struct err *err);
int route_drain(struct call *c, struct err *err);
int route_resume_node(struct call *c, struct err *err);
