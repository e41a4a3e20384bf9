/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host.h - what this host can and cannot hold, and the laws that only the
 * cgroup manager has: it has supervisors. */
#pragma once
#include "tests/node/manager/conformance.h"

/* Why jobs here have no such file in their cgroup, in the manager's own words. "": they have.
 */
const char *host_why_without(struct world *w, const char *file);
/* "groups A B of A B": as `id` prints the groups of the job's user. */
const char *host_groups(struct world *w);
/* Makes an empty file that anyone may see. */
bool host_leave(const char *path);
void host_note_lines(const char *text);
void host_test_cgroup_alone(struct world *w);
