/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progs.c - the names of the BPF programs that the kernel holds, one a line. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call_bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static void print_name(__u32 id)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	fd = call_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
	if (fd < 0)
		return; /* gone meanwhile */
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (__u32)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (__u64)(unsigned long)&info;
	if (call_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0)
		puts(info.name);
	close(fd);
}

int main(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	while (call_bpf(BPF_PROG_GET_NEXT_ID, &attr) == 0) {
		__u32 id = attr.next_id;

		print_name(id);
		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
	}
	return 0;
}
