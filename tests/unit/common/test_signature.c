/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_signature - a node starts only what its user signed, whatever request the controller sends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/signature/signature.h"
#include "common/wire/wire.h"

static char *one[] = { (char *)"sh", (char *)"-c", (char *)"echo hello", NULL };
static char *other[] = { (char *)"sh", (char *)"-c", (char *)"echo evil", NULL };
static char *shifted[] = { (char *)"sh", (char *)"-cecho hello", NULL };
static char *env[] = { (char *)"A=1", (char *)"B=2", NULL };
static char *other_env[] = { (char *)"A=1", (char *)"B=2", (char *)"LD_PRELOAD=x", NULL };

/* As the command line makes it, and as the controller sends it after its defaults. */
static struct request signed_request(void)
{
	struct request q = { .account = "physics",
			     .name = "t",
			     .res = { .ncpus = 4, .vmem_bytes = 1000000000, .walltime_s = 60 },
			     .argv = one,
			     .env = env,
			     .workdir = (char *)"/home/alice" };

	return q;
}

static struct request stored_request(void)
{
	struct request q = signed_request();

	strcpy(q.cluster, "main");
	strcpy(q.queue, "normal");
	strcpy(q.user, "alice");
	q.uid = q.gid = 1001;
	q.res.jobfs_bytes = 100;
	q.res.mem_bytes = 1010;
	q.res.pids = 4096;
	return q;
}

static struct signature_job signed_of(const struct request *r)
{
	_cleanup_free_ char *text = NULL;
	struct signature_job s = { .nonce = "" };
	struct err err = { "" };

	assert_int_equal(signature_encode_job(r, &text, &err), 0);
	if (signature_decode_job(text, strlen(text), &s, &err) < 0)
		fail_msg("%s: %s", err.text, text);
	return s;
}

/* The words of the refusal; "": it is allowed, as job `base`. */
static const char *compare_requests(const struct request *a, const struct request *g,
				    int64_t job, int32_t attempt, int64_t *ret_base)
{
	static struct err err;
	struct signature_job s = signed_of(a);
	const struct signature_given given_job = { g, job, attempt, NULL };
	int r;

	err.text[0] = '\0';
	r = signature_allows_job(&s, &given_job, ret_base, &err);
	signature_job_done(&s);
	assert_true(r == 0 || r == -EPERM);
	assert_int_equal(r == 0, !*err.text);
	return err.text;
}

static void assert_refused(const struct request *a, const struct request *g, const char *words)
{
	int64_t base;
	const char *said = compare_requests(a, g, 12, 1, &base);

	if (!strstr(said, words))
		fail_msg("'%s' is not in '%s'", words, said);
}

static void a_request_that_was_signed_is_allowed_with_the_sites_defaults(void **state)
{
	struct request a = signed_request(), g = stored_request();
	int64_t base = 0;

	(void)state;
	assert_string_equal(compare_requests(&a, &g, 12, 1, &base), "");
	assert_int_equal(base, 12);
	g.res.ncpus = 2; /* less than requested */
	assert_string_equal(compare_requests(&a, &g, 12, 1, &base), "");
	*a.account = *a.name = '\0'; /* the site's */
	strcpy(g.name, "job");
	strcpy(g.account, "whatever");
	assert_string_equal(compare_requests(&a, &g, 12, 1, &base), "");
}

