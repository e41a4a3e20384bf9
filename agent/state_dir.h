/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state_dir - the agent's state directory is root's alone.
 *
 * The database in it holds the scripts, environments and commands of every user's jobs. Jobs do
 * not see the directory (their manager hides it, manager.h), so only root has to pass
 * through it, except jobs that were started by an agent without this rule: they reach their disks by
 * the path below it. While such a job runs here the directory stays passable, not readable.
 */
#pragma once

struct node;
struct err;

/* Makes it, or takes the files in it from group and others. -EACCES: another user can write in
 * it; -errno. */
int state_dir_open(struct node *n, struct err *err);
/* Closes it as soon as no job needs to pass through; to be called again and again. */
void state_dir_settle(struct node *n);
