/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_node.c - a node with one interactive step, for suites: the agent's relay (agent/step/console.c) and the waiter's console
 * (agent/launch/step/console.c) as they are, without a job around the command:
 *	console_node URL MUNGE_SOCKET CONTROLLER_USER NODE JOB STEP pty|pipes end|keep DIR COMMAND...
 * of a job of uid 1 runs it as this user; prints "STATUS SIGNAL" when it has ended. SIGUSR1: the agent's part is closed and opened again, as after its death. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "agent/config.h"
#include "agent/launch/step/console.h"
#include "agent/step/console.h"
#include "agent/step/steps_impl.h"
#include "common/err.h"

static char dir[400];

const char *steps_path(const struct steps *all, struct sync_step_id id, const char *suffix,
		       char buf[static STEPS_PATH_MAX])
{
	(void)all;
	snprintf(buf, STEPS_PATH_MAX, "%s/%lld-%lld%s", dir, (long long)id.job,
		 (long long)id.step, suffix);
	return buf;
}

static pid_t start_command(const struct step_console_ends *e, bool is_pty, char **argv)
{
	pid_t pid = fork();
	sigset_t none;

	if (pid)
		return pid;
	setsid();
	dup2(e->in, 0);
	dup2(e->out, 1);
	dup2(e->err, 2);
	if (is_pty)
		ioctl(0, TIOCSCTTY, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	_exit(127);
}

/* As agent/launch/step/step.c does; a hang-up and SIGTERM are both for the command's group. */
static int run_waiter(struct step_spec *spec, char **argv)
{
	struct step_console *c;
	struct step_console_ends ends;
	struct err err;
	sigset_t set;
	int signals, status = 0;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGUSR1, SIG_IGN);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (step_console_open(spec, &c, &ends, &err) < 0) {
		fprintf(stderr, "console_node: %s\n", err.text);
		return 1;
	}
	pid = start_command(&ends, spec->console == STEP_CONSOLE_PTY, argv);
	close(ends.in);
	close(ends.out);
	close(ends.err);
	while (waitpid(pid, &status, WNOHANG) != pid) {
		int events = step_console_run(c, signals, 1000);
		struct signalfd_siginfo si = { 0 };

		if ((events & STEP_CONSOLE_SIGNAL) &&
		    read(signals, &si, sizeof(si)) == sizeof(si) && si.ssi_signo == SIGTERM)
			kill(-pid, SIGTERM);
		if (events & STEP_CONSOLE_HANGUP)
			kill(-pid, SIGHUP);
	}
	for (int i = 0; i < 300; i++) {
		step_console_end(c);
		if (step_console_is_done(c))
			break;
		step_console_run(c, -1, 100);
	}
	step_console_close(c);
	printf("%d %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return 0;
}

static struct steps all;
static struct step step;

static int on_tick(sd_event_source *s, uint64_t usec, void *ctx)
{
	pid_t waiter = *(pid_t *)ctx;

	(void)usec;
	if (waitpid(waiter, NULL, WNOHANG) == waiter)
		return sd_event_exit(all.node->event, 0);
	step_console_connect(all.consoles, &step);
	sd_event_source_set_time_relative(s, 50000);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int on_restart(sd_event_source *s, const struct signalfd_siginfo *si, void *ctx)
{
	(void)s, (void)si, (void)ctx;
	step_consoles_close(all.consoles);
	return step_consoles_open(&all, &all.consoles, NULL);
}

int main(int argc, char **argv)
{
	struct agent_config conf = { .controller = argv[1],
				     .munge_socket = argv[2],
				     .controller_user = argv[3] };
	static struct node node;
	struct step_spec spec = { .uid = 1, .gid = 1, .rows = 24, .cols = 80 };
	sigset_t set;
	pid_t waiter;

	if (argc < 11)
		return 2;
	snprintf(conf.node, sizeof(conf.node), "%s", argv[4]);
	snprintf(dir, sizeof(dir), "%s", argv[9]);
	step.id = (struct sync_step_id){ .job = atoll(argv[5]),
					 .step = atoll(argv[6]),
					 .attempt = 1 };
	step.uid = spec.uid;
	spec.console = strcmp(argv[7], "pty") ? STEP_CONSOLE_PIPES : STEP_CONSOLE_PTY;
	spec.keeps = !strcmp(argv[8], "keep");
	steps_path(NULL, step.id, ".sock", spec.socket);
	waiter = fork();
	if (waiter == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(run_waiter(&spec, argv + 10));
	}
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	node.conf = &conf;
	node.uplink = (struct uplink *)&node; /* there is a controller */
	all.node = &node;
	if (sd_event_default(&node.event) < 0 ||
	    step_consoles_open(&all, &all.consoles, NULL) < 0 ||
	    sd_event_add_signal(node.event, NULL, SIGUSR1, on_restart, NULL) < 0 ||
	    sd_event_add_time_relative(node.event, NULL, CLOCK_MONOTONIC, 0, 0, on_tick,
				       &waiter) < 0)
		return 1;
	return sd_event_loop(node.event) < 0;
}
