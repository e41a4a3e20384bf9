/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seccomp.c - stands in for the kernel-side guard where that is not possible.
 *
 * Without it the owner of a file could change the file's project id, which is what its disk
 * quota hangs on. The filter knows the calls of the 64-bit architecture and of its 32-bit
 * sibling, through which the same kernel is reached; x32 calls are refused as a whole.
 * The kernel's Documentation/userspace-api/seccomp_filter.rst has the rules.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include "agent/launch/launch.h"
#include "common/cleanup.h"
#include "common/err.h"

/* One table an architecture, calls by their numbers there. */
struct abi {
	uint32_t audit_arch, nr_ioctl, nr_ptrace, nr_vm_writev;
};
/* Calls that came after 2019 have one number everywhere. */
#define NR_IO_URING_SETUP 425
#define NR_PIDFD_GETFD 438
#define NR_FILE_SETATTR 469

#if defined(__x86_64__)
static const struct abi abis[] = {
	{ AUDIT_ARCH_X86_64, 16, 101, 311 },
	{ AUDIT_ARCH_I386, 54, 26, 348 },
};
#define X32_BIT 0x40000000U
#elif defined(__aarch64__)
static const struct abi abis[] = {
	{ AUDIT_ARCH_AARCH64, 29, 117, 271 },
	{ AUDIT_ARCH_ARM, 54, 26, 377 },
};
#else
static const struct abi abis[] = { { 0, 0, 0, 0 } };
#endif

#define DENIED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOWED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(field)                                                                            \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
/* Go on with the next instruction when equal, else skip `n`. */
#define UNLESS_SKIP(k, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), 0, (n))

struct program {
	struct sock_filter insn[96];
	unsigned short n;
};

static void add_instructions(struct program *p, const struct sock_filter *insn, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p->insn[p->n++] = insn[i];
}
#define ADD(p, ...)                                                                            \
	do {                                                                                   \
		const struct sock_filter _i[] = { __VA_ARGS__ };                               \
		add_instructions(p, _i, ARRAY_LEN(_i));                                        \
	} while (0)

static void deny_call(struct program *p, uint32_t nr)
{
	ADD(p, UNLESS_SKIP(nr, 1), DENIED);
}

/* ioctl's command is 32 bits wide in the kernel: the upper half of the register is void. */
static void deny_ioctls(struct program *p, uint32_t nr)
{
	ADD(p, UNLESS_SKIP(nr, 8), LOAD(args[1]), UNLESS_SKIP(FS_IOC_FSSETXATTR, 1), DENIED,
	    UNLESS_SKIP((uint32_t)FS_IOC_SETFLAGS, 1), DENIED,
	    UNLESS_SKIP((uint32_t)FS_IOC32_SETFLAGS, 1), DENIED, ALLOWED);
}

/* The instructions of one architecture, skipped as a whole for another. */
static void add_abi(struct program *p, const struct abi *a, uint32_t deny)
{
	struct program body = { .n = 0 };

#ifdef X32_BIT
	if (a->audit_arch == AUDIT_ARCH_X86_64)
		ADD(&body, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1), DENIED);
#endif
	/* Control of another process, or of what it has open. process_vm_readv stays: it only
	 * reads, and MPIs move messages with it. */
	if (deny & PLAN_DENY_PTRACE) {
		deny_call(&body, a->nr_ptrace);
		deny_call(&body, a->nr_vm_writev);
		deny_call(&body, NR_PIDFD_GETFD);
	}
	/* The flag is in memory, which no filter reads: all of it. */
	if (deny & PLAN_DENY_URING)
		deny_call(&body, NR_IO_URING_SETUP);
	if (deny & PLAN_DENY_PROJECT) {
		deny_call(&body, NR_FILE_SETATTR);
		deny_ioctls(&body, a->nr_ioctl);
	}
	ADD(&body, ALLOWED);
	ADD(p, LOAD(arch), UNLESS_SKIP(a->audit_arch, (uint8_t)(body.n + 1)), LOAD(nr));
	add_instructions(p, body.insn, body.n);
}

int launch_seccomp(uint32_t deny, struct err *err)
{
	struct program p = { .n = 0 };
	struct sock_fprog prog;

	if (!deny)
		return 0;
	if (!abis[0].audit_arch)
		return err_set(err, -EOPNOTSUPP, "no seccomp table for this architecture");
	for (size_t i = 0; i < ARRAY_LEN(abis); i++)
		add_abi(&p, &abis[i], deny);
	ADD(&p, DENIED);
	prog = (struct sock_fprog){ p.n, p.insn };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		return err_set(err, -errno, "install the seccomp filter: %m");
	return 0;
}
