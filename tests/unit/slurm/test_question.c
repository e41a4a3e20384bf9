/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job requests, from the fields of Slurm's job description; and the answer as job_submit.lua reads it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "slurm/submit/question.h"

#define GIB (1LL << 30)

static struct slurm_submit parse_job(const char *text)
{
	struct question q;
	struct err err = { "" };

	assert_int_equal(question_parse(text, &q, &err), 0);
	assert_int_equal(q.uid, 1001);
	return q.job;
}

static void assert_refused(const char *text, int code)
{
	struct question q;
	struct err err = { "" };

	assert_int_equal(question_parse(text, &q, &err), code);
	assert_true(*err.text);
}

static void cores_are_the_most_that_slurm_could_allocate_at_least(void **state)
{
	(void)state;
	assert_int_equal(parse_job("uid=1001\n").ncpus, 1);
	assert_int_equal(
		parse_job("uid=1001\nmin_cpus=6\nnum_tasks=3\ncpus_per_task=2\n").ncpus, 6);
	assert_int_equal(
		parse_job("uid=1001\nmin_cpus=1\nnum_tasks=3\ncpus_per_task=4\n").ncpus, 12);
	assert_int_equal(parse_job("uid=1001\nmin_nodes=4\npn_min_cpus=8\n").ncpus, 32);
	assert_int_equal(parse_job("uid=1001\nmin_nodes=4\n").ncpus, 4);
}

static void memory_is_of_each_core_or_of_each_node(void **state)
{
	(void)state;
	assert_int_equal(parse_job("uid=1001\nmin_cpus=4\nmin_mem_per_cpu=1024\n").mem_bytes,
			 4 * GIB);
	assert_int_equal(parse_job("uid=1001\nmin_nodes=3\nmin_mem_per_node=2048\n").mem_bytes,
			 6 * GIB);
	assert_int_equal(parse_job("uid=1001\nmin_mem_per_node=0\n").mem_bytes,
			 0); /* all of a node */
}

static void gpus_are_of_the_job_of_each_node_or_of_each_task(void **state)
{
	struct slurm_submit j = parse_job(
		"uid=1001\ntres_per_node=gres:gpu:a100:2,gres:shard:5\nmin_nodes=3\n");

	(void)state;
	assert_int_equal(j.ngpus, 6);
	assert_string_equal(j.gpu_model, "a100");
	assert_int_equal(parse_job("uid=1001\ntres_per_job=gres:gpu:3\n").ngpus, 3);
	assert_int_equal(parse_job("uid=1001\ntres_per_task=gres:gpu\nnum_tasks=5\n").ngpus, 5);
	assert_int_equal(parse_job("uid=1001\ntres_per_node=gres:gpumem:3\n").ngpus, 0);
}

static void gpus_of_each_socket_count_for_every_socket_and_node(void **state)
{
	(void)state;
	assert_int_equal(parse_job("uid=1001\ntres_per_socket=gres:gpu:2\nsockets_per_node=2\n"
				   "min_nodes=3\n")
				 .ngpus,
			 12);
	assert_int_equal(parse_job("uid=1001\ntres_per_socket=gres/gpu:2\n").ngpus, 2);
}

static void a_gres_is_written_with_any_separator_of_slurm(void **state)
{
	struct slurm_submit j = parse_job(
		"uid=1001\ntres_per_node=gres/gpu:a100:2,gres/shard:5\nmin_nodes=3\n");

	(void)state;
	assert_int_equal(j.ngpus, 6);
	assert_string_equal(j.gpu_model, "a100");
	assert_int_equal(parse_job("uid=1001\ntres_per_job=gres/gpu:3\n").ngpus, 3);
	assert_int_equal(parse_job("uid=1001\ntres_per_job=gres/gpu=3\n").ngpus, 3);
	assert_string_equal(parse_job("uid=1001\ntres_per_job=gres/gpu:h100=3\n").gpu_model,
			    "h100");
	assert_int_equal(
		parse_job("uid=1001\ntres_per_task=cpu:4,gres/gpu\nnum_tasks=5\n").ngpus, 5);
	assert_int_equal(parse_job("uid=1001\ntres_per_node=gres/gpumem:3\n").ngpus, 0);
}

static void a_time_limit_is_in_minutes_and_infinite_is_a_year(void **state)
{
	(void)state;
	assert_int_equal(parse_job("uid=1001\ntime_limit=90\n").walltime_s, 5400);
	assert_int_equal(parse_job("uid=1001\ntime_limit=4294967295\n").walltime_s,
			 366 * 86400);
	assert_int_equal(parse_job("uid=1001\n").walltime_s, 0);
	assert_true(parse_job("uid=1001\nshared=0\n").is_exclusive);
	assert_false(parse_job("uid=1001\nshared=1\n").is_exclusive);
}

