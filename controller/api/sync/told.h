/* told - what each node was last told and has not shown yet. */
#pragma once
#include <stdint.h>
#include "common/model/request.h"

struct told {
	struct told *next;
	char node[REQUEST_NAME_MAX];
	uint64_t digest; /* of the wishes that were open in the last answer; 0: none */
	int64_t at_ns;	 /* CLOCK_MONOTONIC */
};

/* The node's entry, made when it is not there; NULL: no memory. */
struct told *told_find(struct told **list, const char *node);
void told_free(struct told *list);
