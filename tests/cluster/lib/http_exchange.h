/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http_exchange.h - exchanges with the controller for test programs and benches: the daemons' client, on the calling
 * thread's own event loop.
 */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/http/http_wait.h"

/* Ends the program where the client cannot be made; `program` begins the message. */
static inline struct http *http_exchange_open(const char *program, const char *url,
					      const char *munge_socket)
{
	const struct http_config c = {
		.url = url, .munge_socket = munge_socket, .timeout_s = 60, .answer_uid = -1
	};
	struct http *h = NULL;
	struct err err = { "" };

	if (http_open(&c, &h, &err) < 0) {
		fprintf(stderr, "%s: %s\n", program, err.text);
		exit(1);
	}
	return h;
}

/* The result is that of http_wait(); *ret_answer belongs to the caller. `h` is attached to the loop of the thread
 * that makes its first exchange, and stays with that thread. */
static inline int http_exchange(struct http *h, struct http_call call, json_t **ret_answer,
				struct err *err)
{
	sd_event *event = NULL;
	int r = sd_event_default(&event);

	*ret_answer = NULL;
	if (r >= 0)
		r = http_attach(h, event, err);
	if (r >= 0 || r == -EBUSY) /* attached by an earlier exchange */
		r = http_wait(h, event, call, ret_answer, err);
	sd_event_unref(event);
	return r;
}
