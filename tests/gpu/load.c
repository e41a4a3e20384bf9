/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load - work for a GPU through CUDA's driver library, which is loaded at run time: it is built without CUDA and runs with the
 * driver alone.
 *
 *	load MIB DUTY SECONDS [GPU]		keep MIB allocated, and a kernel running DUTY % of the time
 *
 * Prints "ready BYTES" when the memory is allocated. Exit status 77: no CUDA here.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 100000000LL /* a kernel runs part of this */

/* Spins until so many nanoseconds have passed. */
static const char ptx[] = ".version 6.0\n"
			  ".target sm_50\n"
			  ".address_size 64\n"
			  ".visible .entry spin(.param .u64 ns)\n"
			  "{\n"
			  "	.reg .u64 %rd<4>;\n"
			  "	.reg .pred %p1;\n"
			  "	ld.param.u64 %rd1, [ns];\n"
			  "	mov.u64 %rd2, %globaltimer;\n"
			  "again:\n"
			  "	mov.u64 %rd3, %globaltimer;\n"
			  "	sub.u64 %rd3, %rd3, %rd2;\n"
			  "	setp.lt.u64 %p1, %rd3, %rd1;\n"
			  "	@%p1 bra again;\n"
			  "	ret;\n"
			  "}\n";

static struct {
	int (*init)(unsigned flags);
	int (*device)(int *d, int ordinal);
	int (*context)(void **c, unsigned flags, int d);
	int (*alloc)(uint64_t *p, size_t n);
	int (*release)(uint64_t p);
	int (*module)(void **m, const void *image);
	int (*function)(void **f, void *m, const char *name);
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		      unsigned bz, unsigned shared, void *stream, void **args, void **extra);
	int (*wait)(void);
} cu;

/* The order of names is that of the fields of `cu`. -1: no CUDA, or a function is missing. */
static int load_cuda(void)
{
	static const char *const names[] = {
		"cuInit",	   "cuDeviceGet",      "cuCtxCreate_v2",      "cuMemAlloc_v2",
		"cuMemFree_v2",	   "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel",
		"cuCtxSynchronize"
	};
	void **to = (void **)&cu;
	void *h = dlopen("libcuda.so.1", RTLD_NOW);

	if (!h)
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		to[i] = dlsym(h, names[i]);
		if (!to[i])
			return -1;
	}
	return 0;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Each slice has a kernel of DUTY % of its time, then a pause. */
static int run_load(void *spin, int duty, int64_t until_ns)
{
	while (now_ns() < until_ns) {
		uint64_t ns = (uint64_t)(SLICE_NS / 100 * duty);
		void *args[] = { &ns };
		int64_t begin = now_ns(), rest;

		if (duty &&
		    (cu.launch(spin, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) || cu.wait()))
			return 1;
		rest = SLICE_NS - (now_ns() - begin);
		if (rest > 0 && duty < 100)
			usleep((useconds_t)(rest / 1000));
	}
	return 0;
}

int main(int argc, char **argv)
{
	void *context, *module, *spin;
	uint64_t memory = 0;
	size_t bytes;
	int d;

	if (argc < 4)
		return 64;
	bytes = (size_t)strtoull(argv[1], NULL, 10) << 20;
	if (load_cuda() < 0 || cu.init(0))
		return 77;
	if (cu.device(&d, argc > 4 ? atoi(argv[4]) : 0) || cu.context(&context, 0, d) ||
	    cu.module(&module, ptx) || cu.function(&spin, module, "spin") ||
	    (bytes && cu.alloc(&memory, bytes))) {
		fprintf(stderr, "load: CUDA refuses\n");
		return 1;
	}
	printf("ready %zu\n", bytes);
	fflush(stdout);
	d = run_load(spin, atoi(argv[2]), now_ns() + (int64_t)(strtod(argv[3], NULL) * 1e9));
	if (memory)
		cu.release(memory);
	return d;
}
