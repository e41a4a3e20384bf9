/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs of NVIDIA: what agent/gpu says of a world that is known exactly. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "tests/gpu/rig.h"

static struct rig r;

static void begin_rig(const char *script)
{
	rig_begin(&r, script);
}

static int64_t get_busy_ns(int device, int pid)
{
	return rig_busy(&r, device, pid);
}

static void devices_are_listed_as_the_driver_has_them(void **unused)
{
	const struct gpu_device *d;

	(void)unused;
	rig_init(&r, "r535", TWO_GPUS);
	rig_write(&r, "sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
	rig_write(&r, "sys/bus/pci/devices/0000:5e:00.0/numa_node", "-1\n");
	rig_open(&r);
	assert_int_equal(gpu_count(r.g), 2);
	d = gpu_device(r.g, 0);
	assert_string_equal(d->uuid, "GPU-a");
	assert_string_equal(d->model, "a100-40");
	assert_string_equal(d->product, "Simulated NVIDIA A100-SXM4-40GB");
	assert_string_equal(d->bus_id, "0000:3b:00.0");
	assert_true(d->is_simulated);
	assert_int_equal(d->vendor, GPU_NVIDIA);
	assert_int_equal(d->mem_bytes, 40960 * MIB);
	assert_int_equal(d->numa_node, 1);
	assert_int_equal(gpu_device(r.g, 1)->numa_node, -1);
	assert_int_equal(gpu_device(r.g, 1)->index, 1);
	assert_int_equal(d->parent, -1);
	/* the device node of a card that was never used is missing */
	assert_int_equal(d->n_files, 1);
	assert_string_equal(d->files[0].path, "/dev/nvidia0");
	assert_int_equal(d->files[0].major, 195);
	assert_int_equal(gpu_device(r.g, 1)->files[0].minor, 1);
	rig_done(&r);
}

static void make_device_node(const char *path, unsigned major_, unsigned minor_)
{
	char full[160];

	rig_write(&r, path, "");
	snprintf(full, sizeof(full), "%s/%s", r.dir, path);
	remove(full);
	if (mknod(full, S_IFCHR | 0666, makedev(major_, minor_)) < 0)
		skip();
}

static void an_instance_has_the_files_of_its_card_and_its_own(void **unused)
{
	static const char script[] =
		"gpu 0 uuid=GPU-a name=A100-SXM4-40GB mem=40960 bus=0000:3B:00.0 mig=yes "
		"minor=3\n"
		"instance 0 uuid=MIG-1 profile=1g.5gb gi=7 ci=0\n"
		"instance 0 uuid=MIG-2 profile=3g.20gb mem=19968 gi=1 ci=0\n";
	const struct gpu_device *d;

	(void)unused;
	rig_init(&r, "r535", script);
	rig_write(&r, "proc/driver/nvidia/capabilities/gpu3/mig/gi7/access",
		  "DeviceFileMinor: 66\nDeviceFileMode: 292\n");
	rig_write(&r, "proc/driver/nvidia/capabilities/gpu3/mig/gi7/ci0/access",
		  "DeviceFileMinor: 67\nDeviceFileMode: 292\n");
	rig_write(&r, "sys/bus/pci/devices/0000:3b:00.0/drm/renderD130/x", "");
	make_device_node("dev/nvidia3", 195, 3);
	make_device_node("dev/dri/renderD130", 226, 130);
	make_device_node("dev/nvidia-caps/nvidia-cap66", 237, 66);
	make_device_node("dev/nvidia-caps/nvidia-cap67", 237, 67);
	rig_open(&r);
	assert_int_equal(gpu_count(r.g), 3);
	assert_true(gpu_device(r.g, 0)->is_partitioned);
	assert_int_equal(gpu_device(r.g, 0)->n_files, 2);
	d = gpu_device(r.g, 1);
	assert_string_equal(d->model, "a100_1g.5gb");
	assert_int_equal(d->parent, 0);
	assert_false(d->is_partitioned);
	assert_int_equal(d->n_files, 4);
	assert_string_equal(d->files[0].path, "/dev/nvidia3");
	assert_string_equal(d->files[1].path, "/dev/dri/renderD130");
	assert_int_equal(d->files[2].major, 237);
	assert_int_equal(d->files[2].minor, 66);
	assert_string_equal(d->files[3].path, "/dev/nvidia-caps/nvidia-cap67");
	assert_string_equal(gpu_device(r.g, 2)->model, "a100_3g.20gb");
	rig_assert_noted(&r, "MIG-2: the device file of gpu3/mig/gi1 is not told");
	rig_done(&r);
}

static void mig_instances_have_memory_figures_and_no_busy_time(void **unused)
{
	(void)unused;
	begin_rig("gpu 0 uuid=GPU-a name=H100_80GB_HBM3 mem=81559 bus=0000:3B:00.0 mig=yes "
		  "watts=9\n"
		  "instance 0 uuid=MIG-1 profile=1g.10gb mem=9984 gi=7\n"
		  "instance 0 uuid=MIG-2 profile=1g.10gb mem=9984 gi=8\n"
		  "process 0 pid=100 instance=0 mem=1000 sm=50\n"
		  "process 0 pid=200 instance=1 mem=2000 sm=50\n");
	rig_sample(&r, 1);
	rig_sample(&r, 4);
	assert_int_equal(r.n, 2);
	assert_int_equal(rig_process(&r, 1, 100)->have, GPU_HAVE_MEM);
	assert_int_equal(rig_process(&r, 1, 100)->mem_bytes, 1000 * MIB);
	assert_int_equal(rig_process(&r, 2, 200)->mem_bytes, 2000 * MIB);
	assert_int_equal(gpu_total(r.g, 1)->have, GPU_HAVE_MEM);
	assert_int_equal(gpu_total(r.g, 2)->mem_bytes, 2000 * MIB);
	assert_null(gpu_source(r.g, 1, GPU_HAVE_BUSY));
	assert_null(gpu_source(r.g, 1, GPU_HAVE_ENERGY));
	assert_string_equal(gpu_source(r.g, 0, GPU_HAVE_ENERGY), "nvml");
	rig_assert_noted(&r, "neither busy time nor energy of MIG");
	rig_done(&r);
}

static void busy_time_is_the_integral_of_the_samples(void **unused)
{
	(void)unused;
	begin_rig(ONE_GPU "samples each\nprocess 0 pid=100 from=0 to=4 mem=10 sm=50\n"
			  "process 0 pid=100 from=4 to=10 mem=30 sm=25\n"
			  "process 0 pid=200 from=6 to=12 mem=20 sm=40\n");
	rig_sample(&r, 0);
	rig_sample(&r, 2);
	assert_int_equal(get_busy_ns(0, 100), 2 * 50 * PERCENT_SECOND);
	rig_sample(&r, 2.4); /* no new sample yet */
	assert_int_equal(get_busy_ns(0, 100), 2 * 50 * PERCENT_SECOND);
	rig_sample(&r, 3);
	rig_sample(&r, 5);
	rig_sample(&r, 6);
	assert_int_equal(get_busy_ns(0, 100), (4 * 50 + 2 * 25) * PERCENT_SECOND);
	assert_int_equal(rig_process(&r, 0, 100)->mem_bytes, 30 * MIB);
	rig_sample(&r, 8);
	assert_int_equal(get_busy_ns(0, 100), (4 * 50 + 4 * 25) * PERCENT_SECOND);
	assert_int_equal(get_busy_ns(0, 200), 2 * 40 * PERCENT_SECOND);
	rig_sample(&r, 19);
	assert_false(rig_process(&r, 0, 200)->has_ended);
	rig_sample(&r, 20);
	assert_int_equal(get_busy_ns(0, 100), (4 * 50 + 6 * 25) * PERCENT_SECOND);
	assert_int_equal(get_busy_ns(0, 200), 6 * 40 * PERCENT_SECOND);
	assert_true(rig_process(&r, 0, 200)->has_ended);
	assert_int_equal(gpu_total(r.g, 0)->busy_ns,
			 (4 * 50 + 6 * 25 + 6 * 40) * PERCENT_SECOND);
	assert_int_equal(gpu_total(r.g, 0)->energy_mj, 20 * 300 * 1000);
	assert_string_equal(gpu_source(r.g, 0, GPU_HAVE_BUSY), "nvml");
	rig_done(&r);
}

/* Looks at any times, samples one by one or averaged over the time between: the sum is the
 * world's own. */
static void each_sample_is_counted_once_at_any_interval(void **unused)
{
	unsigned seed = 11;

	(void)unused;
	for (int round = 0; round < 30; round++) {
		bool is_each = round % 2;
		char script[8192];
		int at = 0, sum = 0, looks = 0;
		double t = 1;

		at = snprintf(script, sizeof(script), ONE_GPU "samples %s\n",
			      is_each ? "each" : "mean");
		for (int s = 0; s < 60; s++) {
			int sm = s ? rand_r(&seed) % 101 : 50;

			at += snprintf(script + at, sizeof(script) - (size_t)at,
				       "process 0 pid=7 from=%d to=%d mem=5 sm=%d\n", s, s + 1,
				       sm);
			sum += s > 0 && s < 59 ? sm : 0;
		}
		begin_rig(script);
		rig_sample(&r, 1);
		while (t < 59) {
			t += (rand_r(&seed) % 900 + 20) / 100.0;
			t = t > 59 ? 59.5 : t;
			rig_sample(&r, t);
			looks++;
		}
		/* a mean over whole seconds loses less than one percent of the time by rounding
		 */
		assert_in_range(get_busy_ns(0, 7),
				sum * PERCENT_SECOND - (is_each ? 0 : 59 * PERCENT_SECOND),
				sum * PERCENT_SECOND);
		assert_true(looks > 5);
		rig_done(&r);
	}
}

static void work_before_the_first_sample_is_not_counted(void **unused)
{
	(void)unused;
	begin_rig(ONE_GPU "process 0 pid=100 mem=10 sm=80\n");
	rig_sample(&r, 50);
	assert_int_equal(get_busy_ns(0, 100), 0);
	assert_int_equal(gpu_total(r.g, 0)->busy_ns, 0);
	rig_sample(&r, 51);
	assert_int_equal(get_busy_ns(0, 100), 80 * PERCENT_SECOND);
	rig_done(&r);
}

/* Idle devices have samples, idle processes have none: the first mean is of the time since the
 * last look all the same. */
static void the_first_work_on_an_idle_gpu_counts_whole(void **unused)
{
	(void)unused;
	begin_rig(ONE_GPU "process 0 pid=100 from=0 to=90 mem=10 sm=0\n"
			  "process 0 pid=300 from=7 mem=10 sm=80\n");
	for (int t = 0; t <= 12; t++)
		rig_sample(&r, t);
	assert_int_equal(get_busy_ns(0, 300), 5 * 80 * PERCENT_SECOND);
	assert_int_equal(get_busy_ns(0, 100), 0);
	rig_done(&r);
}

/* No job, so no sample for an hour; then one starts. The driver's means are then of what it
 * still has, not of the hour. */
static void work_after_a_pause_is_not_spread_over_the_pause(void **unused)
{
	static const char *const kinds[] = { "mean", "each" };

	(void)unused;
	for (int i = 0; i < 2; i++) {
		char script[512];

		snprintf(script, sizeof(script),
			 ONE_GPU "samples %s\nprocess 0 pid=100 to=3590 mem=10 sm=0\n"
				 "process 0 pid=300 from=3590 mem=10 sm=100\n",
			 kinds[i]);
		begin_rig(script);
		rig_sample(&r, 1);
		rig_sample(&r, 3600);
		assert_in_range(get_busy_ns(0, 300), 9 * SECOND, 11 * SECOND);
		assert_in_range(gpu_total(r.g, 0)->busy_ns, 9 * SECOND, 10 * SECOND);
		rig_sample(&r, 3610);
		assert_in_range(get_busy_ns(0, 300), 19 * SECOND, 21 * SECOND);
		rig_done(&r);
	}
}

static void an_idle_process_is_reported_with_0_not_left_out(void **unused)
{
	(void)unused;
	begin_rig(ONE_GPU "process 0 pid=100 mem=500 sm=0\n");
	for (int t = 0; t < 100; t += 10)
		assert_int_equal(rig_sample(&r, t), 0);
	assert_int_equal(get_busy_ns(0, 100), 0);
	assert_true(gpu_total(r.g, 0)->have & GPU_HAVE_BUSY);
	assert_int_equal(gpu_total(r.g, 0)->busy_ns, 0);
	rig_done(&r);
}

static void a_process_that_ran_between_two_samples_is_reported_once(void **unused)
{
	(void)unused;
	begin_rig(ONE_GPU "process 0 pid=100 from=2.2 to=2.6 mem=900 sm=50\n"
			  "process 0 pid=50 from=0 to=0.5 mem=900 sm=50\n");
	rig_sample(&r, 1);
	rig_sample(&r, 10);
	assert_int_equal(get_busy_ns(0, 100), 400000000 / 2);
	rig_sample(&r, 10.5);
	assert_true(rig_process(&r, 0, 100)->has_ended);
	assert_int_equal(get_busy_ns(0, 100), 400000000 / 2);
	assert_int_equal(rig_process(&r, 0, 100)->mem_peak_bytes, 900 * MIB);
	assert_int_equal(rig_process(&r, 0, 100)->mem_bytes, 0);
	rig_sample(&r, 11);
	rig_sample(&r, 12);
	assert_int_equal(r.n_ended, 2);
	rig_done(&r);
}

static void a_reused_pid_is_another_process(void **unused)
{
	(void)unused;
	begin_rig(ONE_GPU "process 0 pid=100 from=1 to=3 mem=100 sm=50\n"
			  "process 0 pid=100 from=9 to=14 mem=100 sm=10\n");
	for (int t = 0; t <= 20; t++)
		rig_sample(&r, t);
	assert_int_equal(r.n_ended, 2);
	assert_true(rig_process(&r, 0, 100)->has_ended);
	rig_done(&r);
}

static void accounting_is_switched_on_where_permitted_and_noted(void **unused)
{
	(void)unused;
	begin_rig(
		"gpu 0 uuid=GPU-a name=Tesla_T4 mem=15360 bus=0000:3B:00.0 accounting=off\n"
		"gpu 1 uuid=GPU-b name=Tesla_T4 mem=15360 bus=0000:5E:00.0 accounting=denied\n"
		"gpu 2 uuid=GPU-c name=Tesla_T4 mem=15360 bus=0000:6E:00.0 accounting=none\n"
		"gpu 3 uuid=GPU-d name=Tesla_T4 mem=15360 bus=0000:7E:00.0 accounting=none\n"
		"process 0 pid=1 from=2.2 to=2.7 mem=900 sm=50\n"
		"process 1 pid=2 from=2.2 to=2.7 mem=900 sm=0\n");
	rig_assert_noted(&r, "GPU 0: accounting mode was switched on");
	rig_assert_noted(&r, "GPU 1: no accounting mode (no permission)");
	rig_assert_noted(&r, "GPU 2-3: no accounting mode (not supported)");
	rig_sample(&r, 1);
	rig_sample(&r, 5);
	assert_non_null(rig_process(&r, 0, 1));
	assert_null(rig_process(&r, 1, 2)); /* nothing tells of it */
	rig_done(&r);
}

static void unsupported_busy_time_is_absent_until_accounting_has_it(void **unused)
{
	(void)unused;
	begin_rig("gpu 0 uuid=GPU-a name=Tesla_K80 mem=11441 bus=0000:3B:00.0 accounting=on "
		  "utilization=no energy=no\n"
		  "process 0 pid=9 from=1 to=5 mem=100 sm=30\n");
	rig_sample(&r, 0);
	rig_sample(&r, 3);
	assert_int_equal(rig_process(&r, 0, 9)->have, GPU_HAVE_MEM);
	assert_false(gpu_total(r.g, 0)->have & GPU_HAVE_ENERGY);
	rig_assert_noted(&r, "does not tell the busy time of processes: not supported");
	rig_sample(&r, 7);
	assert_int_equal(get_busy_ns(0, 9), 4 * 30 * PERCENT_SECOND);
	rig_done(&r);
}

static void eight_gpus_and_64_processes_are_all_reported(void **unused)
{
	char script[16384];
	int at = 0;

	(void)unused;
	for (int g = 0; g < 8; g++)
		at += snprintf(
			script + at, sizeof(script) - (size_t)at,
			"gpu %d uuid=GPU-%d name=H100_80GB_HBM3 mem=81559 bus=0000:%02X:00.0 "
			"accounting=on\n",
			g, g, g + 16);
	for (int i = 0; i < 64; i++)
		at += snprintf(script + at, sizeof(script) - (size_t)at,
			       "process %d pid=%d mem=100 sm=10\n", i % 8, 100 + i);
	begin_rig(script);
	rig_sample(&r, 0);
	rig_sample(&r, 3);
	assert_int_equal(r.n, 64);
	for (int i = 0; i < 64; i++)
		assert_int_equal(get_busy_ns(i % 8, 100 + i), 3 * 10 * PERCENT_SECOND);
	rig_done(&r);
}

static void processes_and_memory_left_on_a_gpu_are_found(void **unused)
{
	char text[GPU_TEXT_MAX];

	(void)unused;
	rig_init(&r, "r535",
		 "gpu 0 uuid=GPU-a name=Tesla_T4 mem=15360 used=3 reserved=400\n"
		 "gpu 1 uuid=GPU-b name=Tesla_T4 mem=15360 used=3000\n"
		 "process 0 pid=77 from=2 to=4 mem=512 sm=0\n"
		 "fail gpu=1 from=9 code=15\n");
	rig_write(&r, "proc/77/comm", "python3\n");
	rig_open(&r);
	assert_int_equal(gpu_check_clean(r.g, 0, text), 0);
	assert_int_equal(gpu_check_clean(r.g, 1, text), 1);
	assert_string_equal(text, "3000 MiB are in use, though no process is there");
	r.set_us(3000000);
	assert_int_equal(gpu_check_clean(r.g, 0, text), 1);
	assert_string_equal(text, "1 process is there: pid 77 (python3) holds 512 MiB");
	r.set_us(5000000);
	assert_int_equal(gpu_check_clean(r.g, 0, text), 0);
	r.set_us(9500000);
	assert_true(gpu_check_clean(r.g, 1, text) < 0);
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_listed_as_the_driver_has_them),
		cmocka_unit_test(an_instance_has_the_files_of_its_card_and_its_own),
		cmocka_unit_test(mig_instances_have_memory_figures_and_no_busy_time),
		cmocka_unit_test(busy_time_is_the_integral_of_the_samples),
		cmocka_unit_test(each_sample_is_counted_once_at_any_interval),
		cmocka_unit_test(work_before_the_first_sample_is_not_counted),
		cmocka_unit_test(the_first_work_on_an_idle_gpu_counts_whole),
		cmocka_unit_test(work_after_a_pause_is_not_spread_over_the_pause),
		cmocka_unit_test(an_idle_process_is_reported_with_0_not_left_out),
		cmocka_unit_test(a_process_that_ran_between_two_samples_is_reported_once),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(accounting_is_switched_on_where_permitted_and_noted),
		cmocka_unit_test(unsupported_busy_time_is_absent_until_accounting_has_it),
		cmocka_unit_test(eight_gpus_and_64_processes_are_all_reported),
		cmocka_unit_test(processes_and_memory_left_on_a_gpu_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
