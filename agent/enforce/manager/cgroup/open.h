/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open.h - opens and closes the cgroup manager; see manager.h. */
#pragma once
#include "agent/enforce/manager/cgroup/unit.h"

int manager_cgroup_open(const struct manager_config *c, struct manager **ret, struct err *err);
struct manager *manager_cgroup_close(struct manager *m);
