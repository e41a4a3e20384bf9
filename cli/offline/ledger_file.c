/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger_file.c - opens the file of --ledger; see ledger_file.h. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "controller/postgres/pg.h"

static void print_progress(const char *line)
{
	fprintf(stderr, "reeve: %s\n", line);
}

int ledger_file_open(const char *path, enum ledger_file_want want, struct store **ret,
		     struct err *err)
{
	if (!path)
		return err_set(err, -EINVAL, "no ledger; give --ledger FILE");
	if (want == LEDGER_FILE_THERE && !pg_is_place(path) && access(path, F_OK) < 0)
		return err_set(err, -ENOENT, "cannot open the ledger %.200s: %m", path);
	store_on_progress(print_progress);
	return store_open(path, ret, err);
}

int ledger_file_open_zone(const char *path, const char *zone, struct store **ret,
			  struct err *err)
{
	if (!path)
		return err_set(err, -EINVAL, "no ledger; give --ledger FILE");
	store_on_progress(print_progress);
	return store_open_zone(path, zone, ret, err);
}
