/* SPDX-License-Identifier: GPL-2.0-or-later */
/* context.c - the time, requests for a scheduling cycle, and wake-ups of long polls; see
 * context.h. */
#include <stdio.h>
#include <systemd/sd-event.h>
#include <time.h>
#include "common/clock.h"
#include "controller/api/context.h"
#include "controller/api/turns.h"
#include "controller/http/long_poll.h"
#include "controller/ledger/usage/totals/top.h"

void api_begin_turn(struct api *a, unsigned count)
{
	a->turn_until_ns = count < TURNS_MAX ? api_monotonic_ns() + a->turn_ns : 0;
	store_usage_turn(a->c.store, a->turn_until_ns);
}

void api_end_turn(struct api *a)
{
	a->turn_until_ns = 0;
	store_usage_turn(a->c.store, 0);
}

bool api_must_defer(struct api *a)
{
	bool is_busy = api_monotonic_ns() < a->busy_until_ns;

	a->counts.deferred += is_busy;
	return is_busy;
}

void api_munge_socket(const struct api *a, char ret[static AUTH_SOCKET_MAX])
{
	const char *socket = a->c.config->munge_socket;

	snprintf(ret, AUTH_SOCKET_MAX, "%s", socket ? socket : "");
}

int64_t api_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t api_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void api_request_cycle(struct api *a)
{
	int64_t now_ns = api_monotonic_ns();
	int64_t at_ns = a->cycle_due_ns > now_ns ? a->cycle_due_ns : now_ns;

	a->is_cycle_wanted = true;
	/* A cycle that is already due, or under way, keeps its time, else each request would delay it. */
	if (sd_event_source_get_enabled(a->cycle_source, NULL) > 0)
		return;
	sd_event_source_set_time(a->cycle_source, (uint64_t)at_ns / 1000);
	sd_event_source_set_enabled(a->cycle_source, SD_EVENT_ONESHOT);
}

void api_wake_job(struct api *a, int64_t job)
{
	char key[LONG_POLL_KEY_MAX];

	api_step_key(job, 0, key);
	long_poll_wake_all(a->c.poll, LONG_POLL_JOB, key);
}

void api_step_key(int64_t job, int64_t step, char *key)
{
	if (step)
		snprintf(key, LONG_POLL_KEY_MAX, "%lld.%lld", (long long)job, (long long)step);
	else
		snprintf(key, LONG_POLL_KEY_MAX, "%lld", (long long)job);
}

void api_wake_step(struct api *a, int64_t job, int64_t step)
{
	char key[LONG_POLL_KEY_MAX];

	api_step_key(job, step, key);
	long_poll_wake(a->c.poll, LONG_POLL_JOB, key);
	if (!step)
		return;
	api_step_key(job, API_ANY_STEP, key);
	long_poll_wake(a->c.poll, LONG_POLL_JOB, key);
}

void api_wake_node(struct api *a, const char *node)
{
	long_poll_wake(a->c.poll, LONG_POLL_NODE, node);
}
