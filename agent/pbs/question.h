/* SPDX-License-Identifier: GPL-2.0-or-later */
/* question.h - what the hook of PBS (pbs/reeve.py) and the agent of a node say to each other about a job: one question and one answer, each a JSON
 * object, on a connection to RunDirectory/pbs.sock (SOCK_SEQPACKET, root alone).
 *
 *	launch   execjob_launch, as a child of the process that is about to become a task: the answer is sent when every limit of the job
 *		 is in force and that process is in the job's cgroup
 *	attach   execjob_attach: process `pid` belongs to the job from now on
 *	end      execjob_epilogue, execjob_end: no task is left; the answer is sent when the job's disk is gone, or after
 *		 five seconds
 *	suspend  execjob_postsuspend: PBS has stopped all processes of the job; resume: execjob_preresume
 *	alive    exechost_periodic: the jobs that PBS has on this node, by blanks
 */
#pragma once
#include "common/model/pbs/id.h"
#include "common/model/request.h"
#include "common/wire/fields.h"

#define PBS_HANDSHAKE_VERSION 3
#define PBS_GPUS_MAX 1024

enum pbs_ask {
	PBS_LAUNCH,
	PBS_ATTACH,
	PBS_END,
	PBS_SUSPEND,
	PBS_RESUME,
	PBS_ALIVE,
	_PBS_ASK_MAX
};

struct pbs_question {
	int32_t version;
	int ask; /* enum pbs_ask */
	char id[PBS_ID_TEXT_MAX];
	int32_t run; /* run_version of PBS: which attempt */
	int64_t uid, gid;
	char user[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], queue[REQUEST_NAME_MAX];
	int64_t ncpus, mem_bytes, vmem_bytes, jobfs_bytes; /* on this node; 0: none */
	bool vmem_refuses; /* what exceeds vmem gets ENOMEM; else the job is killed */
	bool first;    /* the job's first node, where its script runs and its error file is */
	int64_t ngpus; /* on this node */
	/* A device file of each, as pbs_cgroups names them: "nvidia0,nvidia-cap66"; "": not known which. */
	char gpus[PBS_GPUS_MAX];
	int64_t nodes, job_ncpus, job_ngpus; /* of the whole job; 0: not known */
	int32_t pid;	     /* attach: that process; launch: the agent finds it */
	int32_t wait_status; /* end: as wait(2) has it; -1: not known */
	char end_text
		[200];	 /* end: why PBS ended the job, "by PBS: ..."; "": it ended by itself */
	char jobs[4096]; /* alive */
};

enum pbs_verdict {
	PBS_GO,	     /* the limits are in force, or there is nothing to object */
	PBS_REFUSED, /* `text` says why: the task must not run */
	PBS_ENDED,   /* end: Reeve has ended the job; `text` is its end message */
	_PBS_VERDICT_MAX,
};

struct pbs_answer {
	int32_t version;
	int verdict;	  /* enum pbs_verdict */
	char tmpdir[256]; /* launch: the job's disk; "": it has none */
	char text[1024];
};

extern const struct wire_field pbs_question_fields[];
extern const struct wire_field pbs_answer_fields[];
