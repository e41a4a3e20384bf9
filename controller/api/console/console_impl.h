/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_impl.h - shared by console.c and node_console.c alone. */
#pragma once
#include "controller/api/console/console.h"
#include "controller/api/console/console_table.h"

/* The consoles of the api, with the timer that finds lost terminals. Made by the first use. */
int console_find_table(struct api *a, struct console_table **ret, struct err *err);
/* The entry of a step, made where there is none yet. -ENOENT: no such step; -EINVAL: it is not interactive; -ESRCH: it has ended. */
int console_find(struct api *a, int64_t job, int64_t step, struct console_entry **ret,
		 struct err *err);
/* One side of a console, whose format (CONSOLE_FORMAT) is not the controller's. */
struct console_side {
	const char *name;   /* "the agent of node n1" */
	const char *remedy; /* where that is the older one */
	int64_t format;
};
/* Which of both is older, as a sentence; returns what to do, which stays. */
const char *console_describe_side(const struct console_side *s, char *buf, size_t size);
const char *console_describe_node(const char *node, int64_t format, char *buf, size_t size);
/* The node of the step is to ask again: there is input. */
void console_wake_node(struct api *a, const struct console_entry *e);
