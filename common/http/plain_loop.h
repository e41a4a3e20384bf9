/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain_loop.h - one HTTP/1.1 exchange without TLS, driven by an event loop. Private to common/http. */
#pragma once

struct err;
struct http;
struct plain_loop;
struct sd_event;

/* r: what http_finish() is given. The call is freed before. */
typedef void (*plain_loop_fn)(void *ctx, int r, struct err *err);

struct plain_loop_done {
	plain_loop_fn fn;
	void *ctx;
};

/* After http_prepare(): makes the call, over the kept connection where it can be used. done.fn() is called once from the loop, unless
 * plain_loop_free() comes first; never from here. */
int plain_loop_start(struct http *h, struct sd_event *event, struct plain_loop_done done,
		     struct plain_loop **ret, struct err *err);
/* Breaks the call off where it is under way, and its connection with it. */
struct plain_loop *plain_loop_free(struct plain_loop *l);
