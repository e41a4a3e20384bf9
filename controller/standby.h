/* standby - a controller that waits: it says who leads, and asks again and again whether it
 * may.
 */
#pragma once
#include <stdbool.h>

struct config;
struct err;
struct sd_event;
struct store_lead;

struct standby_config {
	struct sd_event *event; /* signals that end the program are set up in it */
	const struct config *config;
	struct store_lead *lead;
	int listen_fd; /* answers 503 here; -1: not listening */
};

/* 1: this controller leads from now on; 0: it is to end. Returns at once where nobody leads. */
int standby_wait(const struct standby_config *c, struct err *err);
