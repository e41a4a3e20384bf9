/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MIG instances and the device gate: the files of an instance are those of its card and of its
 * two capabilities, as the driver's /proc tells them; a job that holds one instance opens these
 * and not the capabilities of another. The driver is the double, the files are made here with
 * numbers of devices that open for real, the gate and the jobs' cgroups are the kernel's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "agent/enforce/devices.h"
#include "common/err.h"
#include "tests/bpf/testjob.h"
#include "tests/gpu/rig.h"

#define CAPS "proc/driver/nvidia/capabilities/gpu0/mig/"

static const char world[] =
	"gpu 0 uuid=GPU-a name=A100-SXM4-40GB mem=40960 bus=0000:3B:00.0 minor=0 mig=yes\n"
	"instance 0 uuid=MIG-1 profile=1g.5gb mem=4864 gi=7 ci=0\n"
	"instance 0 uuid=MIG-2 profile=1g.5gb mem=4864 gi=8 ci=0\n";

/* Below /dev: the card, the first instance's two, the second's two. */
static const struct {
	const char *name;
	unsigned minor; /* of major 1: zero, full, random, urandom, null */
} files[] = { { "nvidia0", 5 },
	      { "nvidia-caps/nvidia-cap66", 7 },
	      { "nvidia-caps/nvidia-cap67", 8 },
	      { "nvidia-caps/nvidia-cap75", 9 },
	      { "nvidia-caps/nvidia-cap76", 3 } };

static struct rig r;

static void file_path(int i, char path[static 160])
{
	snprintf(path, 160, "%s/dev/%s", r.dir, files[i].name);
}

static void make_files(void)
{
	char path[160];

	rig_write(&r, "dev/nvidia-caps/x", "");
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		file_path((int)i, path);
		if (mknod(path, S_IFCHR | 0666, makedev(1, files[i].minor)) < 0)
			skip(); /* not for root here */
	}
	rig_write(&r, CAPS "gi7/access", "DeviceFileMinor: 66\nDeviceFileMode: 292\n");
	rig_write(&r, CAPS "gi7/ci0/access", "DeviceFileMinor: 67\nDeviceFileMode: 292\n");
	rig_write(&r, CAPS "gi8/access", "DeviceFileMinor: 75\nDeviceFileMode: 292\n");
	rig_write(&r, CAPS "gi8/ci0/access", "DeviceFileMinor: 76\nDeviceFileMode: 292\n");
}

/* Which of the files open: bit i for files[i]; 1 << 7: for another reason than the gate's. */
static int try_open_files(void *arg)
{
	char path[160];
	int bits = 0;

	(void)arg;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		int fd;

		file_path((int)i, path);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			bits |= 1 << i;
		else if (errno != EPERM)
			bits |= 1 << 7;
		if (fd >= 0)
			close(fd);
	}
	return bits;
}

/* try_open_files() inside the cgroup of the job. */
static int opens_in(const struct testjob *j)
{
	int status = testjob_wait(testjob_run(j, try_open_files, NULL));

	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static size_t numbers_of(int device, struct devices_number *ret)
{
	const struct gpu_device *d = gpu_device(r.g, device);

	for (int f = 0; f < d->n_files; f++)
		ret[f] = (struct devices_number){ d->files[f].major, d->files[f].minor };
	return (size_t)d->n_files;
}

static void grant_device(struct devices *d, const struct testjob *j, int device)
{
	struct devices_number granted[GPU_FILES_MAX];
	struct devices_job job = { .job = j->job, .cgroup_id = j->id, .granted = granted };

	if (device >= 0)
		job.n = numbers_of(device, granted);
	assert_int_equal(devices_add(d, &job, NULL), 0);
}

/* The gate over all devices of the world, in force below `cgroup`. */
static struct devices *open_gate(const char *cgroup)
{
	struct devices_number all[3 * GPU_FILES_MAX];
	struct devices_list list = { .numbers = all };
	struct devices_config config = { .cgroup = cgroup };
	struct devices *d = NULL;
	struct err err = { "" };

	for (int i = 0; i < gpu_count(r.g); i++)
		list.n_numbers += numbers_of(i, all + list.n_numbers);
	if (devices_open(&config, &d, &err) < 0) {
		print_message("# %s\n", err.text);
		skip();
	}
	assert_int_equal(devices_gate(d, &list, &err), 0);
	if (devices_hold(d, &err) < 0)
		fail_msg("%s", err.text);
	return d;
}

static void a_job_opens_its_instance_and_not_another(void **state)
{
	const char *root = testjob_root("mig");
	struct testjob a, b, none;
	struct devices *d;

	(void)state;
	rig_init(&r, "r535", world);
	make_files();
	rig_open(&r);
	assert_int_equal(gpu_count(r.g), 3);
	assert_true(gpu_device(r.g, 0)->is_partitioned);
	assert_string_equal(gpu_device(r.g, 1)->model, "a100_1g.5gb");
	assert_int_equal(gpu_device(r.g, 0)->n_files, 1);
	assert_int_equal(gpu_device(r.g, 1)->n_files, 3);
	assert_int_equal(gpu_device(r.g, 2)->n_files, 3);
	testjob_make(&a, "a", 1);
	testjob_make(&b, "b", 2);
	testjob_make(&none, "none", 3);
	assert_int_equal(opens_in(&a), 0x1f); /* before there is a gate: all */
	d = open_gate(root);
	grant_device(d, &a, 1);
	grant_device(d, &b, 2);
	grant_device(d, &none, -1);
	assert_int_equal(opens_in(&a), 0x07);
	assert_int_equal(opens_in(&b), 0x19);
	assert_int_equal(opens_in(&none), 0);
	assert_int_equal(try_open_files(NULL), 0x1f); /* outside of jobs nothing is held */
	devices_remove(d, a.id);
	grant_device(d, &a, 2);
	assert_int_equal(opens_in(&a), 0x19);
	devices_close(d);
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_opens_its_instance_and_not_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
