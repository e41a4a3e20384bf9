/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live - `reeve top` on a terminal: one event loop for keys, refreshes, signals and answers. */
#pragma once
#include "cli/cli.h"
#include "cli/top/fetch.h"
#include "cli/top/ui.h"

/* Requests the documents of `ask` and waits for them. Errors as cli_get(). */
int top_live_fetch(struct cli *c, const struct top_ask *ask, struct top_docs *docs,
		   struct err *err);
/* Shows *ui, beginning with these documents, until the user leaves. The terminal is as before then, also after an
 * error. c->exit_code is 128 + N after signal N. */
int top_live_run(struct cli *c, struct top_ui *ui, struct top_docs *docs, struct err *err);
