/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine - what the kernel, systemd and the agent on the bus say. Each call fills in what it could not find out as `why`. */
#pragma once
#include "cli/admin/doctor/judge/kernel.h"

bool gather_has_systemd(void);
bool gather_has_bus(void);
void gather_kernel(struct judge_kernel *ret);
/* `slice`: the unit above all jobs, "reeve.slice". */
void gather_cgroup(const char *slice, struct judge_cgroup *ret);
/* `name` must live as long as *ret. */
void gather_unit(const char *name, struct judge_unit *ret);
void gather_agent(struct judge_agent *ret);
/* What `PROGRAM --version` prints behind the program's name. */
void gather_version(const char *program, struct judge_version *ret);
