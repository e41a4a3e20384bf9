/* SPDX-License-Identifier: GPL-2.0-or-later */
/* retry - repeats a request while the controller cannot be reached. */
#pragma once
#include "cli/cli.h"

#define RETRY_STOPPED 1 /* *stop was set: there is no answer */

/* Like cli_ask(), but repeats the request while it fails with -EHOSTUNREACH: only for requests
 * that do no harm twice. A signal handler may set *stop meanwhile. */
int retry_request(struct cli *c, struct http_call call, const bool *stop, json_t **ret_answer,
		  struct err *err);
/* Runs the event loop for half a second or one event, whichever comes first. */
int retry_wait(struct cli *c, struct err *err);
