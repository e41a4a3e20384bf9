/* parts - jobs on several nodes (docs/protocol.md): what people are shown of them, and who is
 * to be woken. */
#pragma once
#include "controller/api/call.h"

/* `parts` of a job on several nodes onto its document. */
int parts_describe(const struct api *a, const struct store_job *row, json_t *doc,
		   struct err *err);
/* "n1,n2" of "n1=16,n2=16". malloc()ed; NULL: no memory. */
char *parts_nodes(const char *hosts);

/* Wakes all nodes that have something of the job. */
int parts_wake(struct api *a, int64_t job, struct err *err);
