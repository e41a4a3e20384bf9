/* dbus.h - org.reeve.Agent1 on the system bus: anyone may ask what the node is, and for their
 * own jobs; root sees all and may order.
 *
 * `busctl introspect org.reeve.Agent1 /org/reeve/Agent1` shows it.
 */
#pragma once
#include "agent/node.h"

/* Takes the name and answers from the node's event loop. The slot belongs to the bus. */
int dbus_open(struct node *n, struct err *err);
/* `reeve-agent --status`: ask the running agent and print. */
int dbus_print_status(struct err *err);
