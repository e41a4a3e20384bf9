/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dbus.h - org.reeve.Agent1 on the system bus: every user can read the node's state and their own
 * jobs; root reads all jobs and can set desired states.
 *
 * `busctl introspect org.reeve.Agent1 /org/reeve/Agent1` shows it.
 */
#pragma once
#include "agent/node.h"

/* Takes the name on n->bus (NULL: does nothing) and answers from the node's event loop. -EEXIST:
 * another agent runs. A bus that refuses the name for another reason is a note. */
int dbus_open(struct node *n, struct err *err);
/* `reeve-agent --status`: prints the answer of the running agent to stdout. */
int dbus_print_status(struct err *err);
