/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan goes whole from agent to launcher, and nothing malformed is taken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/job/handshake/plan.h"
#include "common/err.h"

static char *argv_[] = { (char *)"prog", (char *)"", (char *)"a b\n", NULL };
static char *env_[] = { (char *)"A=1", (char *)"TMPDIR=/evil", (char *)"REEVE_JOB=7",
			(char *)"EMPTY=", NULL };

static struct request a_request(void)
{
	struct request q = { .res = { .ncpus = 2 }, .name = "t" };

	q.argv = argv_;
	q.env = env_;
	q.workdir = (char *)"/home/u";
	return q;
}

static char *encode_plan(const struct request *q, size_t *ret_size)
{
	struct job_plan p = { .request = q,
			      .job = 12,
			      .attempt = 1,
			      .node = "n1",
			      .cpus = "0-1",
			      .jobfs = "/jobfs/12-1/work",
			      .script_path = "/jobfs/12-1/script",
			      .rlimit_as = 4096,
			      .deny = PLAN_DENY_PROJECT };
	struct err err;
	char *data;

	assert_int_equal(job_plan_encode(&p, &data, ret_size, &err), 0);
	return data;
}

static const char *value_of(char **env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

static void what_is_encoded_is_decoded(void **unused)
{
	struct request q = a_request();
	struct plan_head head;
	struct plan p;
	struct err err;
	size_t size;
	char *data = encode_plan(&q, &size);

	(void)unused;
	memcpy(&head, data, sizeof(head));
	assert_int_equal(head.type, PLAN_PLAN);
	assert_int_equal(head.size, size - sizeof(head));
	assert_int_equal(plan_decode(data + sizeof(head), head.size, &p, &err), 0);
	assert_string_equal(p.argv[0], "prog");
	assert_string_equal(p.argv[1], "");
	assert_string_equal(p.argv[2], "a b\n");
	assert_null(p.argv[3]);
	assert_null(p.script);
	assert_string_equal(p.workdir, "/home/u");
	assert_string_equal(p.out, "/home/u/t.o12");
	assert_string_equal(p.err, "/home/u/t.e12");
	assert_int_equal(p.rlimit_as, 4096);
	assert_int_equal(p.deny, PLAN_DENY_PROJECT);
	assert_string_equal(value_of(p.env, "A"), "1");
	assert_string_equal(value_of(p.env, "EMPTY"), "");
	assert_non_null(value_of(p.env, "PATH"));
	plan_done(&p);
	free(data);
}

static void reeves_variables_win_over_the_users(void **unused)
{
	struct request q = a_request();
	struct plan p;
	struct err err;
	size_t size;
	char *data = encode_plan(&q, &size);
	int n = 0;

	(void)unused;
	assert_int_equal(plan_decode(data + 8, size - 8, &p, &err), 0);
	for (char **e = p.env; *e; e++)
		n += !strncmp(*e, "TMPDIR=", 7) + !strncmp(*e, "REEVE_JOB=", 10);
	assert_int_equal(n, 2);
	assert_string_equal(value_of(p.env, "TMPDIR"), "/jobfs/12-1/work");
	assert_string_equal(value_of(p.env, "REEVE_JOB"), "12");
	plan_done(&p);
	free(data);
}

static void gpu_variables_of_the_agent_win_over_the_users(void **unused)
{
	char *users[] = { (char *)"CUDA_VISIBLE_DEVICES=0,1", (char *)"ZE_AFFINITY_MASK=7",
			  (char *)"CUDA_CACHE_PATH=/x", NULL };
	char *ours[] = { (char *)"CUDA_VISIBLE_DEVICES=GPU-1", (char *)"ZE_AFFINITY_MASK",
			 NULL };
	struct request q = a_request();
	struct job_plan whole = { .request = &q, .cpus = "0", .node = "n1", .gpu_env = ours };
	struct plan p;
	struct err err;
	size_t size;
	char *data;

	(void)unused;
	q.env = users;
	assert_int_equal(job_plan_encode(&whole, &data, &size, &err), 0);
	assert_int_equal(plan_decode(data + 8, size - 8, &p, &err), 0);
	assert_string_equal(value_of(p.env, "CUDA_VISIBLE_DEVICES"), "GPU-1");
	assert_string_equal(value_of(p.env, "CUDA_CACHE_PATH"), "/x");
	assert_null(value_of(p.env, "ZE_AFFINITY_MASK"));
	plan_done(&p);
	free(data);
}

static void a_script_is_run_with_its_arguments(void **unused)
{
	struct request q = a_request();
	struct plan p;
	struct err err;
	size_t size;
	char *data;

	(void)unused;
	q.script = (char *)"#!/bin/sh\n";
	data = encode_plan(&q, &size);
	assert_int_equal(plan_decode(data + 8, size - 8, &p, &err), 0);
	assert_string_equal(p.script, "/jobfs/12-1/script");
	assert_string_equal(p.argv[1], "prog");
	plan_done(&p);
	free(data);
}

static void outputs_are_absolute_and_one_file_is_one_file(void **unused)
{
	struct request q = a_request();
	char *out, *err_path;

	(void)unused;
	q.out_path = (char *)"x";
	q.err_path = (char *)"/home/u/x";
	assert_int_equal(job_plan_outputs(&q, 1, &out, &err_path), 0);
	assert_string_equal(out, "/home/u/x");
	assert_null(err_path);
	free(out);
	q.err_path = NULL;
	q.join = true;
	assert_int_equal(job_plan_outputs(&q, 1, &out, &err_path), 0);
	assert_null(err_path);
	free(out);
}

static void a_cut_plan_is_refused(void **unused)
{
	struct request q = a_request();
	struct plan p;
	struct err err;
	size_t size;
	char *data = encode_plan(&q, &size);

	(void)unused;
	/* Whole fields may be missing at the end; what is needed may not. */
	for (size_t n = 0; n < size - 8; n++)
		if (plan_decode(data + 8, n, &p, &err) == 0) {
			assert_non_null(p.workdir);
			assert_non_null(p.argv[0]);
			assert_non_null(p.out);
			plan_done(&p);
		}
	free(data);
}

static void a_plan_with_any_byte_changed_does_no_harm(void **unused)
{
	struct request q = a_request();
	struct plan p;
	struct err err;
	size_t size;
	char *data = encode_plan(&q, &size);

	(void)unused;
	for (size_t i = 8; i < size; i++)
		for (int bit = 0; bit < 8; bit++) {
			data[i] = (char)(data[i] ^ 1 << bit);
			if (plan_decode(data + 8, size - 8, &p, &err) == 0)
				plan_done(&p);
			data[i] = (char)(data[i] ^ 1 << bit);
		}
	free(data);
}

static void the_plan_of_a_sister_part_runs_nothing_and_waits(void **unused)
{
	struct request q = { .res = { .ncpus = 2 } };
	struct job_plan whole = { .request = &q,
				  .node = "n2",
				  .cpus = "0",
				  .rlimit_as = 4096,
				  .deny = PLAN_DENY_PROJECT,
				  .is_sister = true };
	struct plan p;
	struct err err;
	size_t size;
	char *data;

	(void)unused;
	assert_int_equal(job_plan_encode(&whole, &data, &size, &err), 0);
	assert_int_equal(plan_decode(data + 8, size - 8, &p, &err), 0);
	assert_true(p.hold);
	assert_null(p.argv[0]);
	assert_null(p.out);
	assert_int_equal(p.rlimit_as, 4096);
	assert_int_equal(p.deny, PLAN_DENY_PROJECT);
	plan_done(&p);
	free(data);
}

/* A plan to run does not become one to hold by a stray field, nor the other way. */
static void a_plan_either_runs_a_command_or_waits(void **unused)
{
	struct plan_head hold = { PLAN_HOLD, 0 };
	struct request q = a_request();
	struct plan p;
	struct err err;
	size_t size;
	char *data = encode_plan(&q, &size), *both = malloc(size + sizeof(hold));

	(void)unused;
	assert_non_null(both);
	memcpy(both, data, size);
	memcpy(both + size, &hold, sizeof(hold));
	assert_int_equal(plan_decode(both + 8, size - 8 + sizeof(hold), &p, &err), -EBADMSG);
	assert_int_equal(plan_decode(both + 8, 0, &p, &err), -EBADMSG);
	free(both);
	free(data);
}

static void nothing_to_run_and_too_much_are_errors(void **unused)
{
	struct request q = a_request();
	struct job_plan p = { .request = &q, .job = 1, .node = "n", .cpus = "0" };
	static char *none[] = { NULL };
	static char *many[3];
	struct err err;
	size_t size;
	char *data;

	(void)unused;
	q.argv = none;
	assert_int_equal(job_plan_encode(&p, &data, &size, &err), -EINVAL);
	q.argv = many;
	many[0] = malloc(PLAN_SIZE_MAX + 1);
	assert_non_null(many[0]);
	memset(many[0], 'x', PLAN_SIZE_MAX);
	many[0][PLAN_SIZE_MAX] = '\0';
	assert_int_equal(job_plan_encode(&p, &data, &size, &err), -E2BIG);
	free(many[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(reeves_variables_win_over_the_users),
		cmocka_unit_test(gpu_variables_of_the_agent_win_over_the_users),
		cmocka_unit_test(a_script_is_run_with_its_arguments),
		cmocka_unit_test(outputs_are_absolute_and_one_file_is_one_file),
		cmocka_unit_test(a_cut_plan_is_refused),
		cmocka_unit_test(a_plan_with_any_byte_changed_does_no_harm),
		cmocka_unit_test(the_plan_of_a_sister_part_runs_nothing_and_waits),
		cmocka_unit_test(a_plan_either_runs_a_command_or_waits),
		cmocka_unit_test(nothing_to_run_and_too_much_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
