/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow - what the tasks of reeve-slurm share: the configuration and the connection to the controller. */
#pragma once
#include <jansson.h>
#include "slurm/follow/config.h"

struct err;
struct http;
struct sd_event;
struct accounting;
struct jobtable;
struct live;

struct follow {
	struct follow_config config;
	struct sd_event *event;
	struct http *http;
	uint32_t controller_uid;
	struct jobtable *jobtable; /* what slurmctld last answered */
	struct live *live;	   /* what was sent of slurmctld's jobs; lost without harm */
	struct accounting *accounting; /* the mark, as the controller last gave it */
	int64_t priority_done_ns; /* CLOCK_MONOTONIC: end of the last round of priority.h */
};

/* Connects libslurm and the controller's address with f->config. The caller zeroes the rest, and calls follow_done()
 * also after an error. */
int follow_open(struct follow *f, struct err *err);
void follow_done(struct follow *f);

/* One exchange with the controller, signed: waits for the answer. `body` NULL: a GET. 0 and *ret; -EREMOTEIO: refused, with
 * the controller's words; -EHOSTUNREACH: no answer. */
int follow_ask(struct follow *f, const char *path, const json_t *body, json_t **ret,
	       struct err *err);
