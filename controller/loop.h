/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop - the controller's event loop: each dispatch is measured (common/stops/stops.h), and SIGTERM and SIGINT end the program in time whatever
 * it does.
 *
 * A thread of its own waits for these signals. It asks the loop to end; when the program has not ended within LOOP_END_S it ends the
 * process as kill -9 would, which the ledger survives: a transaction in progress is rolled back.
 */
#pragma once

struct err;
struct sd_event;

/* Below the 5 s that operators are promised. */
#define LOOP_END_S 4

/* Once, before any other thread is started: blocks the signals and starts the thread. */
int loop_open(struct err *err);
/* This event loop ends on such a signal, also if it arrived earlier. */
int loop_watch(struct sd_event *event, struct err *err);
/* Runs the event loop until sd_event_exit(). */
int loop_run(struct sd_event *event, struct err *err);
