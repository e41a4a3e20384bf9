/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs of AMD and Intel: trees of /sys, /dev and /proc as the kernel's documents have them.
 * Needs the right to make device files; nothing opens them. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "tests/gpu/rig.h"

static struct rig r;
static bool can_make_nodes;

static void make_device_node(const char *path, unsigned minor_)
{
	char full[160];

	rig_write(&r, path, "");
	snprintf(full, sizeof(full), "%s/%s", r.dir, path);
	remove(full);
	can_make_nodes = mknod(full, S_IFCHR | 0666, makedev(226, minor_)) == 0;
}

static void write_in(const char *bus, const char *file, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", bus, file);
	rig_write(&r, path, text);
}

/* A card of the bus with its DRM render node; class 0x0380: a display controller. */
static void make_card(const char *bus, const char *vendor, const char *device, int render)
{
	char path[64];

	write_in(bus, "vendor", vendor);
	write_in(bus, "device", device);
	write_in(bus, "class", "0x038000\n");
	write_in(bus, "numa_node", "1\n");
	snprintf(path, sizeof(path), "drm/renderD%d/x", render);
	write_in(bus, path, "");
	snprintf(path, sizeof(path), "dev/dri/renderD%d", render);
	make_device_node(path, (unsigned)render);
}

/* Descriptor `fd` of `pid`, open on renderD`render`. */
static void make_descriptor(int pid, int fd, int render, const char *fdinfo)
{
	char path[64], link[160], target[160];

	snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", pid, fd);
	rig_write(&r, path, fdinfo);
	snprintf(path, sizeof(path), "proc/%d/fd/x", pid);
	rig_write(&r, path, "");
	snprintf(link, sizeof(link), "%s/proc/%d/fd/%d", r.dir, pid, fd);
	snprintf(target, sizeof(target), "%s/dev/dri/renderD%d", r.dir, render);
	remove(link);
	assert_int_equal(symlink(target, link), 0);
}

/* One client of a card of AMD as fdinfo shows it: memory, and busy time of its compute engine. */
static void amd_says(int pid, int fd, int client, int mib, long long ns)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t%d\ndrm-pdev:\t0000:c4:00.0\n"
		 "drm-memory-vram:\t%d MiB\ndrm-engine-gfx:\t5 ns\ndrm-engine-compute:\t%lld "
		 "ns\n",
		 client, mib, ns);
	make_descriptor(pid, fd, 128, text);
}

/* The same of Intel's xe, which counts cycles beside all cycles that passed. */
static void xe_says(int pid, int fd, int client, long long cycles, long long total)
{
	char text[400];

	snprintf(
		text, sizeof(text),
		"drm-driver:\txe\ndrm-client-id:\t%d\ndrm-pdev:\t0000:03:00.0\n"
		"drm-total-vram0:\t8 MiB\ndrm-cycles-ccs:\t%lld\ndrm-total-cycles-ccs:\t%lld\n",
		client, cycles, total);
	make_descriptor(pid, fd, 129, text);
}

static void begin_rig(void)
{
	rig_init(&r, "r535", "fail code=9\n");
	make_card("0000:c4:00.0", "0x1002\n", "0x740f\n", 128);
	if (!can_make_nodes) {
		rig_done(&r);
		skip();
	}
	write_in("0000:c4:00.0", "mem_info_vram_total", "68702699520\n");
	write_in("0000:c4:00.0", "mem_info_vram_used", "10485760\n");
	write_in("0000:c4:00.0", "unique_id", "60c7b2a3d4e5f601\n");
	make_card("0000:03:00.0", "0x8086\n", "0x0bd5\n", 129);
	write_in("0000:03:00.0", "resource",
		 "0x0000 0x00ff 0x0\n0x0 0x0 0x0\n"
		 "0x0000380000000000 0x0000381fffffffff 0x000000000014220c\n");
	write_in("0000:03:00.0", "hwmon/hwmon3/energy1_input", "5000000\n");
	/* graphics of a processor, of a board's controller, and a card without its driver */
	make_card("0000:00:02.0", "0x8086\n", "0x4680\n", 130);
	write_in("0000:00:02.0", "resource",
		 "0x0 0x0 0x0\n0x0 0x0 0x0\n0x1000 0x10000fff 0x0\n");
	make_card("0000:05:00.0", "0x1a03\n", "0x2000\n", 131);
	write_in("0000:06:00.0", "vendor", "0x1002\n");
	write_in("0000:06:00.0", "device", "0x74a1\n");
	write_in("0000:06:00.0", "class", "0x120000\n");
	write_in("0000:06:00.0", "mem_info_vram_total", "206141652992\n");
}

