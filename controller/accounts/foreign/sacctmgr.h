/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr - reads and writes accounts in the form of Slurm's `sacctmgr dump CLUSTER`.
 *
 * A line is KIND - 'NAME':Option=value:Option='value', where KIND is Cluster, Parent, Account,
 * User (or QOS); accounts and users belong to the last Parent line. `#` outside quotes begins
 * a comment, `\` keeps the next character, and at the end of a line continues it. A quoted
 * value ends at the quote before a colon or the end of the line, since a dump does not escape
 * the quotes in its texts. Source: sacctmgr(1) "FLAT FILE DUMP AND LOAD", src/sacctmgr of
 * Slurm.
 *
 * What options become:
 *	Fairshare		Shares, of an account or of a user in it
 *	GrpTRES=cpu, gres/gpu, mem	MaxRunningCores, -Gpus, -Memory (Slurm's M are MiB)
 *	GrpJobs			MaxRunningJobs
 *	GrpSubmitJobs, MaxSubmitJobs	MaxQueuedJobs; Slurm counts running jobs too: noted
 *	MaxJobs			of users, MaxRunningJobs; of accounts and the cluster, that of
 *				each user below them without a MaxJobs (as Slurm inherits it)
 *	Coordinator, DefaultAccount	Coordinators of those accounts, the user's DefaultAccount
 *	QOS, DefaultQOS		Qos, DefaultQos of the account; what the cluster states holds for
 *				each account at the top without its own; "+a,-b" changes the list
 *				of the account above. Of a user: noted where it differs from the
 *				account's
 * All other options of Slurm are noted with the reason; an unknown option is an error.
 */
#pragma once
#include "controller/accounts/foreign/draft.h"

/* *d is empty but for `file`. -EINVAL: FILE:LINE and the fault. */
int accounts_sacctmgr_parse(struct accounts_draft *d, const char *text, size_t size,
			    struct err *err);

/* A dump that `sacctmgr load` reads, for the cluster of that name. What it cannot say stands in
 * comments at its head, with counts. *ret is malloc()ed. */
int accounts_sacctmgr_write(const struct accounts *a, const char *cluster, char **ret,
			    struct err *err);
