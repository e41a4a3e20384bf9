/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal.c - a user at a terminal, for tests: `terminal ROWS COLS COMMAND...` runs the command in a pseudo-terminal and does
 * what standard input says, a line each:
 *	send TEXT	types it (\r \n \xHH \\ as in C)
 *	expect TEXT	waits until it is shown, beyond what the last `expect` found; 60 s at most
 *	size R C	the window changes
 *	paste FILE	types a file
 *	keys N		types N letters one by one, each when the last one was echoed; prints the median and the worst in us
 *	signal N	sends a signal to the command
 *	exit		waits for the command; prints "exit STATUS", or "signal N", and the mode of the terminal: "raw" or "cooked"
 * Ends with 1 and prints what was shown where something did not come. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SHOWN_MAX (16 << 20)
#define PATIENCE_MS 60000

static char shown[SHOWN_MAX + 1];
static size_t n_shown, found;
static int master, slave;

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* False: nothing came within the time. */
static int read_some(int ms)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, ms) <= 0 || n_shown == SHOWN_MAX)
		return 0;
	n = read(master, shown + n_shown, SHOWN_MAX - n_shown);
	if (n <= 0)
		return 0;
	n_shown += (size_t)n;
	shown[n_shown] = '\0';
	return 1;
}

static void type_text(const char *text, size_t n)
{
	while (n) {
		ssize_t k;

		while (read_some(0))
			;
		k = write(master, text, n > 512 ? 512 : n);
		if (k < 0 && errno == EAGAIN)
			continue;
		if (k < 0)
			exit(2);
		text += k;
		n -= (size_t)k;
	}
}

static size_t unescape(char *s)
{
	char *to = s, *from = s;

	while (*from) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		from++;
		if (*from == 'x') {
			char hex[3] = { from[1], from[2], 0 };

			*to++ = (char)strtol(hex, NULL, 16);
			from += 3;
		} else {
			*to++ = *from == 'r' ? '\r' : *from == 'n' ? '\n' : *from;
			from++;
		}
	}
	*to = '\0';
	return (size_t)(to - s);
}

static int expect_text(const char *text, size_t n)
{
	long long until = now_us() + PATIENCE_MS * 1000LL;

	for (;;) {
		char *at = memmem(shown + found, n_shown - found, text, n);

		if (at) {
			found = (size_t)(at - shown) + n;
			return 1;
		}
		if (now_us() > until)
			return 0;
		read_some(100);
	}
}

static int compare_times(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

static int measure_keys(int n)
{
	static long long took[10000];

	for (int i = 0; i < n && i < 10000; i++) {
		char key = (char)('a' + i % 26);

		found = n_shown;
		took[i] = now_us();
		type_text(&key, 1);
		if (!expect_text(&key, 1))
			return 0;
		took[i] = now_us() - took[i];
	}
	qsort(took, (size_t)n, sizeof(*took), compare_times);
	printf("keys %d median %lld worst %lld us\n", n, took[n / 2], took[n - 1]);
	return 1;
}

static void paste_file(const char *path)
{
	static char buf[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		type_text(buf, (size_t)n);
	close(fd);
}

static void wait_end(pid_t pid)
{
	struct termios mode;
	int status = 0;
	pid_t r;

	while ((r = waitpid(pid, &status, WNOHANG)) == 0)
		read_some(50);
	while (read_some(100))
		;
	tcgetattr(slave, &mode);
	if (r != pid)
		printf("lost ");
	else if (WIFSIGNALED(status))
		printf("signal %d ", WTERMSIG(status));
	else
		printf("exit %d ", WEXITSTATUS(status));
	puts(mode.c_lflag & ICANON ? "cooked" : "raw");
}

static int obey_line(char *line, pid_t pid)
{
	char *arg = strchr(line, ' ');
	struct winsize w = { 0 };

	line[strcspn(line, "\n")] = '\0';
	if (arg)
		*arg++ = '\0';
	if (!strcmp(line, "send")) {
		type_text(arg, unescape(arg));
	} else if (!strcmp(line, "expect")) {
		return expect_text(arg, unescape(arg));
	} else if (!strcmp(line, "size")) {
		w.ws_row = (unsigned short)strtol(arg, &arg, 10);
		w.ws_col = (unsigned short)strtol(arg, NULL, 10);
		ioctl(master, TIOCSWINSZ, &w);
		kill(pid, SIGWINCH);
	} else if (!strcmp(line, "paste")) {
		paste_file(arg);
	} else if (!strcmp(line, "keys")) {
		return measure_keys(atoi(arg));
	} else if (!strcmp(line, "signal")) {
		kill(pid, atoi(arg));
	} else if (!strcmp(line, "sleep")) {
		long long until = now_us() + atoi(arg) * 1000LL;

		while (now_us() < until)
			read_some(50);
	} else if (!strcmp(line, "exit")) {
		wait_end(pid);
	} else if (*line) {
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct winsize w = { 0 };
	char line[65536];
	pid_t pid;

	if (argc < 4)
		return 2;
	w.ws_row = (unsigned short)atoi(argv[1]);
	w.ws_col = (unsigned short)atoi(argv[2]);
	if (openpty(&master, &slave, NULL, NULL, &w) < 0)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid = fork();
	if (pid == 0) {
		close(master);
		setsid();
		ioctl(slave, TIOCSCTTY, 0);
		for (int fd = 0; fd < 3; fd++)
			dup2(slave, fd);
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	fcntl(master, F_SETFL, O_NONBLOCK);
	while (fgets(line, sizeof(line), stdin)) {
		char copy[200];

		snprintf(copy, sizeof(copy), "%.190s", line);
		if (!obey_line(line, pid)) {
			size_t from = n_shown > 4000 ? n_shown - 4000 : 0;

			printf("did not come: %s# shown:\n%s\n", copy, shown + from);
			kill(pid, SIGKILL);
			return 1;
		}
	}
	return 0;
}
