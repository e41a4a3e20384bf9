/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload_log.c - logs a reload; see reload_log.h. */
#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include "common/clock.h"
#include "common/conf/reload_log.h"
#include "common/log.h"

static int count_changes(const struct reload_log *l)
{
	return l->changes.tally.keys + l->changes.tally.sections;
}

static void log_change(void *ctx, const struct conf_change *c)
{
	char text[CONF_CHANGE_TEXT_MAX];

	if (count_changes(ctx) <= RELOAD_LOG_LINES)
		log_event(LOG_NOTICE, "reload", "%s", conf_change_format(c, text));
}

/* MONOTONIC_USEC: for units of Type=notify-reload, which a site may set where systemd knows it (253). */
void reload_log_begin(struct reload_log *l)
{
	char text[80];

	*l = (struct reload_log){ .changes = { .tell = log_change, .ctx = l } };
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		 clock_ns(CLOCK_MONOTONIC) / 1000);
	sd_notify(0, text);
}

void reload_log_refusal(struct reload_log *l, const char *text)
{
	if (l->n_faults++ < RELOAD_LOG_LINES)
		log_event(LOG_ERR, "reload", "%s", text);
}

void reload_log_fault(void *ctx, const struct conf_fault *fault)
{
	reload_log_refusal(ctx, fault->text);
}

void reload_log_end(struct reload_log *l)
{
	int unlisted = count_changes(l) - RELOAD_LOG_LINES;
	char text[CONF_TALLY_TEXT_MAX];

	if (unlisted > 0)
		log_event(LOG_NOTICE, "reload", "%d more changes are not listed", unlisted);
	if (l->n_faults)
		log_event(
			LOG_ERR, "reload",
			"configuration not reloaded: %d mistake%s; all that is in force stays",
			l->n_faults, l->n_faults == 1 ? "" : "s");
	else
		log_event(LOG_NOTICE, "reload", "configuration reloaded: %s",
			  conf_tally_format(&l->changes.tally, text));
	sd_notify(0, "READY=1");
}
