/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clone_into.c - clone3(2) into a cgroup, as fork() and as vfork(); see clone_into.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/process/clone_into.h"

#define STACK_BYTES 32768

/* All signals are blocked across the call, so that no handler of the caller runs in the child. */
static long call_clone3(struct clone_args *a, const struct clone_into *c)
{
	long r;

#if defined(__x86_64__)
	if (a->stack) {
		/* The child has a new stack: nothing of the caller's frame but what is in registers. */
		__asm__ volatile("syscall\n\t"
				 "test %%rax, %%rax\n\t"
				 "jnz 1f\n\t"
				 "xor %%ebp, %%ebp\n\t"
				 "mov %[ctx], %%rdi\n\t"
				 "call *%[run]\n\t"
				 "ud2\n"
				 "1:"
				 : "=a"(r)
				 : "a"(SYS_clone3), "D"(a),
				   "S"(sizeof(*a)), [run] "r"(c->run), [ctx] "r"(c->ctx)
				 : "rcx", "r11", "memory", "cc");
		return r;
	}
#endif
	r = syscall(SYS_clone3, a, sizeof(*a));
	if (r == 0) {
		c->run(c->ctx);
		_exit(127);
	}
	return r < 0 ? -errno : r;
}

static long clone_blocked(struct clone_args *a, const struct clone_into *c)
{
	_cleanup_close_ int dir = open(c->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sigset_t all, before;
	long r;

	if (dir < 0)
		return -errno;
	a->flags |= CLONE_INTO_CGROUP;
	a->exit_signal = SIGCHLD;
	a->cgroup = (uint64_t)dir;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r = call_clone3(a, c);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

pid_t clone_into_fork(const struct clone_into *c)
{
	struct clone_args a = { 0 };

	return (pid_t)clone_blocked(&a, c);
}

int clone_into_spawn(const struct clone_into *c)
{
	int fd = -1;
	struct clone_args a = { .flags = CLONE_PIDFD | CLONE_VFORK, .pidfd = (uintptr_t)&fd };
	long r;

#if defined(__x86_64__)
	_Alignas(16) char stack[STACK_BYTES];

	a.flags |= CLONE_VM;
	a.stack = (uintptr_t)stack;
	a.stack_size = sizeof(stack);
#endif
	r = clone_blocked(&a, c);
	return r < 0 ? (int)r : fd;
}
