/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpus.c - choose, grant, drain and report the GPUs of jobs; see gpus/gpus.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/enforce/devices.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/gpus/meter.h"
#include "agent/sample/gpuwork.h"
#include "common/log.h"
#include "common/model/gpus.h"
#include "common/utf8.h"

#define BIT(i) (UINT64_C(1) << (i))

static int count_gpus(const struct node *n)
{
	return n->gpu ? gpu_count(n->gpu) : 0;
}

/* Not a GPU whose partitions are granted instead, and not one of unknown model. */
static bool is_grantable(const struct gpu_device *d)
{
	return !d->is_partitioned && d->model[0];
}

/* A request without a model wants a whole GPU of any model; partitions are granted by name alone. */
static bool is_wanted(const struct gpu_device *d, const char *model)
{
	return is_grantable(d) &&
	       (*model ? !strcmp(d->model, model) : !gpus_is_part(d->model) && d->parent < 0);
}

/* Allocated to other jobs, until their final report. */
static uint64_t find_allocated(const struct node *n, const struct job *except)
{
	uint64_t bits = 0;

	for (const struct job *j = n->jobs; j; j = j->next)
		if (j != except && j->phase != PHASE_REPORT)
			bits |= j->gpus;
	return bits;
}

/* ---- leftovers ---- */

/* The note's beginning, by which it is found again; what was left follows. */
static void format_drain_note(const struct gpu_device *d, char *text, size_t size)
{
	snprintf(text, size, "gpus: %s (%s) is not given to jobs until it is clean: ", d->uuid,
		 d->model);
}

#define SILENCE "gpus: the driver of the GPUs has not answered since "

/* While the driver hangs no GPU is granted, and one note says why. */
static bool is_silent(struct node *n)
{
	char text[GPU_TEXT_MAX];
	bool is_it = n->gpu && gpu_silence(n->gpu, text);

	if (!is_it) {
		node_unnote(n, SILENCE);
		return false;
	}
	node_note(n, "gpus: %s: none is given to jobs, what was measured stays as it was",
		  text);
	for (int i = 0; i < count_gpus(n); i++)
		n->gpus_drained |= BIT(i);
	return true;
}

/* Is the GPU clean? If not it is drained, with a note. -ENODATA (it cannot be measured) counts as clean, and the
 * inventory has a note about it. */
static bool is_clean(struct node *n, int i)
{
	char begin[GPU_UUID_MAX + 160], text[GPU_TEXT_MAX];
	int r = gpu_check_clean(n->gpu, i, text);

	if (r == -ETIMEDOUT && is_silent(n))
		return false;
	format_drain_note(gpu_device(n->gpu, i), begin, sizeof(begin));
	node_unnote(n, begin);
	if (r == 0 || r == -ENODATA) {
		n->gpus_drained &= ~BIT(i);
		return true;
	}
	n->gpus_drained |= BIT(i);
	node_note(n, "%s%s", begin, r == -EIO ? "it does not answer" : text);
	return false;
}

/* GPUs of running jobs are not looked at: their processes are no leftovers. */
void job_gpus_tick(struct node *n)
{
	uint64_t look = n->gpus_drained & ~find_allocated(n, NULL), before = n->gpus_drained;

	for (int i = 0; i < count_gpus(n) && !is_silent(n); i++)
		if (look & BIT(i) && is_clean(n, i))
			log_line(LOG_NOTICE, "GPU %s is clean again",
				 gpu_device(n->gpu, i)->uuid);
	gpu_meter_tick(n);
	is_silent(n);
	if (before != n->gpus_drained && n->uplink)
		uplink_kick(n->uplink);
}

size_t job_gpus_drained(struct node *n, struct admit_allocation *ret)
{
	uint64_t bits = n->gpus_drained & ~find_allocated(n, NULL);
	size_t found = 0;

	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		if (!(bits & BIT(i)) || !is_grantable(d))
			continue;
		ret[found] =
			(struct admit_allocation){ .phase = ADMIT_SUSPENDED, .res.ngpus = 1 };
		snprintf(ret[found].res.gpu_model, sizeof(ret[found].res.gpu_model), "%s",
			 d->model);
		found++;
	}
	return found;
}

