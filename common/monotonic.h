/* SPDX-License-Identifier: GPL-2.0-or-later */
/* monotonic.h - the clock for waits: nothing steps it. */
#pragma once
#include <stdint.h>
#include <time.h>
#include "common/time_units.h"

/* Milliseconds since some moment of this boot (CLOCK_MONOTONIC). */
static inline int64_t monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * S_MS + t.tv_nsec / MS_NS;
}
