/* SPDX-License-Identifier: GPL-2.0-or-later */
/* turns - pages and requests that have to read much before they can be answered: each gets a turn after the other, and between two
 * turns the controller does its other work, which goes first. Who asked waits for the answer as for any other. */
#pragma once
#include "common/cleanup.h"
#include "common/time_units.h"

struct err;
struct sd_event;
struct turns;

/* A request's next turn, or its last one. When the answer was not ready it calls turns_add() again with that count. */
struct turns_request {
	void *request;	/* the caller's */
	unsigned count; /* of turns that it had */
};
enum turns_why { TURNS_NEXT, TURNS_CLOSED };
typedef void (*turns_fn)(void *ctx, struct turns_request request, enum turns_why why);

/* A turn reads one part at least, and further parts until this time has passed. Requests that need less follow each other in the same time. */
#define TURNS_LENGTH_NS (20 * MS_NS)
/* A request that has had so many turns reads all the rest in one: the parts that it read first were dropped from memory before it had
 * read the last (usage/ranks/parts.h). */
#define TURNS_MAX 500
/* The next turn comes after the pause when there is nothing else to do, and in any case then. */
#define TURNS_PAUSE_US 1000
#define TURNS_LATEST_US 200000

int turns_open(struct sd_event *event, turns_fn fn, void *ctx, struct turns **ret,
	       struct err *err);
/* Calls fn with TURNS_CLOSED for each that waits. */
struct turns *turns_close(struct turns *t);
DEFINE_CLEANUP(struct turns *, turns_close)
/* -ENOMEM: it was not added. */
int turns_add(struct turns *t, struct turns_request request, struct err *err);