size_t job_gpus_describe(const struct node *n, struct sync_gpu *ret)
{
	uint64_t drained = n->gpus_drained & ~find_allocated(n, NULL);
	size_t k = 0;

	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		struct sync_gpu *to = &ret[k++];

		*to = (struct sync_gpu){ .mem_bytes = d->mem_bytes,
					 .numa_node = d->numa_node,
					 .is_simulated = d->is_simulated,
					 .is_partitioned = d->is_partitioned,
					 .is_drained = drained >> i & 1 };
		utf8_format(to->uuid, sizeof(to->uuid), "%s", d->uuid);
		utf8_format(to->model, sizeof(to->model), "%s", d->model);
		utf8_format(to->product, sizeof(to->product), "%s", d->product);
		utf8_format(to->vendor, sizeof(to->vendor), "%s", gpu_vendor_name(d->vendor));
	}
	return k;
}

/* ---- granting ---- */

/* As the vendor's library reports it, else by the bus in the machine's topology. */
static int16_t numa_node(const struct node *n, const struct gpu_device *d)
{
	return d->numa_node >= 0 ? d->numa_node : place_gpu_node(n->topology, d->bus_id);
}

/* Returns the bits of GPUs that are free, not drained and wanted; 0: there are not enough. */
static uint64_t choose_gpus(struct node *n, const struct job *j, const struct cpulist *spare)
{
	const struct resources *res = &j->s.request.res;
	uint64_t out = find_allocated(n, j) | n->gpus_drained, bits = 0;
	struct place_gpus p = { .ncpus = res->ncpus, .ngpus = res->ngpus };
	int index[GPU_DEVICES_MAX];

	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		if (out & BIT(i) || !is_wanted(d, res->gpu_model))
			continue;
		index[p.n] = i;
		p.nodes[p.n++] = numa_node(n, d);
	}
	if (place_choose_gpus(n->topology, spare, &p) != 0)
		return 0;
	for (int i = 0; i < p.n; i++)
		if (p.is_chosen[i])
			bits |= BIT(index[i]);
	return bits;
}

/* Looks at each of them, so that every one that is not clean is drained at once. */
static bool are_all_clean(struct node *n, uint64_t bits)
{
	bool all = true;

	for (int i = 0; i < count_gpus(n); i++)
		if (bits & BIT(i) && !is_clean(n, i))
			all = false;
	return all;
}

/* Numbers may change with a reboot or a new driver: the saved state has uuids. */
static int save_uuids(const struct node *n, struct job *j)
{
	char *text = calloc((size_t)count_gpus(n) + 1, GPU_UUID_MAX + 1), *at = text;

	if (!text)
		return -ENOMEM;
	for (int i = 0; i < count_gpus(n); i++)
		if (j->gpus & BIT(i))
			at += sprintf(at, "%s%s", at == text ? "" : ",",
				      gpu_device(n->gpu, i)->uuid);
	free(j->s.gpus);
	j->s.gpus = text;
	return 0;
}

/* Fails the job with the most useful of three reasons: the driver hangs, a GPU is not clean, or none
 * is free. */
static void fail_without_gpus(struct node *n, struct job *j)
{
	const struct resources *res = &j->s.request.res;
	uint64_t drained = n->gpus_drained;
	char text[GPU_TEXT_MAX];

	if (is_silent(n) && gpu_silence(n->gpu, text)) {
		job_fail(j, "node %s: %.160s", n->conf->node, text);
		return;
	}
	for (int i = 0; i < count_gpus(n); i++)
		if (drained & BIT(i) && is_wanted(gpu_device(n->gpu, i), res->gpu_model) &&
		    gpu_check_clean(n->gpu, i, text) == 1) {
			job_fail(j, "node %s: GPU %s is not clean: %.120s", n->conf->node,
				 gpu_device(n->gpu, i)->uuid, text);
			return;
		}
	job_fail(j, "node %s has no %lld %s%sGPUs free", n->conf->node, (long long)res->ngpus,
		 res->gpu_model, res->gpu_model[0] ? " " : "");
}

int job_gpus_grant(struct node *n, struct job *j, const struct cpulist *spare)
{
	uint64_t bits;

	if (j->s.request.res.ngpus <= 0 || j->gpus)
		return 0;
	do /* each round drains one, or is the last */
		bits = choose_gpus(n, j, spare);
	while (bits && !are_all_clean(n, bits));
	if (!bits) {
		fail_without_gpus(n, j);
		return 1;
	}
	j->gpus = bits;
	gpu_meter_start(n, j);
	return save_uuids(n, j);
}

static bool has_file(const struct gpu_device *d, const char *name, size_t n)
{
	for (int f = 0; f < d->n_files; f++) {
		const char *slash = strrchr(d->files[f].path, '/');

		if (slash && strlen(slash + 1) == n && !memcmp(slash + 1, name, n))
			return true;
	}
	return false;
}

