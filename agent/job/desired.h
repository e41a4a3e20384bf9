/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desired.h - the desired states of this node's jobs, from the controller or from root over D-Bus.
 *
 * They are level-triggered: the controller repeats a desired state until the node's list shows it.
 */
#pragma once
#include "agent/job/job.h"

extern const struct sync_handlers job_desired_handlers; /* ctx: the node */
