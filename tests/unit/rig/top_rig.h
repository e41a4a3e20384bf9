/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_rig - documents as a controller sends them, with hostile texts, and the views that `reeve top` makes of them. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cli/top/ui.h"
#include "cli/top/views/subjects.h"
#include "common/err.h"

#define HOSTILE "n\\u001b[31m\\u202e\\u0007\\u9f8d\\n|"

/* ---- documents as a controller sends them ---- */

static const char nodes[] =
	"{\"totals\": {\"up\": 2, \"drain\": 1, \"lost\": 1, \"jobs\": 3,"
	" \"capacity\": {\"ncpus\": 96, \"mem_bytes\": 412316860416, \"jobfs_bytes\": 1000000000, \"ngpus\": 4},"
	" \"held\": {\"ncpus\": 40, \"mem_bytes\": 1024, \"jobfs_bytes\": 1, \"ngpus\": 4},"
	" \"jobs_by_state\": {\"queued\": 12, \"running\": 3, \"suspended\": 1}}, \"left_out\": 7, \"nodes\": ["
	"{\"node\": \"n1\", \"state\": \"up\", \"jobs\": 3, \"tier\": 1, \"last_ns\": 5, \"topology\": \"" HOSTILE
	"\", \"capacity\": {\"ncpus\": 32, \"mem_bytes\": 137438953472, \"ngpus\": 2},"
	" \"held\": {\"ncpus\": 14, \"mem_bytes\": 137438953473, \"ngpus\": 2}, \"notes\": [\"" HOSTILE
	"\"],"
	" \"gpus\": [{\"uuid\": \"GPU-1\", \"model\": \"" HOSTILE
	"\", \"simulated\": true}, {\"uuid\": \"GPU-2\"}]},"
	"{\"node\": \"n10\", \"state\": \"lost\", \"drain\": {\"author\": \"root\", \"reason\": \"" HOSTILE
	"\"}},"
	"{\"node\": \"n2\", \"state\": \"drain\", \"capacity\": {\"ncpus\": 64}, \"held\": {}, \"notes\": \"text\"}]}";

#define JOB(number, name, more)                                                                             \
	"{\"job\": " number ", \"id\": \"" number                                                           \
	"\", \"state\": \"running\", \"name\": \"" name "\","                                               \
	" \"user\": \"daemon\", \"account\": \"physics\", \"node\": \"n1\", \"running_ns\": 1000000000000," \
	" \"suspended_ns\": 0, \"submitted_ns\": 1, \"request\": {\"resources\": {\"ncpus\": 4,"            \
	" \"vmem_bytes\": 4000000000, \"mem_bytes\": 1000000, \"walltime_s\": 2000, \"ngpus\": 1}}," more   \
	"}"
#define USAGE(cpu)                                                                                                                                  \
	"\"usage\": {\"cpu_ns\": " cpu                                                                                                              \
	", \"vmem_bytes\": 3900000000, \"vmem_peak_bytes\": 9000000000,"                                                                            \
	" \"rss_bytes\": 0, \"rss_peak_bytes\": 10, \"gpu_busy_ns\": 5, \"cores\": [{\"cpu\": 0, \"ns\": 900000000000}, {\"cpu\": 1, \"ns\": 5}]}," \
	" \"gpus\": [{\"uuid\": \"GPU-1\", \"model\": \"a100\", \"busy_ns\": 500000000000}], \"cpus\": \"0-3,9\""

static const char jobs[] = "{\"jobs\": [" JOB("12", "first", USAGE("4000000000000")) "," JOB(
	"7", HOSTILE,
	USAGE("1") ", \"note\": \"" HOSTILE
		   "\"") "," JOB("100", "third", "\"cpus\": \"x-,5-2,-3,99999999999\"") "]}";
static const char job[] = "{\"job\": " JOB(
	"12", HOSTILE,
	USAGE("4000000000000") ", \"why\": \"" HOSTILE " long words of a reason that "
			       "need more than one line of a screen of eighty columns, and then some more of them to be cut at last\", \"parts\": "
			       "[{\"node\": \"n1\", \"state\": \"running\", \"ncpus\": 4, \"running_ns\": 10, \"usage\": {\"cpu_ns\": 20}},"
			       " {\"node\": \"n2\"}]") "}";
static const char steps[] =
	"{\"steps\": [{\"step\": 1, \"node\": \"n1\", \"state\": \"ended\", \"exit_status\": 3},"
	" {\"step\": 2, \"node\": \"n1\", \"state\": \"ended\", \"signal\": 9, \"text\": \"" HOSTILE
	"\"}]}";

static struct top_docs load_docs(void)
{
	static const char *const texts[] = { nodes, jobs, job, steps };
	struct top_docs d = { .at_ns = 60000000000, .limit = 3 };

	for (int i = 0; i < _TOP_DOC_MAX; i++) {
		d.of[i] = json_loads(texts[i], 0, NULL);
		assert_non_null(d.of[i]);
	}
	return d;
}

static const struct top_ask asks[] = {
	{ .subject = TOP_CLUSTER, .tab = TOP_RUNNING },
	{ .subject = TOP_CLUSTER, .tab = TOP_QUEUED },
	{ .subject = TOP_CLUSTER, .tab = TOP_NODES },
	{ .subject = TOP_CLUSTER, .tab = TOP_ACCOUNTS },
	{ .subject = TOP_CLUSTER, .tab = TOP_USERS },
	{ .subject = TOP_NODE, .node = "n1" },
	{ .subject = TOP_JOB, .job = "12" },
};
#define N_ASKS ((int)(sizeof(asks) / sizeof(*asks)))

static void make_view(const struct top_ask *ask, const struct top_docs *d, struct top_ui *ui,
		      struct top_view *v)
{
	struct err err = { "" };

	if (top_subject_view(ask, d, v, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(top_ui_arrange(ui, v), 0);
}
