/* SPDX-License-Identifier: GPL-2.0-or-later */
/* turns - pages that have to read much before they can be shown: each gets a turn after the other, and between two turns the
 * controller does its other work. Who asked waits for the answer as for any other. */
#pragma once
#include "common/cleanup.h"

struct err;
struct sd_event;
struct turns;

/* A page's next turn, or its last one. When the answer was not ready it calls turns_add() again with that count. */
struct turns_page {
	void *page;	/* the caller's */
	unsigned count; /* of turns that it had */
};
enum turns_why { TURNS_NEXT, TURNS_CLOSED };
typedef void (*turns_fn)(void *ctx, struct turns_page page, enum turns_why why);

/* The pause between two turns. */
#define TURNS_PAUSE_US 1000

int turns_open(struct sd_event *event, turns_fn fn, void *ctx, struct turns **ret,
	       struct err *err);
/* Calls fn with TURNS_CLOSED for each page that waits. */
struct turns *turns_close(struct turns *t);
DEFINE_CLEANUP(struct turns *, turns_close)
/* -ENOMEM: it was not added. */
int turns_add(struct turns *t, struct turns_page page, struct err *err);
