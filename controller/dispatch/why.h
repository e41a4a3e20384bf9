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

enum dispatch_why_form {
	DISPATCH_WHY_REASON, /* next to the forecast (forecast.h): two estimates would differ */
	DISPATCH_WHY_ESTIMATED, /* of the job that is next also when it starts, by its reservation */
};
/* Why a queued job waits, as of the last cycle, with its priority where the profile weighs any.
 * `buf` gets plain text, cut to its size. */
void dispatch_why(const struct cycle *c, const char *cluster, int64_t job,
		  enum dispatch_why_form form, char buf[static DISPATCH_WHY_MAX]);
