/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal.c - opens the terminal, draws lines and reads keys by ncurses; see terminal.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "cli/top/curses.h"
#include "cli/top/terminal.h"
#include "common/err.h"

#define ESCAPE_MS                                                                              \
	50 /* Esc alone is known after this; the rest of an arrow key comes sooner, by ssh too */

static struct {
	SCREEN *screen;
	WINDOW *window;
	bool has_color;
} terminal;

enum { PAIR_GOOD = 1, PAIR_WARN, PAIR_BAD };

int top_terminal_check(struct err *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(
			err, -EINVAL,
			"the live screen needs a terminal as input and output; --once prints "
			"one page to a pipe or file");
	if (!term || !*term || !strcmp(term, "dumb"))
		return err_set(
			err, -EINVAL,
			"TERM is %s: the live screen needs a terminal that can move its cursor; "
			"--once prints one page",
			term && *term ? term : "not set");
	return 0;
}

static void start_colors(bool has_color)
{
	terminal.has_color = has_color && curses.has_colors();
	if (!terminal.has_color)
		return;
	curses.start_color();
	curses.use_default_colors();
	curses.init_pair(PAIR_GOOD, COLOR_GREEN, -1);
	curses.init_pair(PAIR_WARN, COLOR_YELLOW, -1);
	curses.init_pair(PAIR_BAD, COLOR_RED, -1);
}

int top_terminal_open(bool has_color, struct err *err)
{
	int r = top_terminal_check(err);

	if (r == 0)
		r = curses_load(err);
	if (r < 0)
		return r;
	terminal.screen = curses.newterm(NULL, stdout, stdin);
	if (!terminal.screen)
		return err_set(
			err, -EINVAL,
			"TERM is %.40s, which this machine does not know; --once prints one page",
			getenv("TERM"));
	terminal.window = curses.newwin(0, 0, 0, 0);
	atexit(top_terminal_close);
	curses.cbreak();
	curses.noecho();
	curses.nonl();
	curses.set_escdelay(ESCAPE_MS);
	curses.keypad(terminal.window, true);
	curses.nodelay(terminal.window, true);
	curses.curs_set(0);
	start_colors(has_color);
	return 0;
}

void top_terminal_close(void)
{
	if (!terminal.screen)
		return;
	curses.curs_set(1);
	curses.endwin();
	curses.delwin(terminal.window);
	curses.delscreen(terminal.screen);
	terminal.screen = NULL;
	terminal.window = NULL;
}

struct top_size top_terminal_size(void)
{
	struct winsize w = { .ws_row = 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_row || !w.ws_col)
		return (struct top_size){ 80, 24 };
	return (struct top_size){ w.ws_col, w.ws_row };
}

void top_terminal_resize(void)
{
	struct top_size size = top_terminal_size();

	curses.resizeterm(size.height, size.width);
	curses.wresize(terminal.window, size.height, size.width);
	curses.clearok(terminal.window, true);
}

static attr_t attributes_of(enum top_tone tone)
{
	static const struct {
		attr_t attributes;
		int pair;
	} tones[_TOP_TONE_MAX] = {
		[TOP_GOOD] = { A_NORMAL, PAIR_GOOD }, [TOP_WARN] = { A_BOLD, PAIR_WARN },
		[TOP_BAD] = { A_BOLD, PAIR_BAD },     [TOP_DIM] = { A_DIM, 0 },
		[TOP_BOLD] = { A_BOLD, 0 },	      [TOP_HEAD] = { A_BOLD | A_UNDERLINE, 0 },
		[TOP_SELECTED] = { A_REVERSE, 0 },
	};

	return tones[tone].attributes |
	       (terminal.has_color ? curses.COLOR_PAIR(tones[tone].pair) : 0);
}

static void draw_line(const struct top_line *line, int width)
{
	const char *at = line->text;

	for (size_t i = 0; i < line->n_runs; i++) {
		curses.wattrset(terminal.window, (int)attributes_of(line->runs[i].tone));
		curses.waddnstr(terminal.window, at, (int)line->runs[i].size);
		at += line->runs[i].size;
	}
	curses.wattrset(terminal.window, A_NORMAL);
	/* After a full line the cursor stands on the next one, or on its last column. */
	if (line->width < width)
		curses.wclrtoeol(terminal.window);
}

void top_terminal_draw(const struct top_screen *s)
{
	struct top_size size = top_terminal_size();

	for (int i = 0; i < s->n && i < size.height; i++) {
		curses.wmove(terminal.window, i, 0);
		draw_line(&s->lines[i], size.width);
	}
	if (s->n < size.height) {
		curses.wmove(terminal.window, s->n, 0);
		curses.wclrtobot(terminal.window);
	}
	curses.wnoutrefresh(terminal.window);
	curses.doupdate();
}

static int map_key(int key)
{
	static const struct {
		int from, to;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },
		{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ '\r', TOP_KEY_ENTER },
		{ '\n', TOP_KEY_ENTER },
		{ 033, TOP_KEY_ESCAPE },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ 0x7f, TOP_KEY_BACKSPACE },
		{ '\b', TOP_KEY_BACKSPACE },
		{ '\t', TOP_KEY_TAB },
		{ KEY_BTAB, TOP_KEY_BACK_TAB },
		{ KEY_F(1), TOP_KEY_HELP },
		{ KEY_F(10), TOP_KEY_QUIT },
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return key < 0x100 ? key : TOP_KEY_REDRAW;
}

int top_terminal_read(void)
{
	int key = curses.wgetch(terminal.window);

	if (key == ERR)
		return -1;
	if (key == 'L' - '@')
		curses.clearok(terminal.window, true);
	return key == 'L' - '@' ? TOP_KEY_REDRAW : map_key(key);
}

void top_terminal_stop(void)
{
	curses.endwin();
	raise(SIGSTOP);
	/* The shell has brought us back, perhaps in a window of another size. */
	top_terminal_resize();
}
