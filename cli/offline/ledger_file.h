/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger_file - opens the ledger that `--ledger FILE` names, without a controller. */
#pragma once
#include "controller/ledger/store.h"

struct err;

/* Before a ledger is opened: root becomes the owner of the directory of another user's ledger (common/owner/owner.h), so the caller opens before
 * what root alone may read. `beside` (may be NULL): a directory or file that is written too, which that
 * owner must be able to write. -EACCES: it is not. */
int ledger_file_own(const char *path, const char *beside, struct err *err);
/* Opens the file; LEDGER_FILE_OR_NEW creates it where it does not exist. An older ledger is
 * migrated. Root becomes its owner. -ENOENT: no such file; -EINVAL: `path` (the value of --ledger) is NULL. */
enum ledger_file_want { LEDGER_FILE_THERE, LEDGER_FILE_OR_NEW };
int ledger_file_open(const char *path, enum ledger_file_want want, struct store **ret,
		     struct err *err);
/* Opens or creates a ledger that counts days in `zone` (NULL: the ledger's own, or UTC). -EEXIST:
 * it counts days in another zone. */
int ledger_file_open_zone(const char *path, const char *zone, struct store **ret,
			  struct err *err);
