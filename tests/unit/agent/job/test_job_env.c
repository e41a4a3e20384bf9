/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment of a job and of an MPI in it, and which variable replaces which. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/job/handshake/env.h"
#include "agent/job/handshake/hosts.h"
#include "common/err.h"

#define DIR "/var/jobfs/12-1"

static struct request on_two(char **env)
{
	struct request q = { .res = { .ncpus = 16 } };

	q.env = env;
	q.part = (struct job_part){ .index = 1, .n = 2, .hosts = (char *)"n1=4,n2=16" };
	return q;
}

static struct request on_one(char **env)
{
	struct request q = { .res = { .ncpus = 2 } };

	q.env = env;
	return q;
}

static char **env_of(const struct request *q)
{
	struct job_plan p = { .request = q,
			      .job = 12,
			      .attempt = 1,
			      .node = "n2",
			      .cpus = "0-15",
			      .dir = DIR,
			      .jobfs = DIR "/work" };
	char **env = job_env(&p);

	assert_non_null(env);
	return env;
}

/* The one value of it; no name may be there twice. */
static const char *value_of(char **env, const char *name)
{
	size_t n = strlen(name);
	const char *found = NULL;

	for (; *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=') {
			assert_null(found);
			found = *env + n + 1;
		}
	return found;
}

static void the_environment_of_a_part_names_all_nodes_of_the_job(void **unused)
{
	char *none[] = { NULL };
	struct request q = on_two(none);
	char **env = env_of(&q);

	(void)unused;
	assert_string_equal(value_of(env, "REEVE_NODES"), "2");
	assert_string_equal(value_of(env, "REEVE_PART"), "1");
	assert_string_equal(value_of(env, "REEVE_NODELIST"), "n1,n2");
	assert_string_equal(value_of(env, "REEVE_NCPUS"), "16");
	assert_string_equal(value_of(env, "REEVE_NCPUS_ALL"), "20");
	assert_string_equal(value_of(env, "REEVE_NODEFILE"), DIR "/hostfile");
	assert_string_equal(value_of(env, "PBS_NODEFILE"), DIR "/nodefile");
	assert_string_equal(value_of(env, "OMPI_MCA_orte_default_hostfile"), DIR "/hostfile");
	assert_string_equal(value_of(env, "OMPI_MCA_plm_rsh_agent"), "reeve exec --rsh");
	assert_string_equal(value_of(env, "HYDRA_HOST_FILE"), DIR "/nodefile");
	assert_string_equal(value_of(env, "HYDRA_LAUNCHER_EXEC"), "reeve");
	assert_string_equal(value_of(env, "TMPDIR"), DIR "/work");
	assert_non_null(value_of(env, "PATH"));
	job_env_free(env);
}

static void a_job_on_one_node_has_what_it_needs_without_ssh(void **unused)
{
	char *users[] = { (char *)"REEVE_NODELIST=x", (char *)"PBS_NODEFILE=/x",
			  (char *)"PATH=/p", NULL };
	struct request q = on_one(users);
	char **env = env_of(&q);

	(void)unused;
	assert_null(value_of(env, "REEVE_NODES"));
	assert_null(value_of(env, "REEVE_NODELIST"));
	assert_null(value_of(env, "PBS_NODEFILE"));
	assert_null(value_of(env, "OMPI_MCA_orte_default_hostfile"));
	assert_null(value_of(env, "HYDRA_LAUNCHER"));
	assert_string_equal(value_of(env, "OMPI_MCA_plm_rsh_agent"), "reeve exec --rsh");
	assert_string_equal(value_of(env, "PATH"), "/p");
	job_env_free(env);
}

static void variables_for_mpi_do_not_replace_the_users_own(void **unused)
{
	char *users[] = { (char *)"OMPI_MCA_plm_rsh_agent=ssh", (char *)"HYDRA_LAUNCHER=slurm",
			  (char *)"OMPI_MCA_btl=tcp,self",	(char *)"REEVE_PART=0",
			  (char *)"PBS_NODEFILE=/own",		NULL };
	struct request q = on_two(users);
	char **env = env_of(&q);

	(void)unused;
	assert_string_equal(value_of(env, "OMPI_MCA_plm_rsh_agent"), "ssh");
	assert_string_equal(value_of(env, "HYDRA_LAUNCHER"), "slurm");
	assert_string_equal(value_of(env, "OMPI_MCA_btl"), "tcp,self");
	assert_string_equal(value_of(env, "REEVE_PART"), "1");
	assert_string_equal(value_of(env, "PBS_NODEFILE"), DIR "/nodefile");
	job_env_free(env);
}

