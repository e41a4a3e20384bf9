/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access - which users may run processes outside jobs: linger files, user managers, sshd's configuration, cron and at.
 *
 * `root` is a prefix of every path: "" reads this machine, a directory reads the files of a machine below it. */
#pragma once
#include "cli/admin/doctor/judge/access.h"

/* `exempt`: the group whose members pam_reeve passes; "": none. Users below `min_uid` are the system's. */
struct gather_users {
	const char *root, *exempt;
	int64_t min_uid;
};
void gather_users(const struct gather_users *how, struct judge_users *ret);
/* Asks polkit, as a user without privileges, whether that user may linger. Root's. */
void gather_polkit(const char *root, struct judge_polkit *ret);
void gather_sshd(const char *root, struct judge_sshd *ret);
/* Sets is_installed and has_allow; `programs` ends with NULL. */
void gather_later(const char *root, const char *const *programs, struct judge_later *ret);
