/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uplink - the one conversation of the agent with the controller.
 *
 * One exchange at a time: a sync that carries reports is answered with their acks; with
 * nothing to say it is a long poll that the controller answers when it wants something. A
 * change on the node cancels an idle long poll and speaks at once. Without the controller it
 * tries again after 1 s, doubling to 60 s, each time less a random part up to a half; jobs
 * run on meanwhile.
 */
#pragma once
#include "agent/report/sync.h"
#include "common/http/http.h"

struct sd_event;
struct uplink;

struct uplink_config {
	struct sd_event *event;
	struct spool *spool;
	struct http_config http; /* answer_uid must be set: answers are acted on as root */
	int64_t wait_s;		 /* long poll; 0: 30 */
	const struct sync_handlers *handlers;
	/* Asked each time a document is made; what it points to must live until the next call.
	 * < 0: it cannot be told whole now; nothing is sent then. */
	int (*describe)(void *ctx, struct sync *ret);
	/* The index-th piece of output not yet acknowledged (index 0, 1, ... for one document):
	 * 1: it is in *ret; 0: no more. Not asked further once the document has 1 MiB of
	 * output. NULL: never any. */
	int (*next_output)(void *ctx, int index, struct sync_output *ret);
	/* A kick is to be expected at any moment: a job starts, or its end is on its way. NULL: never. */
	bool (*is_busy)(void *ctx);
	/* Whenever the controller comes or goes (not for every failed try); NULL: not wanted.
	 */
	void (*on_link)(void *ctx, bool up, const char *why);
	void *ctx;
};

int uplink_open(const struct uplink_config *c, struct uplink **ret, struct err *err);
struct uplink *uplink_close(struct uplink *u);
DEFINE_CLEANUP(struct uplink *, uplink_close)

/* Something has changed: sync now, or right after the exchange under way if that one carries
 * reports. Many kicks before the loop runs again make one exchange. While backing off it waits
 * for the next try. */
void uplink_kick(struct uplink *u);
/* A job that the answer wanted is in the list now: it is not repeated, so that the next exchange has not to be put off. */
void uplink_list_grew(struct uplink *u);
/* Try now whatever the backoff says (SIGHUP). */
void uplink_retry(struct uplink *u);

struct uplink_status {
	bool up;
	int64_t exchanges, failed; /* since start; failed: of these */
	int64_t failures;	   /* in a row when not up */
	int64_t last_ok_ns;	   /* CLOCK_BOOTTIME, 0: never */
	const char *why;	   /* last failure, in words; "" */
};
void uplink_get_status(const struct uplink *u, struct uplink_status *ret);
