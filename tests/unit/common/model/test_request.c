/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_request.c - one meaning of a request, wherever it is typed; bad input is named. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/model/request.h"

static void resources_read_and_print_back(void **state)
{
	struct resources res = { 0 }, again = { 0 };
	struct err err;
	char buf[256];

	(void)state;
	assert_int_equal(resources_parse("ncpus=4,vmem=2GB, jobfs = 500MB ,walltime=0:10:00",
					 &res, &err),
			 0);
	assert_int_equal(res.ncpus, 4);
	assert_int_equal(res.vmem_bytes, 2000000000);
	assert_int_equal(res.jobfs_bytes, 500000000);
	assert_int_equal(res.walltime_s, 600);
	assert_int_equal(res.mem_bytes, 0);
	assert_string_equal(resources_format(&res, buf, sizeof(buf)),
			    "ncpus=4,vmem=2GB,jobfs=500MB,walltime=0:10:00");
	assert_int_equal(resources_parse(buf, &again, &err), 0);
	assert_memory_equal(&res, &again, sizeof(res));
}

static void a_resource_that_a_text_does_not_name_stays(void **state)
{
	struct resources res = { .ncpus = 2, .walltime_s = 60 };

	(void)state;
	assert_int_equal(resources_parse("walltime=2h", &res, NULL), 0);
	assert_int_equal(res.ncpus, 2);
	assert_int_equal(res.walltime_s, 7200);
}

static void gpus_are_asked_for_by_model(void **state)
{
	struct resources res = { 0 }, again = { 0 };
	char buf[256];

	(void)state;
	assert_int_equal(resources_parse("ngpus=A100-40:2,ncpus=4", &res, NULL), 0);
	assert_int_equal(res.ngpus, 2);
	assert_string_equal(res.gpu_model, "a100-40");
	assert_string_equal(resources_format(&res, buf, sizeof(buf)),
			    "ncpus=4,ngpus=a100-40:2");
	assert_int_equal(resources_parse(buf, &again, NULL), 0);
	assert_memory_equal(&res, &again, sizeof(res));
	assert_int_equal(resources_parse("ncpus=8", &res, NULL), 0);
	assert_string_equal(res.gpu_model, "a100-40");
	assert_int_equal(resources_parse("ngpus=1", &res, NULL), 0); /* any, from now on */
	assert_string_equal(res.gpu_model, "");
	assert_int_equal(resources_parse("ngpus=a100_1g.5gb:7", &res, NULL), 0);
	assert_string_equal(res.gpu_model, "a100_1g.5gb");
}

static void bad_resources_are_named_and_write_nothing(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{ "", "empty item" },
		{ "ncpus=1,,vmem=1GB", "empty item" },
		{ "ncpus=1,", "empty item" },
		{ "cores=4", "unknown resource 'cores'" },
		{ "cores=4", "ncpus, vmem" },
		{ "ncpus", "NAME=AMOUNT" },
		{ "ncpus=0", "at least 1" },
		{ "ncpus=-1", "whole number" },
		{ "ncpus=1.5", "whole number" },
		{ "ncpus=99999999999999999999", "whole number" },
		{ "ncpus=2000000", "at most 1048576" },
		{ "vmem=2", "unit forgotten" },
		{ "vmem=2GX", "unit is unknown" },
		{ "vmem=9999999999999999TB", "too large" },
		{ "walltime=1:99", "not a duration" },
		{ "ncpus=1,ncpus=2", "twice" },
		{ "ngpus=a100", "has no number; write e.g. ngpus=a100:1" },
		{ "ngpus=:2", "'' is not a GPU model; write MODEL:NUMBER" },
		{ "ngpus=a100:", "ngpus" },
		{ "ngpus=a100:0", "at least 1" },
		{ "ngpus=a100:-1", "whole number" },
		{ "ngpus=a100:5000", "at most 4096" },
		{ "ngpus=gpu:a100:2", "'gpu:a100' is not a GPU model" },
		{ "ngpus=2:a100", "'2' is not a GPU model" },
		{ "ngpus=a 100:2", "is not a GPU model" },
		{ "ngpus=a100\xc3\xa4:2", "is not a GPU model" },
		{ "ngpus=a123456789a123456789a123456789a123456789a123456789a123456789a123:1",
		  "is not a GPU model" },
		{ "ngpus=a100:1,ngpus=h100:1", "twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct resources res = { .ncpus = 7 }, before = res;
		struct err err = { "" };

		assert_int_equal(resources_parse(bad[i].text, &res, &err), -EINVAL);
		if (!strstr(err.text, bad[i].word))
			fail_msg("'%s' says '%s', not '%s'", bad[i].text, err.text,
				 bad[i].word);
		assert_memory_equal(&res, &before, sizeof(res));
	}
}

