/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_storage - `reeve usage --storage`: what accounts occupy on file systems, and when that was read. */
#pragma once
#include "cli/cli.h"

/* -EINVAL: another option than --account stands beside --storage. */
int usage_storage_run(struct cli *c, const struct verb_call *call, struct err *err);
