/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine.c - parses --nodes and --cores; see machine.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include "cli/simulate/machine.h"
#include "common/err.h"
#include "controller/history/history.h"

/* Parses a whole number from 1 to HISTORY_CORES_MAX. */
static bool read_count(const char *text, size_t size, int64_t *ret)
{
	return history_parse_int(text, size, ret) == 0 && !memchr(text, '.', size) &&
	       *ret >= 1 && *ret <= HISTORY_CORES_MAX;
}

static bool read_kind(const char *text, size_t size, struct machine_kind *ret)
{
	const char *x = memchr(text, 'x', size);
	size_t n = x ? (size_t)(x - text) : 0;

	return x && read_count(text, n, &ret->nodes) &&
	       read_count(x + 1, size - n - 1, &ret->cores);
}

/* The widest job: chunks as large as the smallest node, on each node as many as fit, and one smaller
 * chunk in what is left of a node. Nodes of 3 and 2 cores: chunks of 2, and 1 left. */
static int64_t largest_job(const struct machine *m)
{
	int64_t whole = m->kinds[0].cores, left = 0, n = 0;

	for (size_t i = 1; i < m->n_kinds; i++)
		if (m->kinds[i].cores < whole)
			whole = m->kinds[i].cores;
	for (size_t i = 0; i < m->n_kinds; i++) {
		n += m->kinds[i].nodes * (m->kinds[i].cores / whole);
		if (m->kinds[i].cores % whole > left)
			left = m->kinds[i].cores % whole;
	}
	return n * whole + left;
}

int machine_parse_nodes(const char *text, struct machine *ret, struct err *err)
{
	struct machine m = { 0 };

	for (const char *p = text;; p++) {
		size_t size = strcspn(p, ",");
		struct machine_kind k;

		if (m.n_kinds == MACHINE_KINDS_MAX)
			return err_set(err, -EINVAL, "--nodes: at most %d kinds of nodes",
				       MACHINE_KINDS_MAX);
		if (!read_kind(p, size, &k))
			return err_set(err, -EINVAL,
				       "--nodes %.80s: write NODESxCORES, such as 100x48 or "
				       "100x48,20x96",
				       text);
		m.kinds[m.n_kinds++] = k;
		m.cores += k.nodes * k.cores;
		if (m.cores > HISTORY_CORES_MAX)
			return err_set(err, -EINVAL, "--nodes %.80s: more than %lld cores",
				       text, HISTORY_CORES_MAX);
		p += size;
		if (!*p)
			break;
	}
	m.largest = largest_job(&m);
	*ret = m;
	return 0;
}

int machine_parse_cores(const char *text, struct machine *ret, struct err *err)
{
	struct machine m = { 0 };

	if (!read_count(text, strlen(text), &m.cores))
		return err_set(err, -EINVAL,
			       "--cores %.32s: write a whole number from 1 to %lld", text,
			       HISTORY_CORES_MAX);
	m.largest = m.cores;
	*ret = m;
	return 0;
}
