/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_simulate - any bytes as a trace, replayed under the baselines: every job that is taken
 * runs once, after its submission, and under fcfs none overtakes.
 *
 * links: common/model/gpus common/model/resources common/model/amount common/model/features
 * links: controller/simulate/names controller/simulate/trace controller/simulate/replay controller/simulate/ends
 * links: controller/simulate/fairness controller/simulate/summary controller/simulate/baseline
 * links: controller/simulate/pool/easy controller/simulate/pool/fcfs controller/simulate/pool/queue_tree
 * links: controller/simulate/pool/running_set controller/history/swf controller/history/history
 * links: common/err
 * libs: -lm
 */
#include <stdint.h>
#include <string.h>
#include "common/err.h"
#include "controller/simulate/summary.h"

#define CORES 16
#define JOBS_MAX 300

static void trap_unless(bool ok)
{
	if (!ok)
		__builtin_trap();
}

static void replay_trace(const struct sim_trace *t, const char *name)
{
	_cleanup_(sim_fairness_freep) struct sim_fairness *fair = NULL;
	_cleanup_(sim_policy_done) struct sim_policy policy = { 0 };
	struct sim_times times[JOBS_MAX];
	uint32_t order[JOBS_MAX];
	struct sim_replay r = {
		.trace = t, .cores = CORES, .policy = &policy, .times = times, .order = order
	};
	struct sim_summary sum;
	struct err err;

	trap_unless(sim_fairness_new(t->groups.n, NULL, &fair) == 0);
	trap_unless(sim_baseline_new(name, t, CORES, &policy) == 0);
	r.fair = fair;
	trap_unless(sim_replay_run(&r, &err) == 0);
	trap_unless(sim_summarise(&r, &sum) == 0);
	for (size_t i = 0; i < t->n; i++) {
		trap_unless(times[i].start_s >= t->jobs[i].submit_s);
		trap_unless(times[i].end_s == times[i].start_s + t->jobs[i].run_s);
	}
	trap_unless(strcmp(name, "fcfs") != 0 || sum.overtaken.max == 0);
	trap_unless(t->n == 0 || (sum.utilisation > 0 && sum.utilisation < 1.000001));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *end = p + size;
	struct sim_trace t;

	sim_trace_init(&t);
	while (p < end && t.n < JOBS_MAX) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		trap_unless(sim_trace_line(&t, p, (size_t)((nl ? nl : end) - p)) == 0);
		p = nl ? nl + 1 : end;
	}
	sim_trace_finish(&t, CORES);
	for (size_t i = 1; i < t.n; i++)
		trap_unless(t.jobs[i - 1].submit_s <= t.jobs[i].submit_s);
	replay_trace(&t, "fcfs");
	replay_trace(&t, "easy");
	sim_trace_done(&t);
	return 0;
}
