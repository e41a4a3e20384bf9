/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts - jobs on several nodes (docs/protocol.md): encodes their parts, and wakes their nodes.
 */
#pragma once
#include "controller/api/call.h"

/* Adds `parts` to the document of a job on several nodes. */
int parts_describe(const struct api *a, const struct store_job *row, json_t *doc,
		   struct err *err);
/* "n1,n2" of "n1=16,n2=16". malloc()ed; NULL: no memory. */
char *parts_nodes(const char *hosts);

/* Wakes all nodes that have a part of the job. */
int parts_wake(struct api *a, int64_t job, struct err *err);
