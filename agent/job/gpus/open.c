/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open.c - open the GPU inventory and the device gate of the node; see gpus/gpus.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "agent/enforce/devices.h"
#include "agent/job/gpus/gpus.h"
#include "agent/sample/gpuwork.h"
#include "common/log.h"

#define MAJOR_NVIDIA 195
#define NVIDIA_LAST_GPU 253 /* nvidia-modeset is 254, nvidiactl 255: all GPU jobs need them */
#define MAJOR_DRM 226

/* "508 nvidia-caps" in /proc/devices: the access files of MIG instances. 0: no such driver. */
static uint32_t major_of(const char *driver)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/devices", "re");
	char line[128], name[96];
	unsigned major;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%u %95s", &major, name) == 2 && !strcmp(name, driver))
			return major;
	return 0;
}

/* Ranges of device numbers, so that files of GPUs or MIG instances that appear after the agent began
 * are behind the gate too. */
static size_t list_minors(const struct node *n, struct devices_minors ret[3])
{
	uint32_t caps = major_of("nvidia-caps");
	bool has[_GPU_VENDOR_MAX] = { false };
	size_t k = 0;

	for (int i = 0; i < gpu_count(n->gpu); i++)
		has[gpu_device(n->gpu, i)->vendor] = true;
	if (has[GPU_NVIDIA])
		ret[k++] = (struct devices_minors){ MAJOR_NVIDIA, 0, NVIDIA_LAST_GPU };
	if (has[GPU_NVIDIA] && caps)
		ret[k++] = (struct devices_minors){ caps, 0, UINT32_MAX };
	if (has[GPU_AMD] || has[GPU_INTEL])
		ret[k++] = (struct devices_minors){ MAJOR_DRM, 0, UINT32_MAX };
	return k;
}

/* Adds every GPU file of the node to the controlled devices: no job may open one until it is granted. */
static int gate_all(struct node *n, struct err *err)
{
	struct devices_number numbers[GPU_DEVICES_MAX * GPU_FILES_MAX];
	struct devices_minors minors[3];
	struct devices_list list = { .numbers = numbers, .minors = minors };

	list.n_minors = list_minors(n, minors);
	for (int i = 0; i < gpu_count(n->gpu); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		for (int f = 0; f < d->n_files; f++)
			numbers[list.n_numbers++] =
				(struct devices_number){ d->files[f].major, d->files[f].minor };
	}
	return devices_gate(n->devices, &list, err);
}

static const char *pin_dir(const struct node *n, char buf[static 600])
{
	snprintf(buf, 600, "%s/devices", n->conf->pin_dir);
	return buf;
}

/* A gate that the configuration switches off is removed. One that cannot be opened stays pinned and
 * keeps refusing. */
static int open_gate(struct node *n, struct err *err)
{
	char dir[600];
	struct devices_config c = { .pin_dir = pin_dir(n, dir),
				    .cgroup = n->ops->parent(n->manager) };
	int r;

	if (n->conf->vmem_tier == 3) {
		devices_forget(dir);
		return err_set(err, -ECANCELED, "no BPF, by configuration");
	}
	r = devices_open(&c, &n->devices, err);
	return r < 0 ? r : gate_all(n, err);
}

static const char *work_dir(const struct node *n, char buf[static 600])
{
	snprintf(buf, 600, "%s/gpuwork", n->conf->pin_dir);
	return buf;
}

static void drop_gate(struct node *n)
{
	n->devices = devices_close(n->devices);
	n->gpus_hold = false;
}

/* Fills the capacity: `ngpus` counts whole GPUs, `gpus` all that jobs can ask for by model, partitions
 * too. A GPU without device files cannot be held. */
static void count_gpus(struct node *n)
{
	for (int i = 0; i < gpu_count(n->gpu); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		if (d->is_partitioned || !d->model[0])
			continue;
		if (d->n_files == 0)
			node_note(n, "gpus: %s has no device file here that could be held",
				  d->uuid);
		if (gpus_add(&n->capacity.gpus, d->model, 1) < 0) {
			node_note(n, "gpus: %s is left out: more models than %d on one node",
				  d->uuid, GPUS_NODE_MODELS_MAX);
			continue;
		}
		if (!gpus_is_part(d->model) && d->parent < 0)
			n->capacity.ngpus++;
	}
}

/* Without a gate of our own: notes what holds GPUs instead, and counts them only where systemd's
 * device policy holds them or Gpus=unheld accepts that nothing does. */
