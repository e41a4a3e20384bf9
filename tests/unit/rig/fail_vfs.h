/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fail_vfs - SQLite's file layer that fails its n-th change of a file: write, sync, truncate.
 * Registered as the default, so the code under test knows nothing of it. */
#pragma once

void fail_vfs_install(void);
/* The n-th change from now fails with "disk full" (odd n) or an I/O error, and all after it,
 * until fail_vfs_off(). */
void fail_vfs_at(int n);
/* Returns whether anything was made to fail. */
int fail_vfs_off(void);
