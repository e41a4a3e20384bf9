/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal.h - the user's own terminal in raw mode, and back on every way out of the program.
 */
#pragma once
#include <stdbool.h>

struct err;

/* Standard input becomes raw: each key is passed on as it is. The old mode comes back at exit(), on signals that would end
 * the program, and by terminal_restore(). No effect where standard input is no terminal. */
int terminal_make_raw(struct err *err);
void terminal_restore(void);
/* Of standard input, or else output. False: neither is a terminal. */
bool terminal_size(int *ret_rows, int *ret_cols);
/* The descriptor takes some bytes without blocking. */
bool terminal_may_write(int fd);
