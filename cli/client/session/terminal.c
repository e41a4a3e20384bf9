/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal.c - raw mode, and its end on every way out; see terminal.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "cli/client/session/terminal.h"
#include "common/cleanup.h"
#include "common/err.h"

static struct termios saved;
static volatile sig_atomic_t is_raw;

/* Safe in a signal handler. */
void terminal_restore(void)
{
	if (!is_raw)
		return;
	is_raw = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
}

/* SA_RESETHAND: the signal then ends the program as it would have without this. */
static void on_fatal(int sig)
{
	terminal_restore();
	raise(sig);
}

static void watch_fatal(void)
{
	static const int numbers[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE,
				       SIGQUIT, SIGTERM, SIGINT, SIGHUP, SIGPIPE,
				       SIGALRM, SIGUSR1, SIGUSR2 };
	struct sigaction act = { .sa_handler = on_fatal,
				 .sa_flags = SA_RESETHAND | SA_NODEFER };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		struct sigaction now;

		/* What is ignored stays so (nohup). */
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(numbers[i], &act, NULL);
	}
}

int terminal_make_raw(struct err *err)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO))
		return 0;
	if (tcgetattr(STDIN_FILENO, &saved) < 0)
		return err_set(err, -errno, "read the mode of the terminal: %m");
	raw = saved;
	cfmakeraw(&raw);
	atexit(terminal_restore);
	watch_fatal();
	is_raw = 1;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return err_set(err, -errno, "set the mode of the terminal: %m");
	return 0;
}

bool terminal_size(int *ret_rows, int *ret_cols)
{
	struct winsize w;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) < 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0)
		return false;
	*ret_rows = w.ws_row;
	*ret_cols = w.ws_col;
	return true;
}

bool terminal_may_write(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}
