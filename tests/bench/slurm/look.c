/* SPDX-License-Identifier: GPL-2.0-or-later */
/* look.c - asks slurmctld one kind of question COUNT times, for follow.sh, which reads what each costs slurmctld.
 *
 * look jobs|steps|priorities|ID COUNT: the whole job table as `squeue` asks for it, the steps of all jobs that run, what
 * `sprio` shows, or one job. Prints how many records the last answer had.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int load_all(uint32_t job, uint32_t *n)
{
	job_info_msg_t *jobs = NULL;
	int r = job ? slurm_load_job(&jobs, job, SHOW_ALL | SHOW_LOCAL)
		    : slurm_load_jobs(0, &jobs, SHOW_ALL | SHOW_LOCAL);

	*n = r == SLURM_SUCCESS ? jobs->record_count : 0;
	slurm_free_job_info_msg(jobs);
	return r;
}

static int load_steps(uint32_t *n)
{
	job_step_info_response_msg_t *steps = NULL;
	int r = slurm_get_job_steps(0, NO_VAL, NO_VAL, &steps, SHOW_ALL | SHOW_LOCAL);

	*n = r == SLURM_SUCCESS ? steps->job_step_count : 0;
	slurm_free_job_step_info_response_msg(steps);
	return r;
}

static int load_priorities(uint32_t *n)
{
	priority_factors_response_msg_t *answer = NULL;
	int r = slurm_load_job_prio(&answer, NULL, NULL, NULL, SHOW_LOCAL);

	*n = r == SLURM_SUCCESS && answer->priority_factors_list
		     ? (uint32_t)slurm_list_count(answer->priority_factors_list)
		     : 0;
	slurm_free_priority_factors_response_msg(answer);
	return r;
}

static int send_question(const char *what, uint32_t *n)
{
	if (!strcmp(what, "jobs"))
		return load_all(0, n);
	if (!strcmp(what, "steps"))
		return load_steps(n);
	if (!strcmp(what, "priorities"))
		return load_priorities(n);
	return load_all((uint32_t)strtoul(what, NULL, 10), n);
}

int main(int argc, char **argv)
{
	uint32_t n = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: look jobs|steps|priorities|ID COUNT\n");
		return 64;
	}
	slurm_init(NULL);
	for (int i = 0; i < atoi(argv[2]); i++)
		if (send_question(argv[1], &n) != SLURM_SUCCESS) {
			fprintf(stderr, "look: %s: %s\n", argv[1], slurm_strerror(errno));
			return 1;
		}
	printf("%u\n", n);
	return 0;
}
