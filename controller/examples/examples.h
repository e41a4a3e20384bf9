/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples - checks whether the figures that a site has published, each with its source,
 * hold under a configuration: units/profiles/NAME.examples, docs/policies.md.
 *
 * A file of sections, read like every configuration (common/conf/conf.h): faults name file and
 * line. `[Cost NAME]` is a request with its rate or charge, `[Window NAME]` months with what
 * they leave, `[Tree NAME]` shares and usage with norm shares and ranks, `[Value NAME]` a
 * setting. A figure is computed by the code that charges, ranks and limits jobs: there is no
 * second implementation.
 */
#pragma once
#include "common/cleanup.h"
#include "controller/config/config.h"

struct err;

enum example_kind { EXAMPLE_COST, EXAMPLE_WINDOW, EXAMPLE_TREE, EXAMPLE_VALUE };

#define EXAMPLE_NAME_MAX 128

/* As typed; NULL: not stated. Its form was checked. */
struct example {
	char name[EXAMPLE_NAME_MAX];
	enum example_kind kind;
	int line;     /* of its head */
	char *source; /* "FILE:LINE" */
	char *says;   /* words of that line */
	struct {
		char *cluster, *queue, *node_type, *gpu_model, *request;
		int64_t nodes, running_s, suspended_s;
		char *rate, *charge, *unit, *pool, *decided_by;
	} cost;
	struct {
		char *months, *month; /* "2012-01=1000/800, ..." */
		char *available, *percentage, *mode;
	} window;
	struct {
		int algorithm; /* 0: the configuration's, else 1 + enum config_fairshare */
		char *tree, *usage;
		char *norm_shares, *effective_usage, *fairshare;
	} tree;
	struct {
		char *section, *key, *is;
	} value;
};

struct examples {
	struct example **list;
	size_t n;
};

/* Reads a file, or a text (`name` stands for its file). -EINVAL: a fault, with file and line;
 * -ENOENT ... as conf_read(). */
int examples_load(const char *path, struct examples **ret, struct err *err);
int examples_parse(const char *text, size_t size, const char *name, struct examples **ret,
		   struct err *err);
struct examples *examples_free(struct examples *e);
DEFINE_CLEANUP(struct examples *, examples_free)

#define EXAMPLE_TEXT_MAX 192
/* One figure of an example, as published and as it is under the configuration. */
struct example_figure {
	const struct example *example;
	const char *what; /* "rate", "fairshare of bloggs.prj/abc123" */
	const char *published, *here;
	bool holds;
};
typedef void (*example_fn)(void *ctx, const struct example_figure *f);

/* Reports every figure of every example to fn. Returns how many do not hold; < 0: -ENOMEM. What
 * has no answer under the configuration (no such cluster) does not hold, and `here` says why.
 */
int examples_check(const struct config *c, const struct examples *e, example_fn fn, void *ctx,
		   struct err *err);
