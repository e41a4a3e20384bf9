/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_spec.c - any bytes as the spec of a job that its supervisor reads: refused with words, or complete, with absolute paths and a user who
 * is not root.
 *
 * links: agent/launch/supervise_spec common/err
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent/launch/supervise.h"
#include "common/cleanup.h"
#include "common/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spec(const struct supervise_spec *s)
{
	const char *const paths[] = { s->cgroup, s->socket, s->final };

	if (s->job <= 0 || s->attempt <= 0 || s->uid == 0 || s->n_groups < 0 ||
	    s->n_groups > SUPERVISE_GROUPS_MAX || s->grace_s < 0)
		abort();
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (paths[i][0] != '/')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[64];
	struct supervise_spec s;
	struct err err = { "" };

	if (fd < 0)
		fd = memfd_create("spec", 0);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (supervise_spec_load(path, &s, &err) == 0)
		check_spec(&s);
	else if (!*err.text)
		abort();
	return 0;
}
