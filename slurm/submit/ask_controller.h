/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask_controller - the exchange with the controller about one job, within a limit of time. */
#pragma once
#include "common/wire/slurm_submit.h"
#include "slurm/follow/config.h"

struct ask_controller;

int ask_controller_open(const struct follow_config *c, struct ask_controller **ret,
			struct err *err);
struct ask_controller *ask_controller_close(struct ask_controller *a);
DEFINE_CLEANUP(struct ask_controller *, ask_controller_close)

/* 0 and the answer. -ETIMEDOUT: none within limit_ms; the exchange is given up. < 0: none, and why. */
int ask_controller_submit(struct ask_controller *a, const struct slurm_submit *job,
			  int64_t limit_ms, struct slurm_submit_answer *ret, struct err *err);