static void script_lines_are_options(void **state)
{
	static const char text[] = "#!/bin/bash\n"
				   "# a comment\n"
				   "#PBS -l ncpus=2,vmem=1GB\n"
				   "#PBS -l walltime=60 -N 'my_job' -M a@b -m ae\n"
				   "#REEVE\t-ljobfs=10MB --account=physics\n"
				   "#REEVE: -l ncpus=7\n"
				   "#PBS -j oe -V\n"
				   "\n"
				   "echo hi\n"
				   "#PBS -l ncpus=99\n";
	_cleanup_(request_done) struct request r;
	char ignored[256];
	struct err err = { "" };

	(void)state;
	request_init(&r);
	assert_int_equal(
		request_parse_script(&r, text, sizeof(text) - 1, "x.sh", ignored, &err), 0);
	assert_int_equal(r.res.ncpus, 2);
	assert_int_equal(r.res.jobfs_bytes, 10000000);
	assert_int_equal(r.res.walltime_s, 60);
	assert_string_equal(r.name, "my_job");
	assert_string_equal(r.account, "physics");
	assert_true(r.join);
	assert_string_equal(r.mail_user, "a@b");
	assert_int_equal(r.mail_types, MAIL_FAIL | MAIL_END);
	assert_string_equal(ignored, "-V");
	assert_string_equal(r.script, text);
}

static void bad_scripts_name_file_line_and_remedy(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		const char *words[2];
	} bad[] = {
		{ "#!/bin/sh\n#PBS -l ncpus=1\r\n", 27, { "x.sh, line 2", "sed -i" } },
		{ "#!/bin/sh\nec\0ho\n", 16, { "x.sh, line 2", "NUL" } },
		{ "", 0, { "x.sh", "empty" } },
		{ "#PBS -l ncpus=zero\n", 19, { "x.sh, line 1: ncpus", "'zero'" } },
		{ "\n#REEVE -l cpus=1\n", 18, { "line 2", "unknown resource 'cpus'" } },
		{ "#REEVE --nonsense\n", 18, { "line 1", "--nonsense" } },
		{ "#REEVE -N\n", 10, { "line 1", "needs a value" } },
		{ "#REEVE -N a/b\n", 14, { "line 1", "'a/b' is not a name" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(request_done) struct request r;
		char ignored[256];
		struct err err = { "" };

		request_init(&r);
		assert_int_equal(request_parse_script(&r, bad[i].text, bad[i].size, "x.sh",
						      ignored, &err),
				 -EINVAL);
		for (int k = 0; k < 2; k++)
			if (!strstr(err.text, bad[i].words[k]))
				fail_msg("says '%s', not '%s'", err.text, bad[i].words[k]);
	}
}

static void make_good(struct request *r)
{
	request_init(r);
	assert_int_equal(
		request_set(r, "resources", "ncpus=1,vmem=1GB,jobfs=1MB,walltime=60", NULL), 0);
	r->script = strdup("echo\n");
	r->workdir = strdup("/");
}

static void incomplete_requests_are_refused(void **state)
{
	static const size_t needed[] = { offsetof(struct resources, ncpus),
					 offsetof(struct resources, vmem_bytes),
					 offsetof(struct resources, jobfs_bytes),
					 offsetof(struct resources, walltime_s) };
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		_cleanup_(request_done) struct request r;

		make_good(&r);
		assert_int_equal(request_check(&r, &err), 0);
		memset((char *)&r.res + needed[i], 0, sizeof(int64_t));
		assert_int_equal(request_check(&r, &err), -EINVAL);
		assert_non_null(strstr(err.text, "add e.g. -l"));
	}
}

static void paths_names_and_sizes_are_checked(void **state)
{
	_cleanup_(request_done) struct request r;
	struct err err;

	(void)state;
	make_good(&r);
	r.workdir[0] = 'x';
	assert_int_equal(request_check(&r, &err), -EINVAL);
	r.workdir[0] = '/';
	r.script[0] = '\0';
	assert_int_equal(request_check(&r, &err), -EINVAL);
	r.script[0] = 'e';
	strcpy(r.queue, "-x");
	assert_int_equal(request_check(&r, &err), -EINVAL);
	r.queue[0] = '\0';
	r.env = calloc(2, sizeof(*r.env));
	r.env[0] = strdup("=x");
	assert_int_equal(request_check(&r, &err), -EINVAL);
	r.env[0][0] = 'A';
	r.env[0][1] = '=';
	assert_int_equal(request_check(&r, &err), 0);
	r.res.ncpus = INT64_MAX;
	assert_int_equal(request_check(&r, &err), -EINVAL);
}

static void only_the_first_part_of_a_job_needs_a_command(void **state)
{
	_cleanup_(request_done) struct request r;
	struct err err;

	(void)state;
	make_good(&r);
	request_shed(&r);
	r.part.n = 2;
	assert_int_equal(request_check_given(&r, &err), -EINVAL);
	r.part.index = 1;
	assert_int_equal(request_check_given(&r, &err), 0);
	r.res.vmem_bytes = 0;
	assert_int_equal(request_check_given(&r, &err), -EINVAL);
}

static void a_user_cannot_submit_a_part_of_a_job(void **state)
{
	_cleanup_(request_done) struct request r;
	struct err err;

	(void)state;
	make_good(&r);
	r.part = (struct job_part){ .index = 1, .n = 2 };
	assert_int_equal(request_check_given(&r, &err), 0);
	assert_int_equal(request_check(&r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "part"));
}

