/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cores.c - reads Slurm's list of the cores on each node of a job; see cores.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "slurm/cores.h"

/* A number from 1 to CORES_MAX at *at, which then stands behind it. */
static bool read_number(const char **at, uint32_t *ret)
{
	uint64_t n = 0;

	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9' && n <= CORES_MAX; (*at)++)
		n = n * 10 + (uint64_t)(**at - '0');
	*ret = (uint32_t)n;
	return n >= 1 && n <= CORES_MAX;
}

/* "16" or "16(x3)". */
static bool read_group(const char **at, uint32_t *ret_each, uint32_t *ret_nodes)
{
	*ret_nodes = 1;
	if (!read_number(at, ret_each))
		return false;
	if (strncmp(*at, "(x", 2) != 0)
		return true;
	*at += 2;
	return read_number(at, ret_nodes) && *(*at)++ == ')';
}

int cores_read(const char *text, uint32_t index, struct cores *ret)
{
	struct cores c = { 0 };
	uint32_t each, nodes;

	for (;;) {
		if (!read_group(&text, &each, &nodes) ||
		    c.total + (uint64_t)each * nodes > CORES_MAX)
			return -EINVAL;
		if (index >= c.nodes && index < c.nodes + nodes)
			c.here = each;
		c.nodes += nodes;
		c.total += each * nodes;
		if (*text != ',')
			break;
		text++;
	}
	if (*text || !c.here)
		return -EINVAL;
	*ret = c;
	return 0;
}
