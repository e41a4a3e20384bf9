/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger_file.c - opens the file of --ledger; see ledger_file.h. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "common/owner/owner.h"
#include "controller/postgres/pg.h"

static void print_progress(const char *line)
{
	fprintf(stderr, "reeve: %s\n", line);
}

int ledger_file_own(const char *path, const char *beside, struct err *err)
{
	uid_t was = geteuid();
	int r = pg_is_place(path) ? 0 : owner_become(path, err);

	if (r >= 0 && beside)
		r = owner_become(beside, err);
	if (r < 0 || !beside || geteuid() == was)
		return r;
	if (access(beside, W_OK) < 0 && errno == EACCES)
		return err_set(
			err, -EACCES,
			"root works on another user's ledger as that user: uid %u cannot "
			"write %.200s: give it to that user, or another directory",
			(unsigned)geteuid(), beside);
	if (!pg_is_place(path) && access(path, R_OK) < 0 && errno == EACCES)
		return err_set(
			err, -EACCES,
			"root writes into another user's directory as that user: uid %u, "
			"the owner of %.200s, cannot read %.200s: give another directory",
			(unsigned)geteuid(), beside, path);
	return 0;
}

int ledger_file_open(const char *path, enum ledger_file_want want, struct store **ret,
		     struct err *err)
{
	int r;

	if (!path)
		return err_set(err, -EINVAL, "no ledger; give --ledger FILE");
	r = ledger_file_own(path, NULL, err);
	if (r < 0)
		return r;
	if (want == LEDGER_FILE_THERE && !pg_is_place(path) && access(path, F_OK) < 0)
		return err_set(err, -ENOENT, "cannot open the ledger %.200s: %m", path);
	store_on_progress(print_progress);
	return store_open(path, ret, err);
}

int ledger_file_open_zone(const char *path, const char *zone, struct store **ret,
			  struct err *err)
{
	int r;

	if (!path)
		return err_set(err, -EINVAL, "no ledger; give --ledger FILE");
	r = ledger_file_own(path, NULL, err);
	if (r < 0)
		return r;
	store_on_progress(print_progress);
	return store_open_zone(path, zone, ret, err);
}
