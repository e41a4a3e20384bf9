/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage - routes of usage, shares, quotas, efficiency and metrics. */
#pragma once
#include "controller/api/call.h"

int route_nodes(struct call *c, struct err *err);
int route_utilisation(struct call *c, struct err *err);
int route_usage(struct call *c, struct err *err);
int route_cluster(struct call *c, struct err *err);
int route_eff(struct call *c, struct err *err);
int route_share(struct call *c, struct err *err);
int route_prio(struct call *c, struct err *err);
int route_quota(struct call *c, struct err *err);
int route_balances(struct call *c, struct err *err);
int route_storage(struct call *c, struct err *err);
int route_import_storage(struct call *c, struct err *err);
int route_remove_storage(struct call *c, struct err *err);
int route_outages(struct call *c, struct err *err);
int route_declare_outage(struct call *c, struct err *err);
int route_remove_outage(struct call *c, struct err *err);
int route_metrics(struct call *c, struct err *err);
