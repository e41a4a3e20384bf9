/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu_bench - one look at 8 GPUs with 64 processes, on the simulated driver: agent/gpu, beside
 * the exporters' way in the same run, which reads everything of every GPU each time, lists in two
 * calls, what accounting mode has of every pid, and looks each process up in /proc. usage:
 * gpu_bench LIBRARY ROUNDS
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "agent/gpu/gpu.h"
#include "agent/gpu/nvml/nvml_abi.h"

#define N_GPUS 8
#define N_PROCESSES 64
#define N_ENDED 160

static struct {
#define FIELD(name, symbol, args) unsigned(*name) args;
	NVML_FUNCTIONS(FIELD)
#undef FIELD
	void (*set_us)(uint64_t us);
	unsigned long *calls;
} nv;

static pid_t children[N_PROCESSES];
static long n_told;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void start_children(void)
{
	for (int i = 0; i < N_PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			for (;;)
				pause();
		}
	}
}

static void end_children(void)
{
	for (int i = 0; i < N_PROCESSES; i++)
		if (children[i] > 0)
			kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

static int write_world(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -1;
	for (int g = 0; g < N_GPUS; g++)
		fprintf(f,
			"gpu %d uuid=GPU-%d name=H100_80GB_HBM3 mem=81559 "
			"bus=0000:%02X:00.0 watts=400 accounting=on\n",
			g, g, g + 16);
	for (int i = 0; i < N_PROCESSES; i++)
		fprintf(f, "process %d pid=%d mem=1000 sm=12\n", i % N_GPUS, (int)children[i]);
	for (int i = 0; i < N_ENDED; i++)
		fprintf(f, "process %d pid=%d to=0.5 mem=10 sm=1\n", i % N_GPUS, 5000000 + i);
	return fclose(f);
}

static void look_up(unsigned pid)
{
	static const char *const files[] = { "cgroup", "comm", "stat", "cmdline" };
	char path[64], text[4096];

	for (int i = 0; i < 4; i++) {
		int fd;

		snprintf(path, sizeof(path), "/proc/%u/%s", pid, files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n_told += read(fd, text, sizeof(text)) > 0;
		close(fd);
	}
}

static void ask_list(unsigned (*fn)(nvml_dev, unsigned *, void *), nvml_dev d)
{
	struct nvml_process *list;
	unsigned n = 0;

	if (fn(d, &n, NULL) != NVML_INSUFFICIENT_SIZE)
		return;
	n += 8;
	list = calloc(n, NVML_PROCESS_LARGEST);
	if (list && fn(d, &n, list) == NVML_OK)
		for (unsigned i = 0; i < n; i++)
			look_up(list[i].pid);
	free(list);
}

static void ask_utilization(nvml_dev d)
{
	struct nvml_utilization *list;
	unsigned n = 0;

	nv.utilization(d, NULL, &n, 0);
	list = calloc(n + 8, sizeof(*list));
	n += 8;
	if (list)
		nv.utilization(d, list, &n, 0);
	free(list);
}

static void ask_accounting(nvml_dev d)
{
	struct nvml_accounting a;
	unsigned n = 0, mode, *pids;

	nv.acct_mode(d, &mode);
	nv.acct_pids(d, &n, NULL);
	pids = calloc(n + 8, sizeof(*pids));
	n += 8;
	if (pids && nv.acct_pids(d, &n, pids) == NVML_OK)
		for (unsigned i = 0; i < n; i++)
			nv.acct_stats(d, pids[i], &a);
	free(pids);
}

static void sample_like_exporter(void)
{
	unsigned count = 0;

	nv.count(&count);
	for (unsigned i = 0; i < count; i++) {
		struct nvml_sample samples[256];
		struct nvml_memory_v2 mem = { .version = NVML_MEMORY_V2 };
		struct nvml_pci pci;
		unsigned value, n = 0, minor, mig, pending;
		unsigned long long mj;
		char text[96];
		nvml_dev d;

		nv.by_index(i, &d);
		nv.name(d, text, sizeof(text));
		nv.uuid(d, text, sizeof(text));
		nv.pci_v3(d, &pci);
		nv.minor(d, &minor);
		nv.mig_mode(d, &mig, &pending);
		nv.memory_v2(d, &mem);
		nv.energy(d, &mj);
		nv.samples(d, NVML_SAMPLES_GPU, 0, &value, &n, NULL);
		n = 256;
		nv.samples(d, NVML_SAMPLES_GPU, 0, &value, &n, samples);
		ask_list(nv.compute_v3, d);
		ask_list(nv.graphics_v3, d);
		ask_list(nv.mps_v3, d);
		ask_utilization(d);
		ask_accounting(d);
	}
}

static void count_process(void *ctx, const struct gpu_process *p)
{
	(void)ctx;
	n_told += p->busy_ns >= 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Median ns, and calls of the driver, of one look. */
struct cost {
	int64_t ns;
	unsigned long calls;
};

static struct cost measure_samples(struct gpu *g, int rounds)
{
	int64_t *ns = calloc((size_t)rounds, sizeof(*ns));
	struct cost c = { 0 };

	for (int i = 0; ns && i < rounds; i++) {
		int64_t begin;

		nv.set_us((uint64_t)(i + 10) * 10000000);
		*nv.calls = 0;
		begin = now_ns();
		if (g)
			gpu_sample(g, (int64_t)(i + 10) * 10000000000, count_process, NULL,
				   NULL);
		else
			sample_like_exporter();
		ns[i] = now_ns() - begin;
		c.calls = *nv.calls;
	}
	if (ns)
		qsort(ns, (size_t)rounds, sizeof(*ns), by_value);
	c.ns = ns ? ns[rounds / 2] : 0;
	free(ns);
	return c;
}

static int load_library(const char *library)
{
	void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
#define LOAD(name, symbol, args) *(void **)&nv.name = dlsym(h, symbol);
	NVML_FUNCTIONS(LOAD)
#undef LOAD
	*(void **)&nv.set_us = dlsym(h, "nvml_double_set_us");
	nv.calls = dlsym(h, "nvml_double_calls");
	return nv.set_us && nv.calls && nv.init() == NVML_OK ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct gpu_options o = { .nvml = argc > 1 ? argv[1] : NULL };
	int rounds = argc > 2 ? atoi(argv[2]) : 101, rc = 1;
	char world[] = "/tmp/reeve-gpu-bench-XXXXXX";
	int fd = mkstemp(world);
	struct gpu *g = NULL;

	start_children();
	setenv("REEVE_NVML_DOUBLE", world, 1);
	if (fd >= 0 && o.nvml && write_world(world) == 0 && load_library(o.nvml) == 0 &&
	    gpu_open(&o, &g, NULL) == 0 && gpu_count(g) == N_GPUS) {
		struct cost ours = measure_samples(g, rounds),
			    theirs = measure_samples(NULL, rounds);

		printf("one look, %d simulated GPUs, %d processes, %d that ended: %.0f us, %lu "
		       "calls of the driver\n",
		       N_GPUS, N_PROCESSES, N_ENDED, (double)ours.ns / 1e3, ours.calls);
		printf("exporters' way: %.0f us, %lu calls\n", (double)theirs.ns / 1e3,
		       theirs.calls);
		printf("x%.3f of the time, x%.3f of the calls (the driver's own time is not "
		       "real "
		       "here)\n",
		       (double)ours.ns / (double)theirs.ns,
		       (double)ours.calls / (double)theirs.calls);
		rc = 0;
	} else {
		printf("no figures: the simulated driver did not start\n");
	}
	gpu_close(g);
	end_children();
	unlink(world);
	return rc;
}
