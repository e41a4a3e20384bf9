/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended_file.h - the list of ended.h in a file below /run, so that it outlives the agent, and not the boot: its times are of CLOCK_BOOTTIME. */
#pragma once
#include "agent/slurm/ended.h"

struct err;

/* Replaces the file. */
int ended_file_write(const char *path, const struct ended_job *list, struct err *err);
/* Fills an empty list with what is not too old. -ENOENT: there is no file. -EBADMSG: it is not as this agent writes it; the list stays empty. */
int ended_file_read(const char *path, struct ended_job **list, int64_t now_ns, struct err *err);
