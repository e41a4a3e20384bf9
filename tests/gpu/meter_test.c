/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobs used of their GPUs, in a world that is known exactly: agent/job/gpus/meter.c
 * between the simulated driver and stand-ins for the rest of the agent. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/job/gpus/meter.h"
#include "agent/job/report.h"
#include "agent/sample/gpuwork.h"
#include "common/err.h"
#include "tests/gpu/rig.h"

/* pid 100 and 101 are of job 7 on GPU 0; 200 belongs to no job there; 300 is of job 8 on GPU 1; 150
 * ran on GPU 0 before job 7 had it, 160 so shortly that no sample saw it alive. */
static const char script[] =
	"gpu 0 uuid=GPU-a name=A100-SXM4-40GB mem=40960 bus=0000:3B:00.0 watts=300\n"
	"gpu 1 uuid=GPU-b name=A100-SXM4-40GB mem=40960 bus=0000:5E:00.0 watts=100\n"
	"process 0 pid=150 from=0 to=3 mem=1 sm=90\n"
	"process 0 pid=100 from=5 to=13 mem=1024 sm=50\n"
	"process 0 pid=101 from=7 to=9 mem=512 sm=20\n"
	"process 0 pid=200 from=0 to=20 mem=100 sm=10\n"
	"process 1 pid=300 from=1 to=6 mem=64 sm=80\n";

static struct rig r;
static struct node n;
static struct usage sums;
static int64_t now_ns;
static char note[256];
static int n_notes;
static bool is_short;
static struct gpuwork_counts counts;

/* ---- the rest of the agent ---- */

int64_t node_now_ns(void)
{
	return now_ns;
}

void job_note(struct job *j, const char *fmt, ...)
{
	va_list ap;

	(void)j;
	va_start(ap, fmt);
	vsnprintf(note, sizeof(note), fmt, ap);
	va_end(ap);
	n_notes++;
}

/* Memory that runs out (linked with --wrap). */
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
	return is_short ? NULL : __real_realloc(p, size);
}

bool job_has_ended(const struct job *j)
{
	return j->phase >= PHASE_FINAL;
}

void job_merge_usage(struct job *j, const struct usage *u)
{
	if (j->s.job == 7)
		usage_merge(&sums, u);
}

/* The cgroups of the script's pids: a process that has ended has none. */
int manager_find(const char *parent, int32_t pid, struct manager_id *ret, struct err *err)
{
	double at = (double)now_ns / SECOND;

	(void)parent;
	*ret = (struct manager_id){ .job = pid == 300 ? 8 : 7, .attempt = 1 };
	if ((pid == 150 && at >= 3) || (pid == 100 && at >= 13) || (pid == 101 && at >= 9) ||
	    (pid == 300 && at >= 6))
		return err_set(err, -ESRCH, "it is gone");
	return pid == 200 ? err_set(err, -ENOENT, "of no job") : 0;
}

int gpuwork_read(const struct gpuwork *g, uint64_t cgroup_id, struct gpuwork_counts *ret)
{
	(void)g, (void)cgroup_id;
	*ret = counts;
	return 0;
}

static const char *parent_cgroup(const struct manager *m)
{
	(void)m;
	return "/";
}

/* ---- a job ---- */

/* Driver and agent have the same clock. */
static void tick_at(double at_s)
{
	r.set_us((uint64_t)(at_s * 1e6 + 0.5));
	now_ns = (int64_t)(at_s * 1e9 + 0.5);
	gpu_meter_tick(&n);
}

static void start_job(struct job *j, int64_t id, uint64_t gpus)
{
	*j = (struct job){ .node = &n, .phase = PHASE_RUNNING, .gpus = gpus };
	j->s.job = id;
	j->s.attempt = 1;
	j->next = n.jobs;
	n.jobs = j;
	gpu_meter_start(&n, j);
	assert_non_null(j->meter);
}

static void drop_job(struct job *j)
{
	gpu_meter_free(j->meter);
	free(j->s.gpu_use);
}

/* What the report of the job would have of this GPU. */
static struct gpu_use use_of(const struct job *j, const char *uuid)
{
	struct gpu_use u = { 0 };

	snprintf(u.uuid, sizeof(u.uuid), "%s", uuid);
	gpu_meter_fill(j->meter, &u, 1);
	return u;
}

