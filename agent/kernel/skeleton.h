/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skeleton.h - one BPF object in the kernel: every hook is optional; it is pinned, and adopted
 * after a restart.
 *
 * Kernels differ in what can be hooked, and a function that BTF lists may still be refused: each
 * hook is tried alone first, so that a refusal affects that hook only. With a pin directory, maps
 * and links are pinned on bpffs below PIN_DIR/NAME-vVERSION; a later open takes them over and
 * attaches only what is missing. Pins of other versions of the same object are removed after the
 * new hooks are attached.
 *
 * libbpf prints the errors of hooks that are tried: the caller silences it (libbpf_set_print()).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bpf/libbpf.h>
#include "common/err.h"

struct skeleton;

enum skeleton_kind {
	SKELETON_TRACEPOINT, /* tp_btf: tier 2 */
	SKELETON_TRAMPOLINE, /* fentry, fmod_ret: tier 1 */
	SKELETON_ITERATOR,   /* loaded, run on demand, never pinned */
};

struct skeleton_hook {
	const char *prog; /* program name in the object */
	enum skeleton_kind kind;
	const char *instead_of; /* only tried when that earlier hook failed */
	const char *lost;	/* the status line when it is missing; NULL: nothing is lost */
};

struct skeleton_spec {
	const char *name; /* also in libbpf's messages */
	int version;	  /* of the maps and programs; raise it with every change of them */
	const void *elf;
	size_t elf_size;
	const struct skeleton_hook *hooks;
	size_t n_hooks;
	const char *pin_dir; /* NULL: nothing is pinned */
	int best_tier;	     /* 2: no trampolines */
	/* Set map sizes and constants before load; NULL: nothing to set. */
	int (*configure)(struct bpf_object *obj, void *ctx);
	void *ctx;
};

/* Load and attach what the kernel takes. Succeeds when the maps exist, even with no hook:
 * ask skeleton_has(). -errno when the maps cannot be made. */
int skeleton_open(const struct skeleton_spec *spec, struct skeleton **ret, struct err *err);
struct skeleton *skeleton_close(struct skeleton *k); /* pinned links stay attached */

/* Unpin every version of the object `name`; with the last pin and its process, hooks detach. */
void skeleton_forget(const char *pin_dir, const char *name);

bool skeleton_has(const struct skeleton *k, const char *prog);
int skeleton_map(const struct skeleton *k, const char *map); /* fd of k's own, or -ENOENT */
/* Messages that found no room in the ring buffer (bpf/lib/ring.h) since the maps were made. */
uint64_t skeleton_n_lost(const struct skeleton *k);
struct bpf_program *skeleton_prog(const struct skeleton *k,
				  const char *prog); /* loaded, or NULL */
/* All pinned links of an earlier process were found: no interval without them. */
bool skeleton_adopted(const struct skeleton *k);
/* "LOST: hook PROG: reason" lines for what is missing, "" when nothing is. */
const char *skeleton_status(const struct skeleton *k);

static inline void skeleton_closep(struct skeleton **k)
{
	skeleton_close(*k);
}
