/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clone_into - a process that begins in a cgroup of its own (clone3(2) with CLONE_INTO_CGROUP).
 *
 * To fork and to write to cgroup.procs takes the kernel's lock on all forks and exits, for which it waits for a grace period of
 * RCU: milliseconds, in which both processes stand. A process that begins in its cgroup needs neither.
 */
#pragma once
#include <sys/types.h>

struct clone_into {
	const char *cgroup; /* its directory, in cgroup v2 */
	/* In the child, with all signals blocked; must not return. */
	void (*run)(void *ctx);
	void *ctx;
};

/* A copy, as of fork(). Its pid; -errno. */
pid_t clone_into_fork(const struct clone_into *c);

/* The caller stands until the child has called exec or _exit, and no page is copied, however large the caller is: `run` uses
 * the caller's memory, and a stack of 32 KiB of its own. It may change descriptors, directory, limits, signals and ids of
 * processes, which are the child's own, and must not change user. Where no assembly is written for the processor (x86-64 has
 * it), this is a copy too. A pidfd, with O_CLOEXEC; -errno. */
int clone_into_spawn(const struct clone_into *c);
