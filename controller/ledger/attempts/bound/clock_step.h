/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock_step - notices that the controller's clock was set back.
 *
 * By a clock that was ahead a job was dispatched later than it was, or in the future, and the time that its node reports would be
 * bounded by too little (attempts/bound/elapsed.h): used, and not charged. So what runs is taken to have been dispatched as much earlier as
 * the clock was set back; likewise what is found on nodes after a restore, which counts as dispatched when the backup was made. After a clock that is set forward the bound is wider than it need be, and stays so: the machine may have slept,
 * and its nodes worked on.
 *
 * The clock is compared with CLOCK_BOOTTIME, also across a restart of the controller, within one boot of its machine.
 */
#pragma once
#include <stdint.h>

struct err;
struct store;

#define STORE_CLOCK_STEP_NS 1000000000 /* less is the usual adjustment of a clock */

struct store_clock {
	const char *boot; /* id of the machine's boot */
	int64_t wall_ns, boot_ns;
};

/* Before reports are stored. Returns by how many nanoseconds the clock was set back since the last call; 0: it was not. < 0: nothing was
 * changed, and the next call will see it. */
int64_t store_clock_step(struct store *s, const struct store_clock *now, struct err *err);
