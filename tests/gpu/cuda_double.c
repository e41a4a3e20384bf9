/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cuda_double - libcuda.so.1 without a GPU: the functions that load.c calls. Writes what the process has allocated and how busy it
 * is into the directory $REEVE_CUDA_LOADS, where the simulated driver reads it (world.h: loads). A kernel sleeps for the time that it
 * is to spin. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "tests/gpu/nvml_double.h"

static int gpu;
static size_t allocated;
static uint64_t busy_ns;
static int64_t begin_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* By rename: the simulated driver never reads half a file. */
static void write_load(void)
{
	const char *dir = getenv("REEVE_CUDA_LOADS");
	char path[300], temp[320];
	int64_t passed = now_ns() - begin_ns;
	unsigned sm =
		passed > 0
			? (unsigned)((busy_ns * 100 + (uint64_t)passed / 2) / (uint64_t)passed)
			: 0;
	FILE *f;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%d", dir, (int)getpid());
	snprintf(temp, sizeof(temp), "%s/.%d", dir, (int)getpid());
	f = fopen(temp, "we");
	if (!f)
		return;
	fprintf(f, "%d %zu %u\n", gpu, allocated >> 20, sm > 100 ? 100 : sm);
	if (fclose(f) == 0)
		rename(temp, path);
}

FN(cuInit, (unsigned flags))
{
	(void)flags;
	return 0;
}

FN(cuDeviceGet, (int *d, int ordinal))
{
	*d = gpu = ordinal;
	return 0;
}

FN(cuCtxCreate_v2, (void **c, unsigned flags, int d))
{
	(void)flags;
	(void)d;
	*c = &gpu;
	begin_ns = now_ns();
	write_load();
	return 0;
}

/* Addresses come again, as a driver's do; 64 GiB and more is refused. */
FN(cuMemAlloc_v2, (uint64_t * p, size_t n))
{
	size_t *block = n >> 36 ? NULL : malloc(sizeof(*block));

	if (!block)
		return 2;
	*block = n;
	*p = (uint64_t)(uintptr_t)block;
	__atomic_add_fetch(&allocated, n, __ATOMIC_RELAXED);
	write_load();
	return 0;
}

FN(cuMemFree_v2, (uint64_t p))
{
	size_t *block = (size_t *)(uintptr_t)p;

	__atomic_sub_fetch(&allocated, *block, __ATOMIC_RELAXED);
	free(block);
	write_load();
	return 0;
}

FN(cuModuleLoadData, (void **m, const void *image))
{
	(void)image;
	*m = &gpu;
	return 0;
}

FN(cuModuleGetFunction, (void **f, void *m, const char *name))
{
	(void)m;
	(void)name;
	*f = &gpu;
	return 0;
}

/* On a busy machine it takes longer than it was asked to. */
static unsigned spin_kernel(void **args)
{
	int64_t start = now_ns();
	uint64_t ns = *(uint64_t *)args[0];
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
	busy_ns += (uint64_t)(now_ns() - start);
	return 0;
}

FN(cuLaunchKernel, (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		    unsigned bz, unsigned shared, void *stream, void **args, void **extra))
{
	(void)f;
	(void)stream;
	(void)extra;
	return !gx || !gy || !gz || !bx || !by || !bz || shared ? 1 : spin_kernel(args);
}

FN(cuLaunchKernelEx, (const void *config, void *f, void **args, void **extra))
{
	(void)config;
	(void)f;
	(void)extra;
	return spin_kernel(args);
}

FN(cuGraphLaunch, (void *graph, void *stream))
{
	(void)graph;
	(void)stream;
	return 0;
}

FN(cuCtxSynchronize, (void))
{
	write_load();
	return 0;
}