static void another_command_environment_or_directory_is_refused(void **state)
{
	struct request a = signed_request(), g;

	(void)state;
	g = stored_request(), g.argv = other, assert_refused(&a, &g, "its command is not");
	g = stored_request(), g.argv = shifted, assert_refused(&a, &g, "its command is not");
	g = stored_request(), g.script = (char *)"evil", assert_refused(&a, &g, "its script");
	g = stored_request(), g.env = other_env, assert_refused(&a, &g, "its environment");
	g = stored_request(), g.env = NULL, assert_refused(&a, &g, "its environment");
	g = stored_request(), g.workdir = (char *)"/",
	assert_refused(&a, &g, "its working directory");
	g = stored_request(), g.out_path = (char *)".bashrc",
	assert_refused(&a, &g, "an output file");
	g = stored_request(), g.err_path = (char *)"x",
	assert_refused(&a, &g, "an output file");
	g = stored_request(), g.stream = true, assert_refused(&a, &g, "where its output goes");
	g = stored_request(), g.join = true, assert_refused(&a, &g, "where its output goes");
	g = stored_request(), strcpy(g.name, "u"), assert_refused(&a, &g, "its name");
	g = stored_request(), strcpy(g.account, "biology"),
	assert_refused(&a, &g, "the account");
	g = stored_request(), g.vmem_policy = VMEM_POLICY_DENY,
	assert_refused(&a, &g, "what exceeding vmem does");
	strcpy(a.cluster, "main");
	g = stored_request(), strcpy(g.cluster, "other"), assert_refused(&a, &g, "its cluster");
}

/* The words of the refusal if the node lists `free_queues`. */
static const char *compare_queues(const char *asked, const char *given, const char *free_queues)
{
	static struct err err;
	struct request a = signed_request(), g = stored_request();
	const struct signature_given given_job = { &g, 12, 1, free_queues };
	struct signature_job s;
	int64_t base;

	strcpy(a.queue, asked);
	strcpy(g.queue, given);
	s = signed_of(&a);
	err.text[0] = '\0';
	signature_allows_job(&s, &given_job, &base, &err);
	signature_job_done(&s);
	return err.text;
}

static void another_queue_is_refused_unless_it_is_free(void **state)
{
	const char *no = "its queue is not what its user signed";

	(void)state;
	assert_string_equal(compare_queues("normal", "normal", NULL), "");
	assert_string_equal(compare_queues("", "express", NULL), ""); /* the site's */
	assert_string_equal(compare_queues("normal", "express", NULL), no);
	assert_string_equal(compare_queues("normal", "express", "bonus"), no);
	assert_string_equal(compare_queues("normal", "bonus", "bonus"), "");
	assert_string_equal(compare_queues("normal", "idle", "bonus, idle"), "");
	assert_string_equal(compare_queues("normal", "bon", "bonus,idle"), no);
	assert_string_equal(compare_queues("normal", "", ",bonus,"), no);
}

static void an_amount_above_the_signed_one_is_refused(void **state)
{
	struct request a = signed_request(), g = stored_request();
	int64_t base;

	(void)state;
	g.res.ncpus = 5;
	assert_refused(&a, &g, "its ncpus, 5, is more than the 4");
	g = stored_request(), g.res.walltime_s = 61, assert_refused(&a, &g, "its walltime");
	g = stored_request(), g.res.vmem_bytes = 2000000000, assert_refused(&a, &g, "its vmem");
	/* A request cut in equal parts has its bytes rounded up. */
	g = stored_request(), g.res.vmem_bytes = 1000000002;
	assert_string_equal(compare_requests(&a, &g, 12, 1, &base), "");
}

static void a_script_and_its_arguments_are_signed_as_one(void **state)
{
	struct request a = signed_request(), g = stored_request();
	int64_t base;

	(void)state;
	a.script = g.script = (char *)"#!/bin/sh\n";
	assert_string_equal(compare_requests(&a, &g, 12, 1, &base), "");
	g.script = (char *)"#!/bin/sh\nevil";
	assert_refused(&a, &g, "its script");
	g = stored_request(), assert_refused(&a, &g, "its command");
}

static void a_second_attempt_is_allowed_only_where_requeue_was_signed(void **state)
{
	struct request a = signed_request(), g = stored_request();
	int64_t base;

	(void)state;
	assert_non_null(strstr(compare_requests(&a, &g, 12, 2, &base), "attempt 2"));
	a.requeue = true;
	assert_string_equal(compare_requests(&a, &g, 12, 2, &base), "");
	assert_non_null(strstr(compare_requests(&a, &g, 12, 2000, &base), "attempt 2000"));
}