static void copies_share_nothing(void **state)
{
	_cleanup_(request_done) struct request r, c;
	char *const argv[] = { (char *)"a", (char *)"b", NULL };

	(void)state;
	make_good(&r);
	r.argv = calloc(3, sizeof(*r.argv));
	r.argv[0] = strdup(argv[0]);
	r.argv[1] = strdup(argv[1]);
	assert_int_equal(request_copy(&r, &c, NULL), 0);
	assert_ptr_not_equal(r.argv[1], c.argv[1]);
	assert_string_equal(r.argv[1], c.argv[1]);
	assert_null(c.argv[2]);
	assert_ptr_not_equal(r.workdir, c.workdir);
}

static void directives_of_arrays_dependencies_holds_and_requeues_are_read(void **state)
{
	static const char text[] = "#!/bin/sh\n#PBS -J 0-9:3%2 -r y -h\n"
				   "#PBS -W depend=afterok:5 -W umask=022\n"
				   "#REEVE --after-any 6,7[1]\ntrue\n";
	struct request r;
	struct err err;
	char ignored[256];

	(void)state;
	request_init(&r);
	assert_int_equal(
		request_parse_script(&r, text, sizeof(text) - 1, "x.sh", ignored, &err), 0);
	assert_int_equal(r.array.n, 4);
	assert_int_equal(r.array.at_once, 2);
	assert_int_equal(r.after.n, 3);
	assert_int_equal(r.after.at[2].id.index, 1);
	assert_true(r.is_held && r.requeue);
	assert_string_equal(ignored, "-W");
	request_done(&r);
	assert_int_equal(request_set(&r, "requeue", "maybe", &err), -EINVAL);
	assert_non_null(strstr(err.text, "write y"));
}

static void now_or_never_is_read_and_stands_alone(void **state)
{
	static const char *const bad[] = {
		"", "-1", "+1", "1s", "0x1", "31622401", "99999999999999999999"
	};
	static const char text[] = "#!/bin/sh\n#REEVE --immediate=90 -l ncpus=1\ntrue\n";
	struct request r;
	struct err err;
	char ignored[256];

	(void)state;
	request_init(&r);
	assert_int_equal(
		request_parse_script(&r, text, sizeof(text) - 1, "x.sh", ignored, &err), 0);
	assert_true(r.is_immediate);
	assert_int_equal(r.immediate_s, 90);
	assert_int_equal(request_set(&r, "immediate", NULL, &err), 0);
	assert_int_equal(r.immediate_s, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(request_set(&r, "immediate", bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "write the seconds"));
	}
	r.is_held = true;
	assert_int_equal(request_check(&r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "a job that is held"));
	request_done(&r);
}

static void only_a_blank_ends_the_mark_of_an_option(void **state)
{
	static const struct {
		const char *text;
		int64_t ncpus;
	} of[] = {
		{ "#PBS\t-l ncpus=2\n", 2 },	  { "#REEVE\t-l ncpus=3\n", 3 },
		{ "#PBSX -l ncpus=2\n", 0 },	  { "#REEVE-l ncpus=2\n", 0 },
		{ "#reeve -l ncpus=2\n", 0 },	  { "##PBS -l ncpus=2\n", 0 },
		{ " #PBS -l ncpus=2\n", 0 },	  { " \t\n\n#PBS -l ncpus=4", 4 },
		{ "true\n#PBS -l ncpus=2\n", 0 }, { "#PBS\n", 0 },
		{ "#\n#PBS -l ncpus=5\n", 5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		_cleanup_(request_done) struct request r;
		char ignored[256];
		int64_t before;

		request_init(&r);
		before = r.res.ncpus;
		assert_int_equal(request_parse_script(&r, of[i].text, strlen(of[i].text),
						      "x.sh", ignored, NULL),
				 0);
		if (r.res.ncpus != (of[i].ncpus ? of[i].ncpus : before))
			fail_msg("'%s': %lld cores", of[i].text, (long long)r.res.ncpus);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(resources_read_and_print_back),
		cmocka_unit_test(a_resource_that_a_text_does_not_name_stays),
		cmocka_unit_test(gpus_are_asked_for_by_model),
		cmocka_unit_test(bad_resources_are_named_and_write_nothing),
		cmocka_unit_test(script_lines_are_options),
		cmocka_unit_test(bad_scripts_name_file_line_and_remedy),
		cmocka_unit_test(incomplete_requests_are_refused),
		cmocka_unit_test(paths_names_and_sizes_are_checked),
		cmocka_unit_test(a_user_cannot_submit_a_part_of_a_job),
		cmocka_unit_test(only_the_first_part_of_a_job_needs_a_command),
		cmocka_unit_test(copies_share_nothing),
		cmocka_unit_test(directives_of_arrays_dependencies_holds_and_requeues_are_read),
		cmocka_unit_test(now_or_never_is_read_and_stands_alone),
		cmocka_unit_test(only_a_blank_ends_the_mark_of_an_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
