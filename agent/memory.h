/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory.h - returns the memory that the agent needed only to start: jobs need it more. */
#pragma once
#include <stdint.h>

/* Returns free heap, and the pages of programs and libraries of which this process has no copy of its
 * own: those in use come back from the page cache at the next touch, the rest (start-up code,
 * relocations, what the kernel mapped around a fault) does not. Never fails; at worst it returns
 * nothing. */
void memory_give_back(void);

/* Resident bytes of programs, libraries and other files; 0: they cannot be read. */
int64_t memory_files(void);