static struct request array_task(struct job_id id, char lines[ARRAY_ENV][ARRAY_ENV_MAX],
				 char **list)
{
	struct request g = stored_request();

	list[0] = env[0];
	list[1] = env[1];
	for (int i = 0; i < ARRAY_ENV; i++)
		list[2 + i] = (char *)array_format_env(id, i, lines[i]);
	list[2 + ARRAY_ENV] = NULL;
	g.env = list;
	g.out_path = array_format_output(NULL, "t", 'o', id);
	g.err_path = array_format_output(NULL, "t", 'e', id);
	return g;
}

static void only_the_array_tasks_that_were_signed_are_allowed(void **state)
{
	char lines[ARRAY_ENV][ARRAY_ENV_MAX], *list[3 + ARRAY_ENV];
	struct request a = signed_request(), g;
	int64_t base = 0;

	(void)state;
	a.array = (struct array){ .n = 5, .first = 10, .last = 18, .step = 2 };
	g = array_task((struct job_id){ 40, 14 }, lines, list);
	assert_string_equal(compare_requests(&a, &g, 43, 1, &base), "");
	assert_int_equal(base, 40);
	/* The number of a job is that of its array task. */
	assert_non_null(strstr(compare_requests(&a, &g, 44, 1, &base), "its environment"));
	free(g.out_path);
	g.out_path = (char *)"/home/alice/.bashrc";
	assert_non_null(strstr(compare_requests(&a, &g, 43, 1, &base), "an output file"));
	free(g.err_path);
	g = array_task((struct job_id){ 40, 15 }, lines, list);
	assert_non_null(strstr(compare_requests(&a, &g, 43, 1, &base), "this task"));
	free(g.out_path);
	free(g.err_path);
	g = stored_request();
	assert_non_null(
		strstr(compare_requests(&a, &g, 43, 1, &base), "an array run as one job"));
	/* One that is no array has no such variables. */
	a = signed_request();
	g = array_task((struct job_id){ 40, 14 }, lines, list);
	assert_non_null(strstr(compare_requests(&a, &g, 43, 1, &base), "its environment"));
	free(g.out_path);
	free(g.err_path);
}

static void a_part_has_at_most_the_jobs_amounts_and_only_the_first_runs_a_command(void **state)
{
	struct request a = signed_request(), g = stored_request();
	struct err err;
	int64_t base;

	(void)state;
	a.res = (struct resources){ .walltime_s = 60 };
	assert_int_equal(request_set(&a, "resources", "select=2:ncpus=4:vmem=1GB", &err), 0);
	g.part = (struct job_part){ .index = 0, .n = 2, .hosts = (char *)"n1=4,n2=4" };
	assert_string_equal(compare_requests(&a, &g, 12, 1, &base), "");
	g.res.ncpus = 9;
	assert_refused(&a, &g, "its ncpus, 9, is more than the 8");
	g.res.ncpus = 4;
	g.part.index = 1;
	g.res.walltime_s = 360;
	assert_refused(&a, &g, "a part other than the first");
	g.argv = NULL;
	assert_string_equal(compare_requests(&a, &g, 12, 1, &base), "");
	g.env = other_env; /* steps that name none have it */
	assert_refused(&a, &g, "its environment");
}

/* As the first of `n` parts; 0: on one node. */
static const char *compare_parts(const struct request *a, int32_t n)
{
	struct request g = stored_request();
	int64_t base;

	g.res.ncpus = 1;
	g.part = (struct job_part){ .n = n, .hosts = n ? (char *)"n1=1,..." : NULL };
	return compare_requests(a, &g, 12, 1, &base);
}

static void more_parts_than_were_signed_are_refused(void **state)
{
	struct request a = signed_request();
	struct err err;

	(void)state;
	/* The site may split it, into parts of a core at least. */
	assert_string_equal(compare_parts(&a, 0), "");
	assert_string_equal(compare_parts(&a, 4), "");
	assert_string_equal(compare_parts(&a, 5),
			    "the number of its nodes, 5, is not what its user signed");
	a.res = (struct resources){ .walltime_s = 60 };
	assert_string_equal(compare_parts(&a, 5), "");
	/* Chunks may lie together. */
	assert_int_equal(request_set(&a, "resources", "select=2:ncpus=4+1:ncpus=2", &err), 0);
	assert_string_equal(compare_parts(&a, 0), "");
	assert_string_equal(compare_parts(&a, 3), "");
	assert_non_null(strstr(compare_parts(&a, 4), "the number of its nodes, 4,"));
	a.select.is_scattered = true;
	assert_string_equal(compare_parts(&a, 3), "");
	assert_non_null(strstr(compare_parts(&a, 2), "the number of its nodes, 2,"));
	assert_non_null(strstr(compare_parts(&a, 0), "the number of its nodes, 1,"));
}

