/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_at.c - SIGKILL for a process at the moment it enters, or returns from, a function.
 *
 *	crash_at PID FUNCTION entry|return SECONDS
 *
 * A uprobe with a BPF program of three instructions: the program under test is the one that is
 * installed, with nothing compiled into it. Prints "armed" when the probe stands; exits 0 when
 * the process is dead, 3 when it was not within SECONDS. The probe is for PID alone: a process that is
 * started in its place runs on.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/cleanup.h"

#define SEND_SIGNAL 109 /* bpf_send_signal() */
#define KILL 9

static _Noreturn void exit_with(const char *what)
{
	fprintf(stderr, "crash_at: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *map_file(const char *path, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		exit_with(path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		exit_with(path);
	*ret_size = (size_t)st.st_size;
	return p;
}

/* "latch" is "latch.isra.0" too, but "latch.cold" is no entry. */
static int is_named(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(symbol, name, n) &&
	       (!symbol[n] || (symbol[n] == '.' && !strstr(symbol, ".cold")));
}

static Elf64_Addr find_symbol(const char *elf, const char *name)
{
	const Elf64_Ehdr *head = (const void *)elf;
	const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);

	for (int i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(elf + sections[i].sh_offset);
		const char *names = elf + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++)
			if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC &&
			    is_named(names + symbols[k].st_name, name))
				return symbols[k].st_value;
	}
	errno = ENOENT;
	exit_with(name);
}

/* Where in the file the function begins, as uprobes have it. */
static __u64 find_offset(const char *path, const char *name)
{
	size_t size;
	const char *elf = map_file(path, &size);
	const Elf64_Ehdr *head = (const void *)elf;
	const Elf64_Phdr *parts = (const void *)(elf + head->e_phoff);
	Elf64_Addr at = find_symbol(elf, name);

	for (int i = 0; i < head->e_phnum; i++)
		if (parts[i].p_type == PT_LOAD && at >= parts[i].p_vaddr &&
		    at < parts[i].p_vaddr + parts[i].p_filesz)
			return at - parts[i].p_vaddr + parts[i].p_offset;
	errno = ERANGE;
	exit_with(name);
}

static int load_program(void)
{
	const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = KILL },
		{ .code = BPF_JMP | BPF_CALL, .imm = SEND_SIGNAL },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.insns = (__u64)(unsigned long)program;
	attr.insn_cnt = ARRAY_LEN(program);
	attr.license = (__u64)(unsigned long)"GPL";
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		exit_with("load the program");
	return fd;
}

static unsigned uprobe_type(void)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	unsigned type;

	if (!f || fscanf(f, "%u", &type) != 1)
		exit_with("this kernel has no uprobes");
	return type;
}

static int arm_probe(pid_t pid, const char *function, int at_return)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	static char link[64], path[4096];
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		exit_with(link);
	attr.type = uprobe_type();
	attr.config = at_return ? 1 : 0; /* format/retprobe */
	attr.config1 = (__u64)(unsigned long)path;
	attr.config2 = find_offset(path, function);
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, load_program()) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		exit_with("set the probe");
	return fd;
}

int main(int argc, char **argv)
{
	struct pollfd over = { .events = POLLIN };
	pid_t pid;

	if (argc != 5 || (strcmp(argv[3], "entry") && strcmp(argv[3], "return"))) {
		fprintf(stderr, "usage: crash_at PID FUNCTION entry|return SECONDS\n");
		return 64;
	}
	pid = (pid_t)atol(argv[1]);
	over.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (over.fd < 0)
		exit_with("no such process");
	arm_probe(pid, argv[2], !strcmp(argv[3], "return"));
	puts("armed");
	fflush(stdout);
	return poll(&over, 1, atoi(argv[4]) * 1000) == 1 ? 0 : 3;
}
