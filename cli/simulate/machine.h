/* machine - the machine that a trace is replayed on, as typed. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

#define MACHINE_KINDS_MAX 16

struct machine {
	struct machine_kind {
		int64_t nodes, cores; /* so many of so many cores each */
	} kinds[MACHINE_KINDS_MAX];
	size_t n_kinds;	 /* 0: one pool */
	int64_t cores;	 /* in all */
	int64_t largest; /* job: whole nodes of the smallest kind, and one part of the rest */
};

/* "100x48", "100x48,20x96": nodes x cores of each. -EINVAL: with what it should be. */
int machine_parse_nodes(const char *text, struct machine *ret, struct err *err);
/* "93312": one pool of so many. -EINVAL. */
int machine_parse_cores(const char *text, struct machine *ret, struct err *err);
