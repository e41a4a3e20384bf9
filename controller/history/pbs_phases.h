/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs_phases - jobs that released nodes while they ran (pbs_release_nodes): PBS ends each phase
 * with a record of its own, u, and the last one with e; the E record has the first allocation
 * for the whole time.
 *
 * Pure. Each phase is a run of the job with what it had then, HISTORY_NOTE_PHASE; a phase begins
 * where the one before ended, by the walltime that each record used, and the E or R record
 * ends the last one. The time that was suspended belongs to the last phase. Where the u records
 * are in a file before this one, the last phase is the end of the job. A job without u and e
 * records is read as by pbs_parse_line().
 */
#pragma once
#include "common/cleanup.h"
#include "controller/history/pbs.h"

#define PBS_PHASES_MAX 65536 /* jobs with phases at a time; beyond: HISTORY_OUT_OF_RANGE */

struct pbs_phases;
/* NULL: out of memory. */
struct pbs_phases *pbs_phases_new(void);
struct pbs_phases *pbs_phases_free(struct pbs_phases *p);
DEFINE_CLEANUP(struct pbs_phases *, pbs_phases_free)

/* As pbs_parse_line(), for the lines of a log in their order. -ENOMEM. */
int pbs_phases_line(struct pbs_phases *p, const char *line, size_t size,
		    struct history_job *ret);
