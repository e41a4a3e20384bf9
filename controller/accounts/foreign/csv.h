/* SPDX-License-Identifier: GPL-2.0-or-later */
/* csv - accounts as a table that a site keeps: a line an account, or a user in one.
 *
 * Columns, in any order; only `account` must be there (common/csv/csv.h says what a file is):
 *	account			the account; more lines of it add users
 *	parent, description, shares	of the account; where several lines say it, the same
 *	user			a user in the account; empty: the line is about the account
 *	user_shares		of the user in it; default 1
 *	coordinator, default_account	yes or no: is the user its coordinator, is it the user's
 *				default account?
 *	running_cores, running_gpus, running_memory, running_jobs, queued_jobs
 *				limits of the user in the account or, without a user, of the
 *				account with all below it
 */
#pragma once
#include "controller/accounts/foreign/draft.h"

/* d->file is the path; "-" is standard input. -EINVAL: FILE:LINE and the fault. */
int accounts_csv_read(struct accounts_draft *d, struct err *err);
