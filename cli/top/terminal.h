/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal - the screen of `reeve top`: draws lines and reads keys by ncurses. */
#pragma once
#include "cli/top/draw/layout.h"

struct err;

/* -EINVAL: standard input or output is no terminal, or TERM names none that can move its cursor. */
int top_terminal_check(struct err *err);
/* Opens the terminal on standard input and output; one at a time. -EINVAL: as above, or this machine does not know
 * TERM. -ENOENT: no ncurses. */
int top_terminal_open(bool has_color, struct err *err);
/* Gives the terminal back as it was found; may be called again, or without an open one. */
void top_terminal_close(void);

struct top_size top_terminal_size(void);
/* Reads the new size of the terminal after SIGWINCH, and draws everything again next time. */
void top_terminal_resize(void);
void top_terminal_draw(const struct top_screen *s);
/* The next key that was typed (ui.h); -1: none yet. Never waits. */
int top_terminal_read(void);
/* Gives the terminal to the shell until the user comes back (SIGTSTP), then takes it again. */
void top_terminal_stop(void);
