/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curses - ncurses, loaded when a screen is opened: no other command pays for it.
 *
 * curses.endwin() is endwin(), and so on. Only functions are used, no macros and none of its variables (stdscr, LINES),
 * which a library that is loaded late has elsewhere than the linker would look.
 */
#pragma once
#define NCURSES_NOMACROS 1
#define NCURSES_ENABLE_STDBOOL_H 1
#include <curses.h>

struct err;

#define CURSES_FUNCTIONS(X)                                                                    \
	X(newterm)                                                                             \
	X(delscreen)                                                                           \
	X(endwin)                                                                              \
	X(newwin)                                                                              \
	X(delwin)                                                                              \
	X(cbreak)                                                                              \
	X(noecho)                                                                              \
	X(nonl)                                                                                \
	X(keypad)                                                                              \
	X(nodelay)                                                                             \
	X(set_escdelay)                                                                        \
	X(curs_set)                                                                            \
	X(has_colors)                                                                          \
	X(start_color)                                                                         \
	X(use_default_colors)                                                                  \
	X(COLOR_PAIR)                                                                          \
	X(init_pair)                                                                           \
	X(resizeterm)                                                                          \
	X(wresize)                                                                             \
	X(clearok)                                                                             \
	X(wgetch)                                                                              \
	X(wmove)                                                                               \
	X(wattrset)                                                                            \
	X(waddnstr)                                                                            \
	X(wclrtoeol)                                                                           \
	X(wclrtobot)                                                                           \
	X(wnoutrefresh)                                                                        \
	X(doupdate)

struct curses {
#define CURSES_MEMBER(name) __typeof__(name) *name;
	CURSES_FUNCTIONS(CURSES_MEMBER)
#undef CURSES_MEMBER
};
extern struct curses curses; /* after curses_load() */

/* -ENOENT: there is no ncurses here; the message says what to do without it. */
int curses_load(struct err *err);
