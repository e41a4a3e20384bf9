/* long_poll - exchanges that wait for something to happen (long polls).
 *
 * Somebody waits for a key ("node n1", "job 17"); whoever changes something wakes the key.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct sd_event;
struct poll;

enum poll_kind { POLL_NODE, POLL_JOB };
enum poll_why {
	POLL_WOKEN,    /* something about the key has changed */
	POLL_EXPIRED,  /* the time is over */
	POLL_REPLACED, /* another waiter took its place */
	POLL_CLOSED,
};

#define POLL_KEY_MAX 64

struct poll_waiter {
	enum poll_kind kind;
	char key[POLL_KEY_MAX];
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
	/* True: done, and what ctx pointed to is given up. Always true but for POLL_WOKEN. */
	bool (*wake)(void *ctx, enum poll_why why);
	void *ctx;
};

int poll_open(struct sd_event *event, struct poll **ret, struct err *err);
/* Wakes all with POLL_CLOSED. */
struct poll *poll_close(struct poll *p);
DEFINE_CLEANUP(struct poll *, poll_close)

/* -ENOMEM: the waiter was not taken. */
int poll_add(struct poll *p, const struct poll_waiter *w, struct err *err);
void poll_wake(struct poll *p, enum poll_kind kind, const char *key);
/* The same of the key and of all below it: of "12", "12.1" too. */
void poll_wake_all(struct poll *p, enum poll_kind kind, const char *key);
/* Ends the waiters of the key with POLL_REPLACED. */
void poll_replace(struct poll *p, enum poll_kind kind, const char *key);
int64_t poll_count(const struct poll *p);
