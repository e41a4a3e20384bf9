/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The console of an interactive step (agent/launch/step/console.h), with a real terminal. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/launch/step/console.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/console/console.h"
#include "common/packets/packets.h"

#define PATIENCE_S 20

static char dir[64];
static struct step_spec spec;

static int make_spec(void **unused)
{
	(void)unused;
	snprintf(dir, sizeof(dir), "/tmp/reeve-console.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	spec = (struct step_spec){
		.uid = getuid(), .gid = getgid(), .console = STEP_CONSOLE_PTY, .keeps = true
	};
	snprintf(spec.socket, sizeof(spec.socket), "%s/socket", dir);
	return 0;
}

static int remove_spec(void **unused)
{
	(void)unused;
	return unlink(spec.socket) | rmdir(dir);
}

/* As an agent passes on that the user's terminal is gone. */
static void detach_user(struct step_console *c)
{
	const struct console_input m = { .serial = 1, .is_lost = true };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint8_t buf[CONSOLE_HEAD_MAX];
	struct iovec piece = { buf, console_encode_input(&m, buf) };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, spec.socket);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(packets_send(fd, &piece, 1, 1000), 0);
	for (int i = 0; i < 100 && step_console_is_attached(c); i++)
		step_console_run(c, -1, 10);
	assert_false(step_console_is_attached(c));
	close(fd);
}

/* Writers that are always faster than the waiter reads: whenever it reads there are bytes. */
static int feed_fd = -1;

ssize_t read(int fd, void *buf, size_t size)
{
	static ssize_t (*real_read)(int fd, void *buf, size_t size);
	static const char text[4096];

	if (!real_read)
		real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	if (feed_fd >= 0 && write(feed_fd, text, sizeof(text)) < 0)
		feed_fd = -1;
	return real_read(fd, buf, size);
}

static void feed_terminal(const struct step_console_ends *ends)
{
	struct termios raw;

	assert_int_equal(tcgetattr(ends->out, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(ends->out, TCSANOW, &raw), 0);
	feed_fd = ends->out;
}

static void the_end_of_a_step_does_not_wait_for_who_writes_to_its_terminal(void **unused)
{
	struct step_console_ends ends;
	struct step_console *c;
	struct err err;

	(void)unused;
	assert_int_equal(step_console_open(&spec, &c, &ends, &err), 0);
	detach_user(c);
	feed_terminal(&ends);
	assert_int_equal(step_console_run(c, -1, 50), 0);
	alarm(PATIENCE_S);
	step_console_end(c);
	alarm(0);
	assert_int_equal(step_console_run(c, -1, 10), 0);
	feed_fd = -1;
	step_console_close(c);
	close(ends.in);
	close(ends.out);
	close(ends.err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_end_of_a_step_does_not_wait_for_who_writes_to_its_terminal,
			make_spec, remove_spec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