static void cards_with_memory_of_their_own_are_offered(void **unused)
{
	const struct gpu_device *d;

	(void)unused;
	begin_rig();
	rig_open(&r);
	assert_int_equal(gpu_count(r.g), 2);
	d = gpu_device(r.g, 0);
	assert_string_equal(d->product, "Intel Data Center GPU Max 1550");
	assert_string_equal(d->model, "max1550-128");
	assert_string_equal(d->uuid, "0000:03:00.0");
	d = gpu_device(r.g, 1);
	assert_string_equal(d->model, "mi210-64");
	assert_string_equal(d->uuid, "GPU-60c7b2a3d4e5f601");
	assert_int_equal(d->vendor, GPU_AMD);
	assert_int_equal(d->numa_node, 1);
	assert_false(d->is_simulated);
	assert_int_equal(d->n_files, 1);
	assert_string_equal(d->files[0].path, "/dev/dri/renderD128");
	assert_int_equal(d->files[0].major, 226);
	assert_int_equal(d->files[0].minor, 128);
	rig_assert_noted(&r, "0000:00:02.0 is not offered: it has no memory of its own");
	rig_assert_noted(&r, "MI300X at 0000:06:00.0 is not offered: its driver is not loaded");
	rig_done(&r);
}

static void a_client_is_counted_once_however_it_is_shared(void **unused)
{
	(void)unused;
	begin_rig();
	amd_says(100, 3, 7, 256, 1000);
	amd_says(100, 4, 7, 256, 1000); /* dup */
	amd_says(101, 3, 7, 256, 1000); /* a child has it too */
	amd_says(101, 9, 8, 64, 500);
	rig_open(&r);
	rig_sample(&r, 1);
	assert_int_equal(r.n, 2);
	assert_int_equal(rig_process(&r, 1, 100)->mem_bytes, 256 * MIB);
	assert_int_equal(rig_process(&r, 1, 101)->mem_bytes, 64 * MIB);
	/* what was done before is not counted */
	assert_int_equal(rig_process(&r, 1, 100)->busy_ns, 0);
	amd_says(100, 3, 7, 300, 5000);
	amd_says(100, 4, 7, 300, 5000);
	amd_says(101, 3, 7, 300, 5000);
	amd_says(101, 9, 8, 32, 600);
	amd_says(102, 5, 9, 1, 70); /* began since: all of it is */
	rig_sample(&r, 2);
	assert_int_equal(rig_process(&r, 1, 100)->busy_ns, 4000);
	assert_int_equal(rig_process(&r, 1, 101)->busy_ns, 100);
	assert_int_equal(rig_process(&r, 1, 102)->busy_ns, 70);
	assert_int_equal(rig_process(&r, 1, 101)->mem_bytes, 32 * MIB);
	assert_int_equal(rig_process(&r, 1, 101)->mem_peak_bytes, 64 * MIB);
	assert_int_equal(gpu_total(r.g, 1)->busy_ns, 4170);
	assert_int_equal(gpu_total(r.g, 1)->mem_bytes, 10485760);
	assert_string_equal(gpu_source(r.g, 1, GPU_HAVE_BUSY), "drm fdinfo");
	assert_string_equal(gpu_source(r.g, 1, GPU_HAVE_MEM), "drm sysfs");
	/* a value below one told before stays at that, until it is above again */
	amd_says(100, 3, 7, 300, 4500);
	amd_says(100, 4, 7, 300, 4500);
	rig_sample(&r, 3);
	assert_int_equal(rig_process(&r, 1, 100)->busy_ns, 4000);
	amd_says(100, 3, 7, 300, 5100);
	amd_says(100, 4, 7, 300, 5100);
	rig_sample(&r, 4);
	assert_int_equal(rig_process(&r, 1, 100)->busy_ns, 4100);
	rig_done(&r);
}

