/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http_wait - one exchange that runs the event loop until the answer has come: for programs that have nothing
 * else to do meanwhile. Other sources of the loop are served.
 */
#pragma once
#include "common/http/http.h"

/* The result is that of http_done_fn; < 0 also when the loop fails, which cancels the call. `event` is the loop
 * that `h` is attached to. *ret_answer belongs to the caller, and is NULL where there was no JSON. */
int http_wait(struct http *h, struct sd_event *event, struct http_call call,
	      json_t **ret_answer, struct err *err);
