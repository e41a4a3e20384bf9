/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_room.h - room in the table of address spaces.
 *
 * The table has a fixed size. Room in it is counted before an entry is made, for each job and
 * for the node, and promised to a fork as pages are. So what finds no room is a refused fork or
 * a killed job, never an address space that is not counted.
 */
#pragma once
#include "bpf/vmem_maps.h"

INLINE struct vmem_job *whole_table(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jobs, &zero);
}

INLINE bool room_take(struct vmem_job *of)
{
	__s64 max = READ(of->max_spaces);

	if (__sync_fetch_and_add(&of->held_spaces, 1) < max || !max)
		return true;
	__sync_fetch_and_add(&of->held_spaces, -1);
	return false;
}

INLINE void room_give(struct vmem_job *of)
{
	if (of)
		__sync_fetch_and_add(&of->held_spaces, -1);
}

INLINE void room_leave(__u32 slot)
{
	room_give(job_at(slot));
	room_give(whole_table());
}

INLINE void count_no_room(__u32 slot)
{
	struct vmem_job *job = job_at(slot);

	if (job)
		__sync_fetch_and_add(&job->n_no_room, 1);
}

/* Room in the table alone, for an address space of no job. */
INLINE bool room_enter_table(void)
{
	struct vmem_job *all = whole_table();

	return all && room_take(all);
}

/* Room for one more address space of the job, in its own part of the table and in the table. */
INLINE bool room_enter(__u32 slot)
{
	struct vmem_job *job = job_at(slot), *all = whole_table();

	if (!job || !all)
		return false;
	if (room_take(job)) {
		if (room_take(all))
			return true;
		room_give(job);
	}
	count_no_room(slot);
	return false;
}

/* The room of an entry that changes from one job to another; the table keeps it. The new job may
 * thereby exceed its max_spaces: the process is in it already. */
INLINE void room_move(__u32 from, __u32 to)
{
	struct vmem_job *job = job_at(to);

	room_give(job_at(from));
	if (job)
		__sync_fetch_and_add(&job->held_spaces, 1);
}

INLINE void room_end(struct op *op)
{
	if (op->has_room)
		room_leave(op->slot);
	op->has_room = 0;
}