/* An instance has its card's file too: the card comes first. -1: there is none. */
static int find_file(const struct node *n, const char *name, size_t length)
{
	int found = -1;

	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		if (has_file(d, name, length) && (found < 0 || d->parent < 0))
			found = i;
	}
	return found;
}

/* One GPU of a job of Slurm or PBS, by `length` bytes of `name`. */
static void take_gpu(struct node *n, struct job *j, const char *name, size_t length)
{
	int i = find_file(n, name, length), shown = (int)(length < 64 ? length : 64);

	if (*name == '?')
		job_note(
			j,
			"its GPU %.*s of Slurm is not measured: slurmd -G does not say which device it is",
			shown - 1, name + 1);
	else if (i < 0)
		job_note(j, "its GPU %.*s is not in this node's inventory, and is not measured",
			 shown, name);
	else if (gpu_device(n->gpu, i)->is_partitioned)
		job_note(
			j,
			"its GPU %.*s is not measured: it is split into MIG instances, which %s",
			shown, name,
			job_is_slurms(j) ? "gres.conf does not name (MultipleFiles=)"
					 : "PBS does not name");
	else
		j->gpus |= BIT(i);
}

/* Of whichever GPUs it has here: "" where they are of several models. */
static const char *find_common_model(const struct node *n)
{
	const char *model = "";

	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		if (!is_grantable(d))
			continue;
		if (*model && strcmp(model, d->model))
			return "";
		model = d->model;
	}
	return model;
}

void job_gpus_take(struct node *n, struct job *j, const char *files, int64_t count)
{
	struct resources *res = &j->s.request.res;
	int64_t named = 0;

	for (const char *at = files; *at; named++) {
		size_t length = strcspn(at, ",");

		take_gpu(n, j, at, length);
		at += length + (at[length] == ',');
	}
	res->ngpus = count < 0 ? named : count;
	if (named < count)
		job_note(j,
			 "%" PRId64 " of its %" PRId64
			 " GPUs are not measured: %s does not say which they are",
			 count - named, count, n->ops->foreign);
	if (res->ngpus > 0)
		snprintf(res->gpu_model, sizeof(res->gpu_model), "%s",
			 named < res->ngpus ? find_common_model(n) : job_gpus_model(n, j));
	if (j->gpus && save_uuids(n, j) < 0)
		job_note(j, "no memory: its GPUs are measured until the agent is restarted");
	gpu_meter_start(n, j);
}

void job_gpus_recover(struct node *n, struct job *j)
{
	_cleanup_free_ char *copy = j->s.gpus ? strdup(j->s.gpus) : NULL;
	char *uuid, *rest = copy;

	while (copy && (uuid = strsep(&rest, ","))) {
		int i = 0;

		while (i < count_gpus(n) && strcmp(gpu_device(n->gpu, i)->uuid, uuid))
			i++;
		if (i < count_gpus(n))
			j->gpus |= BIT(i);
		else if (*uuid)
			job_note(j, "its GPU %.96s is not there any more", uuid);
	}
	gpu_meter_start(n, j);
}

void job_gpus_near(const struct node *n, const struct job *j, struct cpulist *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < count_gpus(n); i++) {
		int16_t node = j->gpus & BIT(i) ? numa_node(n, gpu_device(n->gpu, i)) : -1;

		if (node >= 0)
			cpulist_add(ret, node);
	}
}

const char **job_gpus_files(const struct node *n, const struct job *j)
{
	static const char *const shared[] = { "/dev/nvidiactl", "/dev/nvidia-uvm",
					      "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
					      "/dev/kfd" };
	const char **list = NULL;
	size_t k = 0;

	if (j->gpus)
		list = calloc(GPU_DEVICES_MAX * GPU_FILES_MAX + ARRAY_LEN(shared) + 1,
			      sizeof(*list));
	if (!list)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		if (access(shared[i], F_OK) == 0)
			list[k++] = shared[i];
	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		for (int f = 0; j->gpus & BIT(i) && f < d->n_files; f++)
			list[k++] = d->files[f].path;
	}
	return list;
}

int job_gpus_env(const struct node *n, const struct job *j, char ***ret)
{
	const struct gpu_device *devices[GPU_DEVICES_MAX];
	struct gpus_env e = { devices, count_gpus(n), j->gpus, n->devices != NULL };

	if (e.n == 0)
		return 0;
	for (int i = 0; i < e.n; i++)
		devices[i] = gpu_device(n->gpu, i);
	*ret = gpus_env(&e);
	return *ret ? 0 : -ENOMEM;
}

/* ---- a job under way ---- */

