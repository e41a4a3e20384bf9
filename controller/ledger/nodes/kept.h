/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept - the nodes of a cluster as store_bare_nodes() reads them, kept in memory until one of them changes: a submission asks whether any of
 * them could ever hold its job, and would read them all. */
#pragma once
#include <stddef.h>

struct err;
struct fit_node;
struct store;

/* Lent, until the next statement that writes. */
int store_kept_nodes(struct store *s, const char *cluster, const struct fit_node **ret,
		     size_t *ret_n, struct err *err);
/* A node has changed, or what was read may have been rolled back. */
void store_forget_nodes(struct store *s);
