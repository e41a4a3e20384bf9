/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs - routes below /v1/jobs, but for submission and steps. */
#pragma once
#include "controller/api/call.h"

int route_jobs(struct call *c, struct err *err);
int route_job(struct call *c, struct err *err);
int route_cancel(struct call *c, struct err *err);
int route_suspend(struct call *c, struct err *err);
int route_resume(struct call *c, struct err *err);
int route_priority(struct call *c, struct err *err);
int route_hold(struct call *c, struct err *err);
int route_release(struct call *c, struct err *err);
int route_output(struct call *c, struct err *err);
int route_job_price(struct call *c, struct err *err);
int route_job_eff(struct call *c, struct err *err);
int route_series(struct call *c, struct err *err);
int route_why(struct call *c, struct err *err);