static void the_tasks_of_an_array_are_counted(void **state)
{
	(void)state;
	assert_int_equal(parse_job("uid=1001\n").tasks, 1);
	assert_int_equal(parse_job("uid=1001\narray_inx=0-9%25 3\n").tasks, 10);
	assert_int_equal(parse_job("uid=1001\narray_inx=0-9:3,20,30-31%255\n").tasks, 7);
	assert_int_equal(parse_job("uid=1001\narray_inx=0-99999999999999999999\n").tasks,
			 SLURM_SUBMIT_TASKS_MAX);
	assert_int_equal(parse_job("uid=1001\narray_inx=x\n").tasks, 1); /* Slurm refuses it */
	assert_int_equal(parse_job("uid=1001\narray_inx=9-0\n").tasks, 1);
}

static void hostile_bytes_stay_in_their_field(void **state)
{
	char text[700] = "uid=1001\naccount=", *end = text + strlen(text);
	struct slurm_submit j = parse_job("uid=1001\naccount=a%0Auid%3D0%22%FF\n");

	(void)state;
	assert_string_equal(j.account, "a\nuid=0\"\xff");
	memset(end, 'x', 600);
	strcpy(end + 600, "\n");
	j = parse_job(text);
	assert_false(request_is_name(j.account)); /* cut, it could be another account */
	assert_refused("uid=1001\naccount=a%0\n", -EINVAL);
	assert_refused("uid=1001\naccount=a%00b\n", -EINVAL);
	assert_refused("uid=1001\nmin_cpus=-1\n", -EINVAL);
	assert_refused("uid=1001\nmin_cpus=1e3\n", -EINVAL);
	assert_refused("uid=1001\nmin_cpus=99999999999999999999\n", -EINVAL);
	assert_refused("uid=4294967295\n", -EINVAL);
	assert_refused("account=a\n", -EINVAL);
	assert_refused("uid=1001\nnonsense\n", -EINVAL);
}

static void amounts_that_multiply_beyond_all_bounds_stay_bounded(void **state)
{
	struct slurm_submit j =
		parse_job("uid=1001\nnum_tasks=4294967293\ncpus_per_task=65533\n"
			  "min_mem_per_cpu=1099511627775\ntres_per_task=gres:gpu:4294967295\n");

	(void)state;
	assert_true(j.ncpus > 0 && j.ncpus <= INT64_C(1) << 40);
	assert_true(j.mem_bytes > 0);
	assert_true(j.ngpus > 0 && j.ngpus <= INT64_C(1) << 40);
}

static void too_many_partitions_are_refused_and_not_cut(void **state)
{
	char text[1200] = "uid=1001\npartition=";

	(void)state;
	while (strlen(text) < 1100)
		strcat(text, "main,");
	strcat(text, "\n");
	assert_refused(text, -E2BIG);
}

static void an_answer_is_two_lines_whatever_it_quotes(void **state)
{
	struct slurm_submit_answer a = { SLURM_SUBMIT_REFUSE, "", "line\nand \xff more" };
	char buf[QUESTION_ANSWER_MAX];

	(void)state;
	assert_string_equal(question_format_answer(&a, buf), "refuse\nline and ? more\n");
	a = (struct slurm_submit_answer){ SLURM_SUBMIT_MOVE, "bonus", "moved" };
	assert_string_equal(question_format_answer(&a, buf), "move bonus\nmoved\n");
	a = (struct slurm_submit_answer){ SLURM_SUBMIT_ACCEPT, "", "" };
	assert_string_equal(question_format_answer(&a, buf), "accept\n\n");
	assert_string_equal(question_format_none("down", buf), "none\ndown\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_are_the_most_that_slurm_could_allocate_at_least),
		cmocka_unit_test(memory_is_of_each_core_or_of_each_node),
		cmocka_unit_test(gpus_are_of_the_job_of_each_node_or_of_each_task),
		cmocka_unit_test(gpus_of_each_socket_count_for_every_socket_and_node),
		cmocka_unit_test(a_gres_is_written_with_any_separator_of_slurm),
		cmocka_unit_test(a_time_limit_is_in_minutes_and_infinite_is_a_year),
		cmocka_unit_test(the_tasks_of_an_array_are_counted),
		cmocka_unit_test(hostile_bytes_stay_in_their_field),
		cmocka_unit_test(amounts_that_multiply_beyond_all_bounds_stay_bounded),
		cmocka_unit_test(too_many_partitions_are_refused_and_not_cut),
		cmocka_unit_test(an_answer_is_two_lines_whatever_it_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
