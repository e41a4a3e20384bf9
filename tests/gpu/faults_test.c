/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs of NVIDIA when something is wrong: lists that grow, drivers that are old, that go away,
 * that fail in every way, clocks that are set. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/gpu/rig.h"

static struct rig r;

/* ---- memory that runs out: the n-th request of agent/gpu fails (linked with --wrap) ---- */

static long fails_at = -1, n_requests;

static bool fails_now(void)
{
	return fails_at >= 0 && n_requests++ == fails_at;
}

void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails_now() ? NULL : __real_reallocarray(p, n, size);
}

static void begin_rig(const char *script)
{
	rig_begin(&r, script);
}

static int64_t get_busy_ns(int device, int pid)
{
	return rig_busy(&r, device, pid);
}

static void lists_that_grow_while_they_are_asked_for_come_whole(void **unused)
{
	char script[16384];
	int at;

	(void)unused;
	at = snprintf(script, sizeof(script), "%s", ONE_GPU);
	for (int i = 0; i < 130; i++)
		at += snprintf(script + at, sizeof(script) - (size_t)at,
			       "process 0 pid=%d mem=%d sm=%d%s\n", 1000 + i, i + 1, i < 100,
			       i >= 70 ? " late=yes" : "");
	begin_rig(script);
	rig_sample(&r, 0);
	assert_int_equal(r.n, 130);
	rig_sample(&r, 2);
	for (int i = 0; i < 130; i++) {
		assert_int_equal(rig_process(&r, 0, 1000 + i)->mem_bytes, (i + 1) * MIB);
		assert_int_equal(get_busy_ns(0, 1000 + i), i < 100 ? 2 * PERCENT_SECOND : 0);
	}
	rig_done(&r);
}

static void entries_of_any_size_are_read_right(void **unused)
{
	static const char *const layouts[] = { "16", "24", "32" };

	(void)unused;
	for (int i = 0; i < 3; i++) {
		char script[1024];

		snprintf(script, sizeof(script),
			 ONE_GPU "layout %s\nprocess 0 pid=11 mem=100 sm=1\n"
				 "process 0 pid=12 mem=200 sm=1\n"
				 "process 0 pid=13 mem=300 sm=1\n"
				 "process 0 pid=13 mem=310 sm=0 graphics=yes\n",
			 layouts[i]);
		begin_rig(script);
		rig_sample(&r, 0);
		assert_int_equal(r.n, 3);
		assert_int_equal(rig_process(&r, 0, 11)->mem_bytes, 100 * MIB);
		assert_int_equal(rig_process(&r, 0, 12)->mem_bytes, 200 * MIB);
		assert_int_equal(rig_process(&r, 0, 13)->mem_bytes, 310 * MIB);
		rig_done(&r);
	}
}

static void a_driver_that_goes_away_takes_no_figure_with_it(void **unused)
{
	(void)unused;
	begin_rig(TWO_GPUS "process 0 pid=100 mem=10 sm=50\nfail from=5 to=12 code=9\n");
	rig_sample(&r, 0);
	rig_sample(&r, 4);
	assert_int_equal(rig_sample(&r, 6), 2);
	assert_true(gpu_total(r.g, 0)->is_lost);
	assert_int_equal(gpu_total(r.g, 0)->busy_ns, 4 * 50 * PERCENT_SECOND);
	assert_int_equal(gpu_total(r.g, 0)->energy_mj, 4 * 300 * 1000);
	assert_false(r.is_seen[0]);
	rig_assert_noted(&r, "GPU 1 (GPU-b) is lost: driver not loaded");
	for (int t = 7; t < 40; t++)
		rig_sample(&r, t);
	assert_false(gpu_total(r.g, 0)->is_lost);
	rig_assert_noted(&r, "GPU 0 (GPU-a) is back");
	assert_int_equal(rig_sample(&r, 40), 0);
	/* it went on all the time, and the driver of this world kept its samples */
	assert_int_equal(get_busy_ns(0, 100), 40 * 50 * PERCENT_SECOND);
	/* its counter restarted at 12 s: what it used from 4 to 12 s is not known */
	assert_int_equal(gpu_total(r.g, 0)->energy_mj, (4 + 28) * 300 * 1000);
	assert_int_equal(r.n_ended, 0);
	rig_done(&r);
}

