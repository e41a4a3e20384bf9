/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.h - interactive steps: passes messages (common/model/console/console.h) on between their waiters and the controller.
 *
 * The agent has one socket to each waiter (agent/launch/step/console.h) and two connections to the controller, while
 * there are interactive steps: a long poll for input, and one that sends output. It keeps no state of its own but the last message
 * of output of each step, until the controller has it; only then may the waiter send the next one.
 */
#pragma once
#include "agent/step/steps.h"

struct step_consoles;

int step_consoles_open(struct steps *all, struct step_consoles **ret, struct err *err);
void step_consoles_close(struct step_consoles *c);
/* Connects to the waiter of an interactive step that runs; no effect where that is done, or cannot be yet. */
void step_console_connect(struct step_consoles *c, struct step *s);
/* Before a step leaves the table. */
void step_console_drop(struct step_consoles *c, const struct step *s);
