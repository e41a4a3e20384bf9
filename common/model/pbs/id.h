/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id.h - ids of PBS as numbers, which Reeve's tables and ledger have.
 *
 *	4711.gadi-pbs		4711, below 2^39
 *	4711[7].gadi-pbs	task 7 of the job array 4711[].gadi-pbs: 2^39 + (7 << 25) + 4711, an index below 2^14 and a job below 2^25
 *
 * The name of the server is not in it: a cluster has one. 40 bits are what the ledger keeps for the id of a cluster's job.
 */
#pragma once
#include <stdint.h>
#include "common/err.h"

#define PBS_ID_TEXT_MAX 256 /* PBS_MAXSVRJOBID is less */
#define PBS_NUMBER_MAX ((INT64_C(1) << 40) - 1)

/* With or without ".server". -EINVAL: no id, or of a whole job array; -ERANGE: above what has a number. */
int pbs_id_parse(const char *text, int64_t *ret, struct err *err);
/* "4711" or "4711[7]". */
#define PBS_ID_SHORT_MAX 32
const char *pbs_id_format(int64_t number, char buf[static PBS_ID_SHORT_MAX]);
