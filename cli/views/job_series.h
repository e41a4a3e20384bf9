/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_series - prints how a job's use went over its time: the points of GET /v1/jobs/ID/series. */
#pragma once
#include "cli/cli.h"

/* `typed`: the job as the user named it. A table for people with the metrics that were measured; rows for
 * programs have every column; JSON is the controller's document. A sentence where there are no points. */
int job_series_show(struct cli *c, const char *typed, struct err *err);