/* Samples are percents of whole periods: 20 ms of rounding. */
static void is_near(int64_t ns, double s)
{
	if (fabs((double)ns / SECOND - s) > 0.02)
		fail_msg("%.3f s, not %.3f", (double)ns / SECOND, s);
}

static void begin_rig(int wait_ms)
{
	static const struct manager_ops ops = { .parent = parent_cgroup };

	rig_init(&r, "r535", script);
	r.wait_ms = wait_ms;
	rig_open(&r);
	now_ns = 0;
	n = (struct node){ .ops = &ops, .gpu = r.g };
	sums = (struct usage){ 0 };
}

static void jobs_are_told_apart(void **state)
{
	struct job a, b;
	struct gpu_use u;

	(void)state;
	begin_rig(120000);
	start_job(&b, 8, 2);
	for (int s = 0; s <= 4; s++)
		tick_at(s);
	start_job(&a, 7, 1);
	for (int s = 5; s <= 10; s++)
		tick_at(s);
	u = use_of(&a, "GPU-a");
	assert_int_equal(u.mem_bytes, 1024 * MIB);
	assert_int_equal(u.mem_peak_bytes, 1536 * MIB);
	assert_int_equal(u.idle_ns, 0);
	for (int s = 11; s <= 20; s++)
		tick_at(s);
	u = use_of(&a, "GPU-a");
	is_near(u.busy_ns, 8 * 0.5 + 2 * 0.2);
	assert_int_equal(u.mem_bytes, 0);
	is_near(u.idle_ns, 7);
	assert_int_equal(u.mem_total_bytes, 40960 * MIB);
	assert_string_equal(u.source, "nvml");
	assert_true(u.is_simulated);
	assert_true(gpu_use_has(&u, &u.energy_mj));
	assert_true(llabs(u.energy_mj - 15 * 300000) < 15000); /* 15 s of looks at 300 W */
	assert_false(gpu_use_has(&u, &u.opens));
	/* the driver had no samples of that device before: the first may be half a period late */
	u.idle_ns = use_of(&b, "GPU-b").busy_ns;
	assert_true(u.idle_ns > 3.58 * SECOND && u.idle_ns < 4.02 * SECOND);
	assert_true(sums.gpu_busy_ns == u.busy_ns && sums.gpu_mem_peak_bytes == 1536 * MIB);
	drop_job(&a);
	drop_job(&b);
	rig_done(&r);
}

static void a_restarted_agent_continues_the_figures(void **state)
{
	struct job a, again;
	char sys[80], dev[80], proc[80];
	struct gpu_options o = { .nvml = r.library, .sys = sys, .dev = dev, .proc = proc };
	struct gpu_use u;

	(void)state;
	begin_rig(120000);
	for (int s = 0; s <= 4; s++)
		tick_at(s);
	start_job(&a, 7, 1);
	for (int s = 5; s <= 8; s++)
		tick_at(s);
	is_near(use_of(&a, "GPU-a").busy_ns, 3 * 0.5 + 0.2);
	gpu_meter_keep(&a);
	assert_non_null(a.s.gpu_use);
	/* another agent, a second later: what was done in that second was not sampled */
	gpu_close(r.g);
	snprintf(sys, sizeof(sys), "%s/sys", r.dir);
	snprintf(dev, sizeof(dev), "%s/dev", r.dir);
	snprintf(proc, sizeof(proc), "%s/proc", r.dir);
	r.set_us(9000000);
	assert_int_equal(gpu_open(&o, &r.g, NULL), 0);
	n.gpu = r.g;
	n.jobs = NULL;
	again = (struct job){ .node = &n, .phase = PHASE_RUNNING, .gpus = 1 };
	again.s.job = 7;
	again.s.attempt = 1;
	again.s.gpu_use = strdup(a.s.gpu_use);
	n.jobs = &again;
	now_ns = 9 * SECOND;
	gpu_meter_start(&n, &again);
	for (int s = 9; s <= 15; s++)
		tick_at(s);
	u = use_of(&again, "GPU-a");
	is_near(u.busy_ns, 3 * 0.5 + 0.2 + 4 * 0.5);
	assert_int_equal(u.mem_peak_bytes, 1536 * MIB);
	is_near(u.idle_ns, 2);
	drop_job(&a);
	drop_job(&again);
	rig_done(&r);
}

