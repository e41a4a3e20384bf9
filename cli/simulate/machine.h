/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine - parses the machine that a trace is replayed on. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

#define MACHINE_KINDS_MAX 16

struct machine {
	struct machine_kind {
		int64_t nodes, cores; /* cores of each node */
	} kinds[MACHINE_KINDS_MAX];
	size_t n_kinds;	 /* 0: one pool */
	int64_t cores;	 /* in all */
	int64_t largest; /* cores of the widest job that can run */
};

/* Parses "100x48" or "100x48,20x96": nodes x cores of each. -EINVAL. */
int machine_parse_nodes(const char *text, struct machine *ret, struct err *err);
/* Parses "93312": one pool of that many cores. -EINVAL. */
int machine_parse_cores(const char *text, struct machine *ret, struct err *err);
