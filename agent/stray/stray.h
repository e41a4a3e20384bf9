/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stray.h - notices processes of jobs' users that belong to no job, and by StrayProcesses names or kills them.
 *
 * A user is watched from the first job on this node until WATCH_AFTER_S after the last. Each turn of a timer looks at the
 * slices of watched users, at what cron, at and sshd have started, and at a part of /proc; its work is bounded.
 * Which cgroup belongs to what: rule.h.
 */
#pragma once
#include "agent/node.h"

struct stray;

int stray_open(struct node *n, struct stray **ret, struct err *err);
/* A note for root alone: the i-th user with processes outside every job. False: there is none. */
#define STRAY_TEXT_MAX 512
bool stray_describe(const struct stray *s, size_t i, char buf[static STRAY_TEXT_MAX]);
/* Returns NULL. */
struct stray *stray_close(struct stray *s);
/* After a reload of the configuration: looks at every user again. */
void stray_reload(struct stray *s);
