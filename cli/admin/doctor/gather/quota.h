/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota - writes a file over a limit of its project, on the disk of the jobs. */
#pragma once
#include "cli/admin/doctor/judge/kernel.h"

/* Makes a directory below `dir`, gives it a project of its own and a limit, writes into it without the right to exceed limits, and removes
 * it. As root; ret->dir and is_none are the caller's. */
void gather_quota(struct judge_quota *ret);
