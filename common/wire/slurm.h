/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.h - what the SPANK plugin and the agent of a node say to each other about a job of Slurm.
 *
 * One question and one answer on a connection to the agent's socket (SOCK_SEQPACKET, root alone may connect). Both are
 * structs of one machine: plugin and agent are installed together, and `version` refuses a pair that is not.
 *
 *	SLURM_BEGIN   the Prolog: a job is about to run here, with these limits; the agent makes its disk
 *	SLURM_STEP    slurmstepd, before it has tasks: the environment that the job's tasks get
 *	SLURM_TASK    slurmstepd, task forked and stopped: the answer is sent when every limit of the job is in force
 *	SLURM_EXIT    slurmstepd, a task has ended: the answer has the end message of a job that Reeve has ended
 *	SLURM_END     the Epilog: no step is left; the answer is sent when the job's disk is gone
 *
 * A job that the agent did not take at SLURM_BEGIN has a mark: a file of its number in SLURM_UNBEGUN_DIR beside the socket, which the
 * Prolog makes and the Epilog removes. It outlives the agent, so that one that is started later does not take the job for one that
 * began before Reeve came.
 *
 * While the agent is restarted (common/wire/agent_service.h), the plugin waits for it. Each question may be asked again, of an agent that was
 * killed before it answered: it changes nothing that it has changed already.
 *
 * The agent takes STEP, TASK and EXIT from a process inside a cgroup of the job alone: the kernel says which job that is.
 */
#pragma once
#include <stdint.h>

#define SLURM_SOCKET "/run/reeve/slurm.sock"
#define SLURM_HANDSHAKE_VERSION 3

enum slurm_question_kind {
	SLURM_BEGIN = 1,
	SLURM_STEP,
	SLURM_TASK,
	SLURM_EXIT,
	SLURM_END,
};

struct slurm_question {
	uint32_t version;
	uint32_t kind; /* enum slurm_question_kind */
	uint32_t job, step;
	uint32_t restarts; /* BEGIN; elsewhere Slurm does not know the attempt's */
	uint32_t uid, gid;
	uint32_t ncpus;	     /* of the job on this node; 0: not known */
	int32_t pid;	     /* TASK: the task */
	int32_t wait_status; /* EXIT: as wait(2) gives it */
	int64_t vmem_bytes;  /* BEGIN; 0: none requested */
	int64_t jobfs_bytes; /* BEGIN; 0: none requested */
	int64_t mem_bytes;   /* STEP, TASK: allocated by Slurm on this node; 0: not known */
	uint32_t
		vmem_refuses; /* BEGIN: 1: what exceeds vmem gets ENOMEM; 0: the job is killed */
	uint32_t nodes, job_ncpus; /* BEGIN: of the whole job; 0: not known */
	uint32_t spare;
	char account[64], partition[64], user[64]; /* BEGIN; each ends with a NUL byte */
	/* BEGIN: a device file of each GPU, as gpu_files_list() names it: "nvidia0,nvidia-cap67"; "?3": slurmd did not name GPU 3; "": none */
	char gpus[1536];
};

enum slurm_answer_kind {
	SLURM_GO = 1,  /* the limits are in force (TASK), or there is nothing to object */
	SLURM_REFUSED, /* `text` says why: the task must not run */
	SLURM_ENDED,   /* EXIT: Reeve has ended the job; `text` is its end message */
	SLURM_UNKNOWN, /* the job's mark says that no agent answered when it began: unguarded= of the site decides */
};

#define SLURM_UNBEGUN_DIR "slurm-unbegun"
/* The first letter of such a file. */
#define SLURM_UNANSWERED 'u'
#define SLURM_BEGIN_REFUSED 'r'

struct slurm_answer {
	uint32_t version;
	uint32_t kind;	  /* enum slurm_answer_kind */
	char tmpdir[256]; /* STEP: the job's disk; "": it has none */
	char text[1024];  /* valid UTF-8, for the user; an end message may have several lines */
};
