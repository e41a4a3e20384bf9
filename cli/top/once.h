/* SPDX-License-Identifier: GPL-2.0-or-later */
/* once - a view printed once: as lines of text for people and pipes, as JSON or rows for programs. */
#pragma once
#include "cli/top/ui.h"

struct err;
struct table_format;

/* The view as a document: {"view", "title", "fetched_ns", "meters": [{name, used, peak, requested, unit}], "lines": [...],
 * "list", "rows": [{...}]}; what was not measured is absent. NULL: no memory. */
json_t *top_once_document(const struct top_view *v, const struct top_docs *docs,
			  enum top_subject subject);
/* A view that was arranged (ui.h). */
int top_once_print(const struct top_view *v, struct top_ui *ui, const struct top_docs *docs,
		   const struct table_format *f, struct err *err);