/* "reeve submit" typed within a job on several nodes sends that job's environment along. */
static void variables_of_another_job_are_not_the_users_own(void **unused)
{
	char *users[] = { (char *)"REEVE_NODEFILE=/old/hostfile",
			  (char *)"PBS_NODEFILE=/old/nodefile",
			  (char *)"OMPI_MCA_orte_default_hostfile=/old/hostfile",
			  (char *)"OMPI_MCA_plm_rsh_agent=reeve exec --rsh",
			  (char *)"HYDRA_HOST_FILE=/own/nodefile",
			  (char *)"HYDRA_LAUNCHER=rsh",
			  (char *)"HYDRA_LAUNCHER_EXEC=reeve",
			  NULL };
	struct request one = on_one(users), two = on_two(users);
	char **env = env_of(&one);

	(void)unused;
	assert_null(value_of(env, "OMPI_MCA_orte_default_hostfile"));
	assert_null(value_of(env, "HYDRA_LAUNCHER_EXEC"));
	assert_string_equal(value_of(env, "HYDRA_HOST_FILE"), "/own/nodefile");
	job_env_free(env);
	env = env_of(&two);
	assert_string_equal(value_of(env, "OMPI_MCA_orte_default_hostfile"), DIR "/hostfile");
	assert_string_equal(value_of(env, "HYDRA_HOST_FILE"), "/own/nodefile");
	job_env_free(env);
}

static void a_list_that_no_variable_can_hold_is_in_the_file_only(void **unused)
{
	static char hosts[20000 * 9 + 1];
	char *none[] = { NULL }, **env, *names, *at = hosts;
	struct request q = on_two(none);

	(void)unused;
	for (int i = 0; i < 20000; i++)
		at += snprintf(at, 10, "%sn%05d=1", i ? "," : "", i);
	q.part = (struct job_part){ .n = 20000, .hosts = hosts };
	assert_int_equal(job_hosts_check(&q.part, NULL), 0);
	names = job_hosts_names(&q.part);
	assert_int_equal(strlen(names), 20000 * 7 - 1);
	free(names);
	env = env_of(&q);
	assert_null(value_of(env, "REEVE_NODELIST"));
	assert_string_equal(value_of(env, "REEVE_NODES"), "20000");
	assert_non_null(value_of(env, "REEVE_NODEFILE"));
	job_env_free(env);
}

static void files_of_nodes_are_what_mpis_read(void **unused)
{
	struct job_part p = { .n = 2, .hosts = (char *)"n1=2,n-2.x=1" };
	char *slots = job_hosts_slots(&p), *lines = job_hosts_lines(&p);

	(void)unused;
	assert_string_equal(slots, "n1 slots=2\nn-2.x slots=1\n");
	assert_string_equal(lines, "n1\nn1\nn-2.x\n");
	free(slots);
	free(lines);
}

static void a_part_whose_list_of_nodes_contradicts_it_is_refused(void **unused)
{
	static const char *const bad[] = { "",
					   "n1",
					   "n1=",
					   "n1=0",
					   "n1=1,",
					   ",n1=1",
					   "n1=1;n2",
					   "n1=-1,n2=1",
					   "-n=1,m=1",
					   "n 1=1,m=1",
					   "n1=1x,m=1",
					   "n1=99999999999999999999,m=1",
					   "n1=1048576,m=1",
					   "n1=1",
					   "n1=1,n2=1,n3=1",
					   NULL };
	struct job_part p = { .index = 1, .n = 2 };
	struct err err;

	(void)unused;
	for (int i = 0; bad[i]; i++) {
		p.hosts = (char *)bad[i];
		assert_int_equal(job_hosts_check(&p, &err), -EINVAL);
	}
	p.hosts = NULL;
	assert_int_equal(job_hosts_check(&p, &err), -EINVAL);
	p.hosts = (char *)"n1=1,n2=1";
	assert_int_equal(job_hosts_check(&p, &err), 0);
	p.index = 2;
	assert_int_equal(job_hosts_check(&p, &err), -EINVAL);
	assert_int_equal(job_hosts_check(&(struct job_part){ 0 }, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_of_a_part_names_all_nodes_of_the_job),
		cmocka_unit_test(a_job_on_one_node_has_what_it_needs_without_ssh),
		cmocka_unit_test(variables_for_mpi_do_not_replace_the_users_own),
		cmocka_unit_test(variables_of_another_job_are_not_the_users_own),
		cmocka_unit_test(a_list_that_no_variable_can_hold_is_in_the_file_only),
		cmocka_unit_test(files_of_nodes_are_what_mpis_read),
		cmocka_unit_test(a_part_whose_list_of_nodes_contradicts_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
