/* desired.h - what the controller (or root, over D-Bus) wants of this node's jobs.
 *
 * Orders are level-triggered: the same one comes again and again until it shows.
 */
#pragma once
#include "agent/job/job.h"

extern const struct sync_handlers job_desired_handlers; /* ctx: the node */
