/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_rows - nodes as rows of a list: what there is against what is in use. Pure. */
#pragma once
#include "cli/top/views/view.h"

extern const struct table_column top_nodes_table[];
void top_nodes_rows(const struct top_docs *docs, struct table *t);
/* The node of that name in the document; NULL: none. */
const json_t *top_nodes_find(const struct top_docs *docs, const char *name);
/* "drained by root: disk", else the notes of the node; NULL: there are none. */
const char *top_nodes_note(const json_t *node, char *buf, size_t size);
