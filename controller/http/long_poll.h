/* SPDX-License-Identifier: GPL-2.0-or-later */
/* long_poll - requests that are answered when something happens (waiters).
 *
 * A waiter has a key ("n1" of LONG_POLL_NODE, "17" of LONG_POLL_JOB); code that changes the
 * node or job wakes that key.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct sd_event;
struct long_poll;

/* LONG_POLL_CONSOLE: a node that waits for input of interactive steps. */
enum long_poll_kind { LONG_POLL_NODE, LONG_POLL_JOB, LONG_POLL_CONSOLE };
enum long_poll_why {
	LONG_POLL_WOKEN,     /* something about the key has changed */
	LONG_POLL_EXPIRED,   /* the time is over */
	LONG_POLL_REPLACED,  /* another waiter took its place, or it is to ask again */
	LONG_POLL_ABANDONED, /* its client has closed the connection */
	LONG_POLL_CLOSED,
};

#define LONG_POLL_KEY_MAX 64

struct long_poll_waiter {
	enum long_poll_kind kind;
	char key[LONG_POLL_KEY_MAX];
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
	/* True: answered, and ctx was freed. False, for LONG_POLL_WOKEN alone: it goes on
	 * waiting. */
	bool (*wake)(void *ctx, enum long_poll_why why);
	void *ctx;
};

int long_poll_open(struct sd_event *event, struct long_poll **ret, struct err *err);
/* Wakes all with LONG_POLL_CLOSED. */
struct long_poll *long_poll_close(struct long_poll *p);
DEFINE_CLEANUP(struct long_poll *, long_poll_close)

/* *w is copied. -ENOMEM: it was not added. */
int long_poll_add(struct long_poll *p, const struct long_poll_waiter *w, struct err *err);
void long_poll_wake(struct long_poll *p, enum long_poll_kind kind, const char *key);
/* Wakes the key and all keys below it: for "12", "12.1" too. */
void long_poll_wake_all(struct long_poll *p, enum long_poll_kind kind, const char *key);
/* Ends the waiters of the key with LONG_POLL_REPLACED. */
void long_poll_replace(struct long_poll *p, enum long_poll_kind kind, const char *key);
/* The same with LONG_POLL_ABANDONED. */
void long_poll_drop(struct long_poll *p, enum long_poll_kind kind, const char *key);
int64_t long_poll_count(const struct long_poll *p);
