/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_level.h - LogLevel= of agent.conf and controller.conf: syslog's names of priorities. */
#pragma once

/* LOG_ERR + the level is the priority of syslog.h. */
enum log_level {
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* By enum log_level; then NULL. */
static const char *const log_level_words[]
	__attribute__((unused)) = { "err", "warning", "notice", "info", "debug", NULL };
