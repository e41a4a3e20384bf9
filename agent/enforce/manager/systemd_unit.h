/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd_unit.h - a job as the properties of a transient systemd service. */
#pragma once
#include <systemd/sd-bus.h>
#include "agent/enforce/manager/manager.h"

struct manager_unit {
	const struct manager_spec *spec;
	const struct manager_config *config;
	const char *slice;
	const char
		*agent; /* its unit, which is stopped first at a shutdown; NULL: it has none */
};

/* The whole "a(sv)" of StartTransientUnit. >= 0, or -errno of sd-bus. */
int manager_unit_append(sd_bus_message *m, const struct manager_unit *u);
/* The same of a scope around spec->pid: systemd.scope(5). */
int manager_unit_append_scope(sd_bus_message *m, const struct manager_unit *u);
/* One "(sv)" with a set as systemd's bit string ("ay"). */
int manager_unit_append_set(sd_bus_message *m, const char *name, const struct cpulist *set);
/* The properties of a unit that runs `argv` as root, by default. The OOM killer spares it: the
 * job that it works for may be being killed. `agent`: as above. */
int manager_unit_append_helper(sd_bus_message *m, const char *name, const char *const *argv,
			       const char *agent);