/* Without our gate: does systemd's device policy (DevicePolicy=, a BPF program of its own) hold the
 * job? Gpus=unheld accepts that nothing does. */
static int check_policy(struct job *j, struct err *err)
{
	char path[MANAGER_PATH_MAX];
	int r = devices_is_held(job_cgroup(j, path));

	if (r == 1 || j->node->conf->gpus == CONFIG_GPUS_UNHELD)
		return 0;
	return err_set(err, -EOPNOTSUPP,
		       "GPUs cannot be held here: no device policy is in force on the job%s%s",
		       r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
}

static void watch_work(struct node *n, struct job *j)
{
	int r = n->gpuwork && j->gpus ? gpuwork_add(n->gpuwork, j->s.cgroup_id, j->s.job) : 0;

	if (r < 0 && r != -EEXIST)
		job_note(j, "the work it gives to GPUs is not counted: %s", strerror(-r));
}

int job_gpus_watch(struct node *n, struct job *j, struct err *err)
{
	struct devices_number numbers[GPU_DEVICES_MAX * GPU_FILES_MAX];
	struct devices_job dj = { .job = j->s.job, .cgroup_id = j->s.cgroup_id };
	int r;

	watch_work(n, j);
	if (!n->devices)
		return j->gpus && !job_is_foreign(j) ? check_policy(j, err) : 0;
	dj.granted = numbers;
	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		for (int f = 0; j->gpus & BIT(i) && f < d->n_files; f++)
			numbers[dj.n++] =
				(struct devices_number){ d->files[f].major, d->files[f].minor };
	}
	/* The gate is attached to the cgroup above the jobs, which may have been made again while no
	 * job was there. */
	r = n->gpus_hold ? devices_check(n->devices, err) : 0;
	if (r == 1)
		node_note(n,
			  "gpus: the cgroup above the jobs was made again, and its device gate "
			  "attached again");
	if (r >= 0)
		r = devices_add(n->devices, &dj, err);
	return r < 0 && r != -EEXIST ? err_prefix(err, r, "gpus") : 0;
}

void job_gpus_unwatch(struct node *n, struct job *j)
{
	if (n->devices)
		devices_remove(n->devices, j->s.cgroup_id);
	if (n->gpuwork)
		gpuwork_remove(n->gpuwork, j->s.cgroup_id);
}

/* No process of the job is left, so memory that is still allocated on its GPUs is a leftover. */
static void check_leftovers(struct node *n, struct job *j)
{
	char text[GPU_TEXT_MAX];

	for (int i = 0; i < count_gpus(n); i++) {
		/* Under Slurm or PBS the GPU may be another job's already, and is not the agent's to drain. */
		if (!(j->gpus & BIT(i)) || job_is_foreign(j) || is_clean(n, i))
			continue;
		if (gpu_check_clean(n->gpu, i, text) != 1)
			continue;
		job_note(j, "GPU %.50s was not clean when the job was over: %.150s",
			 gpu_device(n->gpu, i)->uuid, text);
	}
}

void job_gpus_finish(struct node *n, struct job *j)
{
	struct devices_counts c;

	if (n->devices && devices_read(n->devices, j->s.cgroup_id, &c) == 0 && c.n_refused &&
	    !j->s.note)
		job_note(j, "%llu opens of GPUs that it was not granted were refused",
			 (unsigned long long)c.n_refused);
	check_leftovers(n, j);
}

const char *job_gpus_model(const struct node *n, const struct job *j)
{
	const char *model = "";

	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		if (!(j->gpus & BIT(i)))
			continue;
		if (*model && strcmp(model, d->model))
			return "";
		model = d->model;
	}
	return model;
}

int job_gpus_report(const struct node *n, const struct job *j, struct gpu_use **ret,
		    int32_t *ret_n)
{
	struct gpu_use *list;
	int32_t k = 0;

	if (!j->gpus)
		return 0;
	list = calloc((size_t)__builtin_popcountll(j->gpus), sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (int i = 0; i < count_gpus(n); i++) {
		const struct gpu_device *d = gpu_device(n->gpu, i);

		if (!(j->gpus & BIT(i)))
			continue;
		snprintf(list[k].uuid, sizeof(list[k].uuid), "%s", d->uuid);
		snprintf(list[k].model, sizeof(list[k].model), "%s", d->model);
		list[k].is_simulated = d->is_simulated;
		gpu_use_set(&list[k], &list[k].mem_total_bytes, d->mem_bytes);
		k++;
	}
	gpu_meter_fill(j->meter, list, k);
	*ret = list;
	*ret_n = k;
	return 0;
}