static void one_lost_gpu_leaves_the_others_alone(void **unused)
{
	(void)unused;
	begin_rig(TWO_GPUS "process 0 pid=100 mem=10 sm=50\nprocess 1 pid=200 mem=10 sm=30\n"
			   "fail from=5 to=70 gpu=1 code=15\n");
	for (int t = 0; t < 60; t += 2)
		assert_int_equal(rig_sample(&r, t), t > 5);
	assert_true(gpu_total(r.g, 1)->is_lost);
	assert_false(gpu_total(r.g, 0)->is_lost);
	assert_int_equal(get_busy_ns(0, 100), 58 * 50 * PERCENT_SECOND);
	assert_int_equal(get_busy_ns(1, 200), 4 * 30 * PERCENT_SECOND);
	rig_assert_noted(&r, "GPU 1 (GPU-b) is lost: GPU is lost");
	for (int t = 60; t < 500; t += 5)
		rig_sample(&r, t);
	assert_false(gpu_total(r.g, 1)->is_lost);
	assert_true(get_busy_ns(1, 200) > 4 * 30 * PERCENT_SECOND);
	rig_done(&r);
}

static void an_invalid_argument_is_not_a_lost_gpu(void **unused)
{
	(void)unused;
	begin_rig(ONE_GPU "process 0 pid=100 mem=10 sm=50\n"
			  "fail code=2 call=nvmlDeviceGetProcessUtilization\n");
	for (int t = 0; t <= 20; t++)
		assert_int_equal(rig_sample(&r, t), 0);
	assert_int_equal(rig_process(&r, 0, 100)->have, GPU_HAVE_MEM);
	assert_true(gpu_total(r.g, 0)->have & GPU_HAVE_BUSY);
	rig_assert_noted(&r, "GPU 0: busy time of processes: invalid argument");
	rig_done(&r);
}

static void older_releases_measure_less_and_that_is_noted(void **unused)
{
	static const char script[] =
		ONE_GPU "process 0 pid=100 mem=10 sm=50\nprocess 0 pid=101 mem=20 sm=20\n";

	(void)unused;
	rig_init(&r, "r450", script);
	rig_open(&r);
	rig_sample(&r, 0);
	rig_sample(&r, 2);
	assert_int_equal(get_busy_ns(0, 101), 2 * 20 * PERCENT_SECOND);
	assert_int_equal(rig_process(&r, 0, 101)->mem_bytes, 20 * MIB);
	rig_done(&r);

	rig_init(&r, "r331", script);
	rig_open(&r);
	rig_sample(&r, 0);
	rig_sample(&r, 2);
	assert_string_equal(gpu_device(r.g, 0)->bus_id, "0000:3b:00.0");
	assert_int_equal(rig_process(&r, 0, 101)->have, GPU_HAVE_MEM);
	assert_int_equal(rig_process(&r, 0, 101)->mem_bytes, 20 * MIB);
	assert_int_equal(gpu_total(r.g, 0)->have, GPU_HAVE_MEM);
	rig_assert_noted(&r,
			 "does not tell: busy time of processes, busy time of GPUs, energy, "
			 "MIG instances");
	rig_done(&r);
}

