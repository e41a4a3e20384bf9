/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fail_alloc - makes the n-th allocation fail: malloc(), calloc(), realloc() and strdup() of the program under test. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The allocation after `n` more fails, once. */
void fail_alloc_after(long n);
/* That one and all that follow it, until fail_alloc_end(). */
void fail_alloc_from(long n);
/* No more fails. Returns: has one failed? */
bool fail_alloc_end(void);

/* Calls `what` with the first allocation failing, then with the second alone, and so on, until none failed. Each call must return
 * -ENOMEM, the last one 0. Returns how many failed. What a failed call leaves, the leak sanitizer sees. */
int fail_alloc_each(int (*what)(void *ctx), void *ctx);
