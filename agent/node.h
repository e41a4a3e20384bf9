/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node.h - what the agent has open: the kernel side, the unit manager, the store, the connection to the controller,
 * and the jobs.
 *
 * Only agent/, agent/job/ and agent/step/ include it; the rooms below (enforce, sample, report, admit) get what
 * they need as arguments.
 */
#pragma once
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include "agent/admit/admit.h"
#include "agent/admit/place.h"
#include "agent/config.h"
#include "agent/enforce/events.h"
#include "agent/enforce/guard.h"
#include "agent/enforce/jobfs/jobfs.h"
#include "agent/enforce/manager/manager.h"
#include "agent/enforce/topology.h"
#include "agent/enforce/vmem/vmem.h"
#include "agent/report/state.h"
#include "agent/report/store.h"
#include "agent/report/uplink.h"
#include "agent/sample/prof.h"
#include "agent/sample/sample.h"
#include "agent/users.h"

#define NODE_NOTES_MAX 40

struct job;
struct gpu;
struct devices;
struct gpuwork;
struct steps;
struct leftover;
struct job_due_timer;
struct signed_seal;
struct ended_job;

/* What happened since the agent started; for its metrics. */
struct node_counts {
	int64_t started_ns; /* real time */
	int64_t ended[_END_MAX],
		killed[_LIMIT_MAX]; /* jobs, by enum job_end_kind and enum limit_kind */
	int64_t cpu_ns;		    /* of jobs */
	int64_t samplings, sampling_ns;
};

/* Memory of ended jobs that other jobs keep, in bytes: job/left.h. */
struct node_left {
	int64_t bytes, ticked, told;
	bool is_known; /* no job has ended since it was measured */
};

struct node {
	const struct agent_config *conf;
	sd_event *event;
	sd_bus *bus; /* NULL: no system bus here */
	char boot[STATE_BOOT_MAX];
	char socket[512], final_dir[512], spec_dir[512];
	char views[512];       /* socket of the process that keeps the jobs' namespaces */
	int64_t views_lost_ns; /* CLOCK_BOOTTIME since which it has not answered; 0: it has */
	char topology_text[96];
	bool state_is_passable; /* state_dir.h: jobs of before may need to pass */

	struct users users; /* whose jobs are run here */
	struct db *db;
	bool has_forgotten; /* a job, since the database was last scrubbed */
	struct spool *spool;
	struct uplink *uplink; /* NULL: no controller configured */
	const struct manager_ops *ops;
	struct manager *manager;
	struct vmem *vmem;
	struct events *events;
	struct guard *guard;
	struct sampler *sampler;
	struct prof *prof;   /* NULL: off, or it failed, as a note says */
	struct jobfs *jobfs; /* NULL: jobfs_why says why and what to do */
	struct err jobfs_why;
	struct gpu *gpu;	 /* NULL: none are looked for here; job/gpus/gpus.h */
	struct devices *devices; /* NULL: the agent does not control device files */
	bool gpus_hold;		 /* the device gate is in force */
	struct gpuwork *gpuwork; /* NULL: off, or it failed, as a note says */
	uint64_t gpus_drained;	 /* bit i: gpu_device(gpu, i) is not clean */
	struct place_topology *topology;
	struct cpulist cpus; /* all that jobs may use */
	struct admit_capacity capacity;

	struct manager_id *found; /* phase/recover.h: jobs without a record; malloc()ed */
	size_t n_found;
	struct ended_job *ended; /* agent/slurm/ended.h */
	struct job *jobs;	 /* oldest first */
	size_t n_jobs;		 /* at most WIRE_SYNC_JOBS_MAX */
	struct steps *steps;	 /* step/steps.h: started inside them */
	struct stray *stray;	 /* stray/stray.h: what their users have outside them */
	struct node_counts counts;
	struct node_left left;
	bool is_store_failing;	    /* job/save.h */
	struct leftover *leftovers; /* job/save.c */
	int n_leftovers;
	struct job_due_timer *due; /* job/due.c */
	struct signed_seal *seal;  /* job/signed.c; NULL: none */

	char notes[NODE_NOTES_MAX][512]; /* what cannot be enforced or measured here */
	int n_notes;
	bool is_roots_order; /* the desired state being applied came from root over D-Bus: needs no
				signature of the user */
	const char *note_list[NODE_NOTES_MAX + 1];
};

/* Adds a sentence to status and reports, and logs it; the same one only once, at most NODE_NOTES_MAX. */
void node_note(struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Remove the notes that begin with `begin`. */
void node_unnote(struct node *n, const char *begin);
/* Enforcement tier as a whole: the worse of those of vmem and events. What the guard lacks is a note. */
int node_tier(const struct node *n);

/* The configuration of a connection to the controller, which the agent has. *uid: of ret->reader, lives as long as it. */
int node_http_config(const struct agent_config *conf, struct http_config *ret, uint32_t *uid,
		     struct err *err);

int64_t node_now_ns(void);	/* CLOCK_BOOTTIME */
int64_t node_realtime_ns(void); /* CLOCK_REALTIME */
