/* SPDX-License-Identifier: GPL-2.0-or-later */
/* standby - a controller that does not lead: answers requests with the name of the one that
 * leads, and retries to become the leader.
 */
#pragma once
#include <stdbool.h>

struct certificate;
struct config;
struct err;
struct sd_event;
struct store_lead;

struct standby_config {
	struct sd_event *event; /* signals that end the program are set up in it */
	const struct config *config;
	struct store_lead *lead;
	int listen_fd;			 /* answers 503 here; -1: not listening */
	struct certificate *certificate; /* NULL: plain HTTP */
};

/* Waits for the lead. 1: this controller leads; 0: a signal ended the wait. Returns at once
 * where no other leads. */
int standby_wait(const struct standby_config *c, struct err *err);
