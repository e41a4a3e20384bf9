/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload - SIGHUP: controller.conf and its profiles are read and checked again as a whole, and what may
 * change while the controller runs is applied.
 */
#pragma once

struct api;
struct config;
struct maintenance;
struct reload_log;

struct reload {
	const char *path;      /* of controller.conf */
	struct config *config; /* in force; it stays where it is */
	struct api *api;       /* NULL, and maintenance too: the controller stands by */
	struct maintenance *maintenance;
};

/* Logs what changed, or each mistake: then nothing has changed. Between reload_log_begin() and
 * reload_log_end(). */
void reload_config(const struct reload *r, struct reload_log *log);