static void a_gpu_without_work_is_idle_from_the_start(void **state)
{
	struct job a;

	(void)state;
	begin_rig(120000);
	now_ns = 14 * SECOND;
	r.set_us(14000000);
	start_job(&a, 7, 1);
	for (int s = 14; s <= 19; s++)
		tick_at(s);
	is_near(use_of(&a, "GPU-a").idle_ns, 5);
	assert_int_equal(use_of(&a, "GPU-a").busy_ns, 0);
	assert_int_equal(use_of(&a, "GPU-a").mem_bytes, 0);
	is_near(sums.gpu_idle_ns, 5);
	/* an ended job is not looked at any more, but once */
	a.phase = PHASE_FINAL;
	tick_at(20);
	is_near(use_of(&a, "GPU-a").idle_ns, 5);
	now_ns = 21 * SECOND;
	gpu_meter_last(&n, &a);
	is_near(use_of(&a, "GPU-a").idle_ns, 7);
	drop_job(&a);
	rig_done(&r);
}

static void a_driver_that_hangs_leaves_all_as_it_was(void **state)
{
	struct gpu_use before, u;
	struct job a;

	(void)state;
	begin_rig(3000);
	for (int s = 0; s <= 4; s++)
		tick_at(s);
	start_job(&a, 7, 1);
	for (int s = 5; s <= 9; s++)
		tick_at(s);
	before = use_of(&a, "GPU-a");
	rig_hang(&r);
	for (int s = 10; s <= 12; s++) {
		tick_at(s);
		u = use_of(&a, "GPU-a");
		assert_memory_equal(&u, &before, sizeof(u));
	}
	gpu_meter_last(&n, &a); /* nor is the end of a job kept waiting */
	rig_unhang(&r);
	for (int s = 13; s <= 16; s++)
		tick_at(s);
	u = use_of(&a, "GPU-a");
	is_near(u.busy_ns, 8 * 0.5 + 2 * 0.2);
	is_near(u.idle_ns, 3);
	drop_job(&a);
	rig_done(&r);
}

static void a_process_that_cannot_be_recorded_is_noted(void **state)
{
	struct job a;

	(void)state;
	begin_rig(120000);
	for (int s = 0; s <= 4; s++)
		tick_at(s);
	start_job(&a, 7, 1);
	n_notes = 0;
	tick_at(5);
	a.meter = gpu_meter_free(a.meter);
	gpu_meter_start(&n, &a); /* it knows none */
	is_short = true;
	for (int s = 8; s <= 10; s++)
		tick_at(s);
	is_short = false;
	assert_int_equal(n_notes, 1);
	assert_string_equal(note, "no memory: not all processes on its GPU GPU-a were counted");
	tick_at(11); /* and it goes on when there is memory again */
	assert_int_equal(use_of(&a, "GPU-a").mem_bytes, 1024 * MIB);
	drop_job(&a);
	rig_done(&r);
}

static void counts_of_the_kernel_are_reported_and_missing_ones_are_absent(void **state)
{
	struct job a;

	(void)state;
	begin_rig(120000);
	start_job(&a, 7, 1);
	tick_at(1);
	assert_false(usage_has(&sums, &sums.gpu_launches));
	n.gpuwork = (struct gpuwork *)&n; /* never looked into */
	counts = (struct gpuwork_counts){ .have = GPUWORK_HAVE_LAUNCHES,
					  .launches = 41,
					  .n_run = 3 };
	tick_at(2);
	assert_int_equal(sums.gpu_launches, 41);
	assert_false(usage_has(&sums, &sums.gpu_sched_jobs));
	counts.have |= GPUWORK_HAVE_RUN;
	tick_at(3);
	assert_int_equal(sums.gpu_sched_jobs, 3);
	assert_false(usage_has(&sums, &sums.gpu_sched_busy_ns));
	drop_job(&a);
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_told_apart),
		cmocka_unit_test(a_restarted_agent_continues_the_figures),
		cmocka_unit_test(a_gpu_without_work_is_idle_from_the_start),
		cmocka_unit_test(a_driver_that_hangs_leaves_all_as_it_was),
		cmocka_unit_test(a_process_that_cannot_be_recorded_is_noted),
		cmocka_unit_test(counts_of_the_kernel_are_reported_and_missing_ones_are_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