static void cycles_count_as_their_part_of_the_time_that_passed(void **unused)
{
	(void)unused;
	begin_rig();
	xe_says(200, 3, 1, 1000, 1000000);
	rig_open(&r);
	rig_sample(&r, 10);
	xe_says(200, 3, 1, 251000, 2000000);
	write_in("0000:03:00.0", "hwmon/hwmon3/energy1_input", "7500999\n");
	rig_sample(&r, 12);
	assert_int_equal(rig_process(&r, 0, 200)->busy_ns, SECOND / 2); /* a quarter of 2 s */
	assert_int_equal(rig_process(&r, 0, 200)->mem_bytes, 8 * MIB);
	assert_int_equal(gpu_total(r.g, 0)->energy_mj, 2500);
	write_in("0000:03:00.0", "hwmon/hwmon3/energy1_input", "7501000\n");
	rig_sample(&r, 12.1);
	assert_int_equal(gpu_total(r.g, 0)->energy_mj, 2501); /* no fraction is lost */
	rig_done(&r);
}

static void a_process_that_closed_the_device_is_reported_once_more(void **unused)
{
	char path[160];

	(void)unused;
	begin_rig();
	amd_says(100, 3, 7, 256, 1000);
	rig_open(&r);
	rig_sample(&r, 1);
	amd_says(100, 3, 7, 256, 9000);
	rig_sample(&r, 2);
	snprintf(path, sizeof(path), "%s/proc/100/fd/3", r.dir);
	remove(path);
	rig_sample(&r, 3);
	assert_false(rig_process(&r, 1, 100)->has_ended);
	rig_sample(&r, 3.5);
	assert_true(rig_process(&r, 1, 100)->has_ended);
	assert_int_equal(rig_process(&r, 1, 100)->busy_ns, 8000);
	assert_int_equal(rig_process(&r, 1, 100)->mem_bytes, 0);
	rig_sample(&r, 4);
	assert_int_equal(r.n_ended, 1);
	rig_done(&r);
}

static void work_that_fdinfo_does_not_count_is_not_called_idle(void **unused)
{
	(void)unused;
	begin_rig();
	amd_says(100, 3, 7, 256, 0);
	rig_write(&r, "sys/class/kfd/kfd/proc/100/pasid", "32774\n");
	make_descriptor(300, 3, 128, "drm-driver:\tamdgpu\ndrm-engine-gfx:\t1 ns\n");
	make_descriptor(301, 3, 128, "drm-driver:\tamdgpu\ndrm-client-id:\tmany\n");
	rig_open(&r);
	rig_sample(&r, 1);
	assert_int_equal(r.n, 1);
	assert_int_equal(rig_process(&r, 1, 100)->have, GPU_HAVE_MEM);
	assert_false(gpu_total(r.g, 1)->have & GPU_HAVE_BUSY);
	rig_assert_noted(&r, "whose work fdinfo does not count have no busy time");
	rig_assert_noted(&r, "amdgpu does not tell DRM clients apart");
	rig_assert_noted(&r, "does not read as documented");
	rig_done(&r);
}

static void processes_and_memory_left_on_a_gpu_are_found(void **unused)
{
	char text[GPU_TEXT_MAX];

	(void)unused;
	begin_rig();
	rig_open(&r);
	rig_sample(&r, 1);
	assert_int_equal(gpu_check_clean(r.g, 0, text), 0);
	assert_int_equal(gpu_check_clean(r.g, 1, text), 0);
	write_in("0000:c4:00.0", "mem_info_vram_used", "4294967296\n");
	assert_int_equal(gpu_check_clean(r.g, 1, text), 1);
	assert_string_equal(text, "4096 MiB are in use, though no process is there");
	amd_says(100, 3, 7, 256, 0);
	assert_int_equal(gpu_check_clean(r.g, 1, text), 1);
	assert_string_equal(text, "pid 100 has it open");
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cards_with_memory_of_their_own_are_offered),
		cmocka_unit_test(a_client_is_counted_once_however_it_is_shared),
		cmocka_unit_test(cycles_count_as_their_part_of_the_time_that_passed),
		cmocka_unit_test(a_process_that_closed_the_device_is_reported_once_more),
		cmocka_unit_test(work_that_fdinfo_does_not_count_is_not_called_idle),
		cmocka_unit_test(processes_and_memory_left_on_a_gpu_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
