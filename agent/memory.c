/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory.c - return free memory to the kernel; see memory.h. */
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent/memory.h"
#include "common/cleanup.h"

struct mapping {
	uintptr_t from, to;
	bool is_file; /* of a file, private and read-only: its pages can be read again */
};

/* A line of proc_pid_smaps(5) that heads a mapping; false: it is one of its figures. */
static bool read_head(const char *line, struct mapping *ret)
{
	unsigned long inode;
	struct mapping m;
	char mode[5];

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %lu", &m.from, &m.to, mode,
		   &inode) != 4)
		return false;
	m.is_file = inode != 0 && mode[3] == 'p' && mode[1] == '-';
	*ret = m;
	return true;
}

void memory_give_back(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/smaps", "re");
	struct mapping m = { 0 };
	char line[4352];

	malloc_trim(0);
	while (f && fgets(line, sizeof(line), f)) {
		long kib;

		if (read_head(line, &m) || !m.is_file)
			continue;
		/* A page that was written to (relocated) exists nowhere else. */
		if (sscanf(line, "Anonymous: %ld kB", &kib) == 1 && kib == 0)
			madvise((void *)m.from, m.to - m.from, MADV_DONTNEED);
	}
}

int64_t memory_files(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!f || fscanf(f, "%*d %*d %ld", &pages) != 1)
		return 0;
	return pages * sysconf(_SC_PAGESIZE);
}
