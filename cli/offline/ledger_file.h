/* ledger_file - what `--ledger FILE` opens: a ledger with no controller running. */
#pragma once
#include "controller/ledger/store.h"

struct err;

/* Opens the file, made when a new one is fine. -ENOENT: there is none; -EINVAL: `path` is NULL,
 * which the caller's option gave. An older ledger is brought up to date. */
enum ledger_file_want { LEDGER_FILE_THERE, LEDGER_FILE_OR_NEW };
int ledger_file_open(const char *path, enum ledger_file_want want, struct store **ret,
		     struct err *err);
/* The same, made when new, and in days of `zone` (NULL: the ledger's own, or UTC). -EEXIST: its
 * days are another zone's. */
int ledger_file_open_zone(const char *path, const char *zone, struct store **ret,
			  struct err *err);
