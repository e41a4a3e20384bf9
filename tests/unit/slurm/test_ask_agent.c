/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ask_agent - what the plugin does while the agent is stopped, started, killed or restarted. The agent is a child that takes a
 * connection for each letter of a text: 'a' answers, 'c' ends without an answer, 'v' answers as one of another version.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/clock.h"
#include "common/wire/agent_service.h"
#include "slurm/ask_agent.h"

#define PATIENCE_S 3
#define LATE_MS 500

static char dir[] = "/tmp/test_ask_agent.XXXXXX", sock[64], service[64];
static const struct slurm_question question = { .version = SLURM_HANDSHAKE_VERSION,
						.kind = SLURM_STEP,
						.job = 4711 };

static int listen_here(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, sock);
	unlink(sock);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 8) < 0)
		return -1;
	return fd;
}

/* Exit status of the child: 0, where each question was the one of above. */
static int serve_script(int fd, const char *script)
{
	struct slurm_answer a = { .kind = SLURM_GO, .tmpdir = "/jobfs/4711" };
	struct slurm_question q;
	int bad = 0;

	for (; *script; script++) {
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		bad += recv(peer, &q, sizeof(q), 0) != (ssize_t)sizeof(q) ||
		       memcmp(&q, &question, sizeof(q));
		a.version =
			*script == 'v' ? SLURM_HANDSHAKE_VERSION + 1 : SLURM_HANDSHAKE_VERSION;
		if (*script != 'c')
			bad += send(peer, &a, sizeof(a), MSG_NOSIGNAL) != (ssize_t)sizeof(a);
		close(peer);
	}
	return bad;
}

/* It listens at once, or LATE_MS from now. */
static pid_t start_agent(const char *script, int late_ms)
{
	int fd = late_ms ? -1 : listen_here();
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20);
		usleep((useconds_t)late_ms * 1000);
		_exit(serve_script(late_ms ? listen_here() : fd, script));
	}
	if (fd >= 0)
		close(fd);
	return pid;
}

static void end_agent(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unlink(sock);
}

static int ask_here(struct slurm_answer *ret, struct err *err)
{
	return ask_agent(sock, &question, PATIENCE_S, ret, err);
}

static void a_stopped_agent_is_not_waited_for(void **state)
{
	int64_t from = monotonic_ms();
	struct slurm_answer a;
	struct err err;

	(void)state;
	assert_int_equal(ask_here(&a, &err), -ENOENT);
	assert_true(monotonic_ms() - from < PATIENCE_S * 1000);
	assert_non_null(strstr(err.text, "systemctl status reeve-agent"));
}

static void one_that_is_restarted_is(void **state)
{
	struct slurm_answer a;
	struct err err;
	pid_t agent;

	(void)state;
	assert_int_equal(mkdir(service, 0755), 0);
	agent = start_agent("a", LATE_MS);
	assert_int_equal(ask_here(&a, &err), 0);
	assert_string_equal(a.tmpdir, "/jobfs/4711");
	end_agent(agent);
	rmdir(service);
}

static void one_that_does_not_come_only_for_a_time(void **state)
{
	int64_t from = monotonic_ms();
	struct slurm_answer a;
	struct err err;

	(void)state;
	assert_int_equal(mkdir(service, 0755), 0);
	assert_int_equal(ask_agent(sock, &question, 1, &a, &err), -ENOENT);
	assert_true(monotonic_ms() - from >= 1000);
	assert_non_null(strstr(err.text, "Engine = slurm in agent.conf?"));
	rmdir(service);
}

static void one_that_was_killed_is_waited_for(void **state)
{
	struct slurm_answer a;
	struct err err;
	pid_t agent;

	(void)state;
	close(listen_here());
	agent = start_agent("a", LATE_MS);
	assert_int_equal(ask_here(&a, &err), 0);
	end_agent(agent);
}

static void what_was_asked_of_a_killed_agent_is_asked_again(void **state)
{
	pid_t agent = start_agent("cca", 0);
	struct slurm_answer a;
	struct err err;

	(void)state;
	assert_int_equal(ask_here(&a, &err), 0);
	assert_string_equal(a.tmpdir, "/jobfs/4711");
	end_agent(agent);
}

static void but_not_for_ever(void **state)
{
	pid_t agent = start_agent("ccc", 0);
	struct slurm_answer a;
	struct err err;

	(void)state;
	assert_int_equal(ask_here(&a, &err), -ECONNRESET);
	assert_non_null(strstr(err.text, "journalctl -u reeve-agent"));
	end_agent(agent);
}

static void another_version_is_refused_at_once(void **state)
{
	pid_t agent = start_agent("v", 0);
	struct slurm_answer a;
	struct err err;

	(void)state;
	assert_int_equal(ask_here(&a, &err), -EPROTO);
	end_agent(agent);
}

static void the_halves_of_a_try_say_that_it_ended(void **state)
{
	pid_t agent = start_agent("ca", 0);
	struct slurm_answer a;
	struct err err;

	(void)state;
	assert_int_equal(
		ask_agent_receive(ask_agent_send(sock, &question, PATIENCE_S, &err), &a, &err),
		-ECONNRESET);
	assert_int_equal(
		ask_agent_receive(ask_agent_send(sock, &question, PATIENCE_S, &err), &a, &err),
		0);
	end_agent(agent);
}

static int make_directory(void **state)
{
	(void)state;
	snprintf(sock, sizeof(sock), "%s/slurm.sock", mkdtemp(dir));
	snprintf(service, sizeof(service), "%s/" AGENT_SERVICE_DIR, dir);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(sock);
	rmdir(service);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_agent_is_not_waited_for),
		cmocka_unit_test(one_that_is_restarted_is),
		cmocka_unit_test(one_that_does_not_come_only_for_a_time),
		cmocka_unit_test(one_that_was_killed_is_waited_for),
		cmocka_unit_test(what_was_asked_of_a_killed_agent_is_asked_again),
		cmocka_unit_test(but_not_for_ever),
		cmocka_unit_test(another_version_is_refused_at_once),
		cmocka_unit_test(the_halves_of_a_try_say_that_it_ended),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
