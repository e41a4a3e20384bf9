/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why - why a queued job waits, as a sentence for users. When it starts: forecast.h. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct cycle;

#define DISPATCH_WHY_MAX 1024
/* The conditions of a forecast, for users. */
#define DISPATCH_SURE                                                                              \
	"at the latest, if all jobs run to their walltimes, no job arrives before it and no node " \
	"is lost; earlier if jobs end early"

/* Why a queued job waits, as of the last cycle, with its priority where the profile weighs any.
 * `buf` gets plain text, cut to its size. */
void dispatch_why(const struct cycle *c, const char *cluster, int64_t job, char *buf,
		  size_t size);
