/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocs.c - reads GPU memory by process from uprobes on the CUDA driver library; includes the
 * skeleton of bpf/gpu.bpf.c; see allocs.h. */
#include <errno.h>
#include <linux/types.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "agent/gpu/allocs.h"
#include "bpf/gpu_abi.h"
#include "common/err.h"
#include "gpu.skel.h"

#define N_PROBES 3

struct allocs {
	struct gpu_bpf *skel;
	struct bpf_link *links[N_PROBES];
};

static int attach_probe(struct allocs *a, int i, struct bpf_program *prog, const char *path,
			const char *function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, o, .func_name = function,
		    .retprobe = prog == a->skel->progs.gpu_alloc_return);

	a->links[i] = bpf_program__attach_uprobe_opts(prog, -1, path, 0, &o);
	return a->links[i] ? 0 : -errno;
}

static int attach_probes(struct allocs *a, const char *path, struct err *err)
{
	const struct {
		struct bpf_program *prog;
		const char *function;
	} probes[N_PROBES] = {
		/* the return first: without it a call's arguments would stay in the map */
		{ a->skel->progs.gpu_alloc_return, "cuMemAlloc_v2" },
		{ a->skel->progs.gpu_alloc_call, "cuMemAlloc_v2" },
		{ a->skel->progs.gpu_free_call, "cuMemFree_v2" },
	};

	for (int i = 0; i < N_PROBES; i++) {
		int r = attach_probe(a, i, probes[i].prog, path, probes[i].function);

		if (r < 0)
			return err_set(err, r, "probe %s of %s: %s", probes[i].function, path,
				       strerror(-r));
	}
	return 0;
}

int allocs_open(const char *libcuda, struct allocs **ret, struct err *err)
{
	_cleanup_(allocs_closep) struct allocs *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	if (access(libcuda, R_OK) < 0)
		return err_set(err, -errno, "%s: %m", libcuda);
	a->skel = gpu_bpf__open_and_load();
	if (!a->skel)
		return err_set(err, -errno, "load the probes of GPU memory: %m");
	r = attach_probes(a, libcuda, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

struct allocs *allocs_close(struct allocs *a)
{
	if (!a)
		return NULL;
	for (int i = 0; i < N_PROBES; i++)
		bpf_link__destroy(a->links[i]);
	gpu_bpf__destroy(a->skel);
	free(a);
	return NULL;
}

int allocs_read(const struct allocs *a, pid_t pid, struct allocs_of *ret)
{
	uint32_t key = (uint32_t)pid;
	struct gpu_allocs p;

	if (bpf_map_lookup_elem(bpf_map__fd(a->skel->maps.processes), &key, &p) < 0)
		return -errno;
	*ret = (struct allocs_of){ (int64_t)p.bytes, (int64_t)p.peak_bytes, (int64_t)p.n_allocs,
				   (int64_t)p.n_frees, (int64_t)p.n_lost };
	return 0;
}

/* The next key before this one is deleted: a walk from a deleted key starts again. */
static void prune_allocs(int fd, bool (*is_alive)(void *ctx, pid_t pid), void *ctx)
{
	struct gpu_alloc key, next;
	int more = bpf_map_get_next_key(fd, NULL, &next);

	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(fd, &key, &next);
		if (!is_alive(ctx, (pid_t)key.tgid))
			bpf_map_delete_elem(fd, &key);
	}
}

void allocs_prune(struct allocs *a, bool (*is_alive)(void *ctx, pid_t pid), void *ctx)
{
	int fd = bpf_map__fd(a->skel->maps.processes);
	uint32_t key, next;
	int more = bpf_map_get_next_key(fd, NULL, &next), n_dead = 0;

	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(fd, &key, &next);
		if (is_alive(ctx, (pid_t)key))
			continue;
		bpf_map_delete_elem(fd, &key);
		n_dead++;
	}
	if (n_dead)
		prune_allocs(bpf_map__fd(a->skel->maps.allocs), is_alive, ctx);
}