static void go_without_gate(struct node *n, const struct err *why)
{
	bool is_systemd = n->ops == &manager_systemd;

	drop_gate(n);
	if (is_systemd)
		node_note(n, "gpus: held by systemd's device policy alone: %s", why->text);
	else if (n->conf->gpus == CONFIG_GPUS_UNHELD)
		node_note(n, "gpus: NOT held here, every job can open every GPU: %s",
			  why->text);
	else
		node_note(n,
			  "gpus: not given to jobs, for they cannot be held here: %s; "
			  "Gpus=unheld gives them all the same",
			  why->text);
	if (is_systemd || n->conf->gpus == CONFIG_GPUS_UNHELD)
		count_gpus(n);
}

static bool has_vendor(const struct node *n, enum gpu_vendor v)
{
	for (int i = 0; i < gpu_count(n->gpu); i++)
		if (gpu_device(n->gpu, i)->vendor == v)
			return true;
	return false;
}

/* A failure is a note: without these counts jobs still have their GPUs. */
static int open_gpuwork(struct node *n, const struct gpuwork_config *c, struct err *err)
{
	if (n->conf->vmem_tier == 3)
		return err_set(err, -ECANCELED,
			       "GPU work is not counted: no BPF, by configuration");
	return gpuwork_open(c, &n->gpuwork, err);
}

static void open_work(struct node *n)
{
	const struct agent_config *conf = n->conf;
	char dir[600];
	struct gpuwork_config c = {
		.pin_dir = work_dir(n, dir),
		.libcuda = conf->gpu_launch_profile ? conf->cuda : NULL,
		.has_sched = has_vendor(n, GPU_AMD) || has_vendor(n, GPU_INTEL),
	};
	struct err err = { "" };

	if (conf->gpu_launch_profile && !conf->cuda)
		node_note(n, "gpus: GpuLaunchProfile=yes counts nothing without CudaLibrary=");
	if (!c.libcuda && !c.has_sched) {
		gpuwork_forget(c.pin_dir);
		return;
	}
	if (open_gpuwork(n, &c, &err) < 0)
		node_note(n, "gpus: %.400s", err.text);
	else if (*gpuwork_status(n->gpuwork))
		node_note(n, "gpus: %.*s", (int)strcspn(gpuwork_status(n->gpuwork), "\n"),
			  gpuwork_status(n->gpuwork));
	if (n->gpuwork && gpuwork_have(n->gpuwork) & GPUWORK_HAVE_LAUNCHES)
		node_note(n, "gpus: launch profile: on; each launch of a job takes it a uprobe "
			     "longer");
}

void job_gpus_open(struct node *n)
{
	struct gpu_options o = { .nvml = n->conf->nvml, .cuda = n->conf->cuda };
	struct err err = { "" };
	char dir[600];

	if (n->conf->gpus == CONFIG_GPUS_OFF) {
		devices_forget(pin_dir(n, dir));
		gpuwork_forget(work_dir(n, dir));
		return;
	}
	if (gpu_open(&o, &n->gpu, &err) < 0) {
		node_note(n, "gpus: %s", err.text);
		return;
	}
	for (const char *const *note = gpu_notes(n->gpu); note && *note; note++)
		node_note(n, "gpus: %s", *note);
	if (gpu_count(n->gpu) == 0)
		return;
	open_work(n);
	if (n->ops->foreign) {
		devices_forget(pin_dir(n, dir));
		count_gpus(n);
		return;
	}
	if (open_gate(n, &err) < 0)
		go_without_gate(n, &err);
}

void job_gpus_hold(struct node *n)
{
	struct err err = { "" };
	int r;

	if (n->gpuwork)
		gpuwork_prune(n->gpuwork);
	if (!n->devices)
		return;
	r = devices_hold(n->devices, &err);
	if (r < 0) {
		go_without_gate(n, &err);
		return;
	}
	n->gpus_hold = true;
	devices_prune(n->devices);
	count_gpus(n);
	log_line(LOG_INFO, "gpus: %d devices, held by %s", gpu_count(n->gpu),
		 r == 1 ? "the gate that stood already" : "a new gate");
}

void job_gpus_close(struct node *n)
{
	drop_gate(n);
	n->gpuwork = gpuwork_close(n->gpuwork);
	n->gpu = gpu_close(n->gpu);
}