static void a_part_that_the_job_does_not_have_is_refused(void **state)
{
	struct request a = signed_request(), g = stored_request();

	(void)state;
	g.argv = NULL;
	g.part = (struct job_part){ .index = 2, .n = 2, .hosts = (char *)"n1=2,n2=2" };
	assert_refused(&a, &g, "which part of it is here");
	g.part.n = 0;
	assert_refused(&a, &g, "which part of it is here");
}

/* ---- steps ---- */

static struct signature_step step_of(const char *body)
{
	_cleanup_json_ json_t *doc = json_loads(body, 0, NULL);
	struct signature_step s = { .nonce = "" };
	_cleanup_free_ char *text = NULL;
	struct err err = { "" };

	assert_non_null(doc);
	assert_int_equal(signature_encode_step(12, doc, &text, &err), 0);
	if (signature_decode_step(text, strlen(text), &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void assert_step(const struct signature_step *s, const struct signature_given_step *g,
			const char *words)
{
	struct err err = { "" };
	int r = signature_allows_step(s, g, &err);

	if (r != (*words ? -EPERM : 0) || !strstr(err.text, words))
		fail_msg("%d, '%s', not '%s'", r, err.text, words);
}

static void a_step_is_for_its_job_its_nodes_its_command_and_place(void **state)
{
	const struct signature_given_step good = {
		.job = 12, .node = "n2", .job_workdir = "/srv", .argv = one, .workdir = "/srv"
	};
	struct signature_step s =
		step_of("{\"nodes\":[\"n1\",\"n2\"],\"argv\":[\"sh\",\"-c\",\"echo hello\"]}");
	struct signature_given_step g;

	(void)state;
	assert_step(&s, &good, "");
	g = good, g.workdir = NULL, assert_step(&s, &g, "");
	g = good, g.job = 13, assert_step(&s, &g, "the job that it is started in");
	g = good, g.node = "n3", assert_step(&s, &g, "the node that it is started on");
	g = good, g.argv = other, assert_step(&s, &g, "its command");
	g = good, g.env = env, assert_step(&s, &g, "its environment");
	g = good, g.workdir = "/", assert_step(&s, &g, "its working directory");
	signature_step_done(&s);
	s = step_of("{\"nodes\":[\"n2\"],\"argv\":[\"sh\",\"-c\",\"echo hello\"],"
		    "\"env\":[\"A=1\",\"B=2\"],\"workdir\":\"/tmp\"}");
	g = good, g.workdir = "/tmp", assert_step(&s, &g, "its environment");
	g.env = env, assert_step(&s, &g, "");
	g.env = other_env, assert_step(&s, &g, "its environment");
	g.env = env, g.workdir = NULL, assert_step(&s, &g, "its working directory");
	signature_step_done(&s);
}

static void a_step_has_the_terminal_that_its_user_signed(void **state)
{
	const struct sync_terminal asked = { .console = SYNC_CONSOLE_PTY,
					     .on_hangup = SYNC_HANGUP_KEEP,
					     .rows = 30,
					     .cols = 100,
					     .is_main = true };
	const struct signature_given_step good = {
		.job = 12, .node = "n2", .job_workdir = "/srv", .argv = one, .terminal = asked
	};
	struct signature_step s =
		step_of("{\"nodes\":[\"n2\"],\"argv\":[\"sh\",\"-c\",\"echo hello\"],"
			"\"console\":\"pty\",\"on_hangup\":\"keep\",\"rows\":30,\"cols\":100,"
			"\"main\":true}");
	struct signature_given_step g;

	(void)state;
	assert_step(&s, &good, "");
	g = good, g.terminal.console = SYNC_CONSOLE_PIPES;
	assert_step(&s, &g, "its terminal (--pty, --stdin) is not what its user signed");
	g = good, g.terminal.console = SYNC_CONSOLE_NONE;
	assert_step(&s, &g, "its terminal (--pty, --stdin)");
	g = good, g.terminal.is_main = false;
	assert_step(&s, &g, "whether its job ends with it");
	g = good, g.terminal.on_hangup = SYNC_HANGUP_END;
	assert_step(&s, &g, "what becomes of it when its terminal is lost");
	g = good, g.terminal.rows = 31, assert_step(&s, &g, "the size of its terminal");
	g = good, g.terminal.cols = 99, assert_step(&s, &g, "the size of its terminal");
	signature_step_done(&s);
	/* A step without a signed terminal, also an older command's. */
	s = step_of("{\"nodes\":[\"n2\"],\"argv\":[\"sh\",\"-c\",\"echo hello\"]}");
	assert_step(&s, &good, "a reeve command that is older than this agent");
	g = good, g.terminal = (struct sync_terminal){ .is_main = true };
	assert_step(&s, &g, "whether its job ends with it");
	g.terminal = (struct sync_terminal){ .on_hangup = SYNC_HANGUP_KEEP };
	assert_step(&s, &g, "what becomes of it");
	g.terminal = (struct sync_terminal){ .console = SYNC_CONSOLE_NONE };
	assert_step(&s, &g, "");
	signature_step_done(&s);
}

static void each_kind_of_signed_statement_is_read_strictly(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"schema\":\"reeve/1\"}",
		"{\"schema\":\"reeve/1\",\"kind\":\"job\"}",
		"{\"schema\":\"reeve/"
		"1\",\"kind\":\"job\",\"nonce\":\"0\",\"command\":\"0\",\"env\":\"0\"}",
		"{\"schema\":\"reeve/1\",\"kind\":\"step\",\"nonce\":1}",
	};
	struct request a = signed_request();
	_cleanup_free_ char *job = NULL, *again = NULL;
	struct signature_step step;
	struct signature_job s;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(signature_decode_job(bad[i], strlen(bad[i]), &s, &err),
				 -EINVAL);
		assert_int_equal(signature_decode_step(bad[i], strlen(bad[i]), &step, &err),
				 -EINVAL);
	}
	assert_int_equal(signature_encode_job(&a, &job, &err), 0);
	assert_int_equal(signature_encode_job(&a, &again, &err), 0);
	assert_string_not_equal(job, again); /* each has a nonce of its own */
	assert_int_equal(signature_decode_step(job, strlen(job), &step, &err), -EINVAL);
	assert_non_null(strstr(err.text, "signed for a job"));
	for (size_t n = 0; n < strlen(job); n++)
		assert_int_equal(signature_decode_job(job, n, &s, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_that_was_signed_is_allowed_with_the_sites_defaults),
		cmocka_unit_test(another_command_environment_or_directory_is_refused),
		cmocka_unit_test(another_queue_is_refused_unless_it_is_free),
		cmocka_unit_test(more_parts_than_were_signed_are_refused),
		cmocka_unit_test(a_part_that_the_job_does_not_have_is_refused),
		cmocka_unit_test(an_amount_above_the_signed_one_is_refused),
		cmocka_unit_test(a_script_and_its_arguments_are_signed_as_one),
		cmocka_unit_test(a_second_attempt_is_allowed_only_where_requeue_was_signed),
		cmocka_unit_test(only_the_array_tasks_that_were_signed_are_allowed),
		cmocka_unit_test(
			a_part_has_at_most_the_jobs_amounts_and_only_the_first_runs_a_command),
		cmocka_unit_test(a_step_is_for_its_job_its_nodes_its_command_and_place),
		cmocka_unit_test(a_step_has_the_terminal_that_its_user_signed),
		cmocka_unit_test(each_kind_of_signed_statement_is_read_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