static void without_a_driver_there_are_no_gpus_and_a_card_on_the_bus_is_noted(void **unused)
{
	struct gpu_options o = { .nvml = "no-such-library.so.1",
				 .sys = "/nowhere",
				 .dev = "/nowhere",
				 .proc = "/nowhere" };
	struct gpu *g = NULL;

	(void)unused;
	assert_int_equal(gpu_open(&o, &g, NULL), 0);
	assert_int_equal(gpu_count(g), 0);
	assert_null(gpu_notes(g)[0]);
	assert_int_equal(gpu_sample(g, SECOND, NULL, NULL, NULL), 0);
	gpu_close(g);

	rig_init(&r, "r535", ONE_GPU "fail code=9\n");
	rig_write(&r, "sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
	rig_write(&r, "sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
	rig_open(&r);
	assert_int_equal(gpu_count(r.g), 0);
	rig_assert_noted(&r, "1 NVIDIA GPU on the bus, but not to be used");
	rig_assert_noted(&r, "driver not loaded");
	rig_done(&r);
}

/* Every function fails in mid-run with every code: nothing breaks, nothing told goes back, and
 * afterwards it is as if nothing had been. */
static void any_call_may_fail_with_any_code(void **unused)
{
	static const char *const calls[] = {
		"",
		"nvmlDeviceGetMemoryInfo_v2",
		"nvmlDeviceGetTotalEnergyConsumption",
		"nvmlDeviceGetSamples",
		"nvmlDeviceGetProcessUtilization",
		"nvmlDeviceGetComputeRunningProcesses_v3",
		"nvmlDeviceGetGraphicsRunningProcesses_v3",
		"nvmlDeviceGetAccountingPids",
		"nvmlDeviceGetAccountingStats",
		"nvmlInit_v2",
		"nvmlDeviceGetUUID",
	};
	static const int codes[] = { 1, 2, 3, 4, 6, 7, 9, 10, 13, 15, 16, 18, 21, 25, 28, 999 };

	(void)unused;
	for (size_t c = 0; c < sizeof(calls) / sizeof(*calls); c++)
		for (size_t k = 0; k < sizeof(codes) / sizeof(*codes); k++) {
			char script[1024];

			snprintf(script, sizeof(script),
				 TWO_GPUS "process 0 pid=100 mem=10 sm=50\n"
					  "process 0 pid=150 from=6.2 to=6.4 mem=10 sm=50\n"
					  "fail from=5 to=12 code=%d %s%s\n",
				 codes[k], calls[c][0] ? "call=" : "", calls[c]);
			begin_rig(script);
			for (int t = 0; t < 60; t += 2) {
				int64_t busy_ns = gpu_total(r.g, 0)->busy_ns;

				rig_sample(&r, t);
				assert_true(gpu_total(r.g, 0)->busy_ns >= busy_ns);
			}
			assert_int_equal(rig_sample(&r, 60), 0);
			assert_int_equal(rig_process(&r, 0, 100)->mem_bytes, 10 * MIB);
			assert_in_range(get_busy_ns(0, 100), 50 * 50 * PERCENT_SECOND,
					60 * 50 * PERCENT_SECOND);
			rig_done(&r);
		}
}

/* The samples' times jump with the node's clock. What is counted is never more than the time
 * that passed, and goes on. */
static void a_clock_that_is_set_makes_no_busy_time(void **unused)
{
	static const int64_t jumps_us[] = { 7200000000, -7200000000, 3000000, -3000000 };
	void (*shift)(int64_t us);

	(void)unused;
	for (int i = 0; i < 4; i++) {
		begin_rig(ONE_GPU "process 0 pid=100 mem=10 sm=50\n");
		*(void **)&shift = dlsym(r.handle, "nvml_double_shift_us");
		assert_non_null(shift);
		/* the world's times are an hour old: ahead of all clocks first, then back */
		shift(jumps_us[i] < -7000000000 ? -jumps_us[i] : 0);
		for (int t = 0; t <= 10; t++)
			rig_sample(&r, t);
		assert_int_equal(get_busy_ns(0, 100), 10 * 50 * PERCENT_SECOND);
		shift(jumps_us[i]);
		for (int t = 11; t <= 30; t++)
			rig_sample(&r, t);
		assert_in_range(get_busy_ns(0, 100), 25 * 50 * PERCENT_SECOND,
				32 * 50 * PERCENT_SECOND);
		assert_in_range(gpu_total(r.g, 0)->busy_ns, 25 * 50 * PERCENT_SECOND,
				32 * 50 * PERCENT_SECOND);
		rig_done(&r);
	}
}

/* For every n: it opens or says why not, nothing told goes back, nothing leaks; afterwards it
 * is as if nothing had been. */
static void any_request_for_memory_may_fail(void **unused)
{
	static const char script[] = ONE_GPU
		"gpu 1 uuid=GPU-m name=A100-SXM4-40GB mem=40960 bus=0000:6E:00.0 mig=yes\n"
		"instance 1 uuid=MIG-1 profile=1g.5gb\n"
		"process 0 pid=100 mem=10 sm=50\nprocess 1 pid=200 instance=0 mem=5 sm=1\n"
		"process 0 pid=150 from=1.2 to=1.4 mem=10 sm=50\n";
	int n_opened = 0;

	(void)unused;
	for (long n = 0;; n++) {
		struct gpu_options o = { .nvml = r.library,
					 .sys = "/nowhere",
					 .dev = "/nowhere",
					 .proc = "/nowhere" };
		bool was_reached;
		int rc;

		rig_init(&r, "r535", script);
		r.set_us(0);
		fails_at = n;
		n_requests = 0;
		rc = gpu_open(&o, &r.g, NULL);
		assert_true(rc == 0 || rc == -ENOMEM);
		for (int t = 0; rc == 0 && t <= 10; t++)
			rig_sample(&r, t);
		was_reached = n_requests > n;
		fails_at = -1;
		if (rc == 0 && gpu_count(r.g) == 3) {
			rig_sample(&r, 11);
			assert_int_equal(rig_process(&r, 0, 100)->mem_bytes, 10 * MIB);
			assert_in_range(get_busy_ns(0, 100), 8 * 50 * PERCENT_SECOND,
					11 * 50 * PERCENT_SECOND);
			n_opened++;
		}
		rig_done(&r);
		if (!was_reached)
			break;
	}
	assert_true(n_opened > 5);
}

static void a_driver_that_hangs_blocks_no_caller(void **unused)
{
	const char *since = "the driver of the GPUs has not answered since 2";
	char text[GPU_TEXT_MAX], again[GPU_TEXT_MAX];
	int n_told;

	(void)unused;
	rig_init(&r, "r535", TWO_GPUS "process 0 pid=100 from=1 to=30 mem=10 sm=50\n");
	r.wait_ms = 3000;
	rig_open(&r);
	for (int t = 0; t <= 5; t++)
		assert_int_equal(rig_sample(&r, t), 0);
	assert_false(gpu_silence(r.g, text));
	assert_string_equal(text, "");
	n_told = r.n;
	rig_hang(&r);
	for (int t = 6; t <= 9; t++) {
		assert_int_equal(rig_sample(&r, t), -ETIMEDOUT);
		assert_int_equal(r.n, n_told);
		assert_false(r.is_seen[0]);
		assert_true(gpu_silence(r.g, text));
		assert_memory_equal(text, since, strlen(since));
		assert_int_equal(gpu_check_clean(r.g, 1, again), -ETIMEDOUT);
		assert_string_equal(text, again); /* since it was asked first */
		assert_int_equal(get_busy_ns(0, 100), 4 * 50 * PERCENT_SECOND);
		assert_int_equal(gpu_total(r.g, 0)->busy_ns, 4 * 50 * PERCENT_SECOND);
		assert_int_equal(gpu_count(r.g), 2);
		assert_string_equal(gpu_source(r.g, 0, GPU_HAVE_BUSY), "nvml");
	}
	rig_unhang(&r);
	assert_int_equal(rig_sample(&r, 10), 0);
	assert_int_equal(rig_sample(&r, 11), 0);
	/* of the hang, at least the time that is sure to have passed since the sample before */
	assert_in_range(get_busy_ns(0, 100), 6 * 50 * PERCENT_SECOND, 10 * 50 * PERCENT_SECOND);
	assert_int_equal(gpu_check_clean(r.g, 1, text), 0);
	rig_done(&r);
}

static void a_driver_that_hangs_from_the_start_is_noted_and_left(void **unused)
{
	char text[GPU_TEXT_MAX];

	(void)unused;
	rig_init(&r, "r535", TWO_GPUS);
	r.wait_ms = 50;
	rig_hang(&r);
	rig_open(&r);
	assert_int_equal(gpu_count(r.g), 0);
	rig_assert_noted(&r, "the driver of the GPUs does not answer");
	assert_true(gpu_silence(r.g, text));
	rig_unhang(&r);
	assert_int_equal(gpu_count(r.g), 0); /* what came late is not offered */
	rig_done(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_that_grow_while_they_are_asked_for_come_whole),
		cmocka_unit_test(entries_of_any_size_are_read_right),
		cmocka_unit_test(a_driver_that_goes_away_takes_no_figure_with_it),
		cmocka_unit_test(one_lost_gpu_leaves_the_others_alone),
		cmocka_unit_test(an_invalid_argument_is_not_a_lost_gpu),
		cmocka_unit_test(older_releases_measure_less_and_that_is_noted),
		cmocka_unit_test(
			without_a_driver_there_are_no_gpus_and_a_card_on_the_bus_is_noted),
		cmocka_unit_test(any_call_may_fail_with_any_code),
		cmocka_unit_test(a_clock_that_is_set_makes_no_busy_time),
		cmocka_unit_test(any_request_for_memory_may_fail),
		cmocka_unit_test(a_driver_that_hangs_blocks_no_caller),
		cmocka_unit_test(a_driver_that_hangs_from_the_start_is_noted_and_left),
	};

	if (argc > 1) /* all but this one, which is long under valgrind */
		cmocka_set_skip_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
