/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_memory.c - the two helpers of agent_memory.sh.
 *
 *	agent_memory fill STATE_DIR JOBS PROGRAM PROCESSES
 *		writes down JOBS attempts that are about to be started, as an agent does that
 *		dies between deciding and doing: the next one starts them all.
 *	agent_memory job PROCESSES
 *		what each job runs: so many processes, asleep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "agent/enforce/manager/manager.h"
#include "agent/report/state.h"
#include "agent/report/store.h"
#include "common/cleanup.h"
#include "common/err.h"

#define UID_NOBODY 65534

/* What `reeve submit` sends along when nothing is said about the environment. */
static const char *const environment[] = { "HOME=/",
					   "USER=nobody",
					   "LOGNAME=nobody",
					   "PATH=/usr/local/bin:/usr/bin:/bin",
					   "SHELL=/bin/sh",
					   "LANG=C.UTF-8",
					   NULL };

struct work {
	int n_jobs;
	const char *program, *n_processes;
	char boot[STATE_BOOT_MAX];
};

static int read_boot(struct work *w)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(w->boot, sizeof(w->boot), f))
		return -1;
	w->boot[strcspn(w->boot, "\n")] = '\0';
	return 0;
}

/* The first core for all: a bench of memory, not of placing. */
static void describe_attempt(struct state_attempt *a, const struct work *w)
{
	struct request *q = &a->request;

	a->state = JOB_STARTING;
	strcpy(a->step, "unit");
	strcpy(a->wanted, "run");
	manager_name((struct manager_id){ a->job, a->attempt }, a->unit);
	cpulist_parse("0", &a->cpus, NULL);
	cpulist_parse("0", &a->mem_nodes, NULL);
	a->mem_max_bytes = 64 << 20;
	strcpy(a->clock.boot, w->boot);
	strcpy(q->cluster, "main");
	strcpy(q->account, "physics");
	strcpy(q->user, "nobody");
	strcpy(q->queue, "normal");
	snprintf(q->name, sizeof(q->name), "bench");
	q->uid = q->gid = UID_NOBODY;
	q->res = (struct resources){
		.ncpus = 1, .vmem_bytes = INT64_C(8) << 30, .walltime_s = 86400, .pids = 4096
	};
}

/* The texts are borrowed: not for request_done(). */
static int save_attempt(struct db *db, const struct work *w, int64_t job, struct err *err)
{
	char *argv[] = { strdupa(w->program), strdupa("job"), strdupa(w->n_processes), NULL };
	static struct state_attempt a;

	state_attempt_init(&a);
	a.job = a.jobfs.job = job;
	a.attempt = a.jobfs.attempt = 1;
	describe_attempt(&a, w);
	a.request.argv = argv;
	a.request.env = (char **)(uintptr_t)environment;
	a.request.workdir = strdupa("/");
	a.request.out_path = strdupa("/dev/null");
	a.request.join = true;
	return state_save(db, &a, err);
}

static int fill_store(const char *dir, struct work *w, struct err *err)
{
	_cleanup_(db_closep) struct db *db = NULL;
	char path[512];
	int64_t boots;
	int r;

	snprintf(path, sizeof(path), "%s/agent.db", dir);
	r = store_open(path, &db, err);
	if (r >= 0)
		r = state_boot(db, w->boot, &boots, err);
	if (r >= 0)
		r = db_begin(db, err);
	for (int i = 1; r >= 0 && i <= w->n_jobs; i++)
		r = save_attempt(db, w, i, err);
	return r < 0 ? r : db_commit(db, err);
}

static _Noreturn void be_job(int n)
{
	for (int i = 1; i < n; i++)
		if (fork() == 0)
			break;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct work w = { 0 };
	struct err err = { "" };

	if (argc == 3 && !strcmp(argv[1], "job"))
		be_job(atoi(argv[2]));
	if (argc != 6 || strcmp(argv[1], "fill")) {
		fprintf(stderr, "usage: agent_memory fill STATE_DIR JOBS PROGRAM PROCESSES\n"
				"       agent_memory job PROCESSES\n");
		return 64;
	}
	w.n_jobs = atoi(argv[3]);
	w.program = argv[4];
	w.n_processes = argv[5];
	if (read_boot(&w) < 0)
		return 1;
	if (fill_store(argv[2], &w, &err) < 0) {
		fprintf(stderr, "agent_memory: %s\n", err.text);
		return 1;
	}
	return 0;
}
