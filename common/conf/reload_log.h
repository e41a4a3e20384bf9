/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload_log - what a daemon tells systemd and the log while it reads its configuration again: a line for
 * each change, or for each mistake, and one with their number, all with the event "reload".
 */
#pragma once
#include "common/conf/change.h"

#define RELOAD_LOG_LINES 500 /* a reload; with another profile each node and queue may be new */

struct reload_log {
	struct conf_changes changes; /* for conf_compare() */
	int n_faults;
};

/* Tells systemd (RELOADING=1). */
void reload_log_begin(struct reload_log *l);
/* conf_reader.fault, config_faults.tell: ctx is the reload_log. */
void reload_log_fault(void *ctx, const struct conf_fault *fault);
/* The same of a mistake in words that name key and remedy. */
void reload_log_refusal(struct reload_log *l, const char *text);
/* The last line, and READY=1. */
void reload_log_end(struct reload_log *l);
