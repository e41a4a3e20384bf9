/* why - why a queued job waits, as a sentence for users, and when it starts. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct cycle;

#define DISPATCH_WHY_MAX 1024

/* Why a queued job waits, as of the last cycle, with its priority where the profile weighs any.
 * `buf` gets plain text, cut to its size. */
void dispatch_why(const struct cycle *c, const char *cluster, int64_t job, char *buf,
		  size_t size);
/* Seconds from the last cycle until a queued job starts at the latest, if all jobs run to their
 * walltimes and none are submitted. < 0: not known, or too far away to be computed. */
int64_t dispatch_forecast_s(const struct cycle *c, const char *cluster, int64_t job);
