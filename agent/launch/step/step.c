/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.c - the waiter of a step: claims the spec, joins the job, starts the child, waits for it and
 * writes how it ended; see step.h.
 *
 * It runs twice: `--step SPEC` outside the job as far as claim_and_join(), then, executed again inside
 * the job's cgroup, `--step-waiter FD` from load_and_run() on. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "agent/launch/step/console.h"
#include "agent/launch/step/step_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/time_units.h"

#define AGAIN_MS 100 /* between kills of what forks meanwhile */
/* At the end of a job its manager kills all that is left after the same grace, the waiter too: it
 * kills its step earlier, and has time to write how it ended. */
#define EARLIER_MS 500
/* How long a waiter whose step has ended waits for the user to have the last of its output. */
#define LAST_ATTACHED_MS 60000
#define LAST_DETACHED_MS 10000

struct step {
	struct step_spec spec;
	const char *views; /* socket */
	struct plan plan;
	char *payload; /* of the plan */
	int spec_fd;   /* with the lock */
	int told;      /* pipe: the message of a child that could not start; -1: no child */
	pid_t child;
	int status; /* of it, when `is_over` */
	bool is_over, is_ending;
	int64_t kill_at_ms;	      /* when is_ending */
	struct step_console *console; /* of an interactive step; NULL: none */
	int signals;		      /* signalfd of an interactive step */
};

/* An absolute path that ends within its field. */
static bool is_path(const char *text)
{
	return text[0] == '/' && memchr(text, '\0', STEP_PATH_MAX);
}

static int read_all(int fd, char *data, size_t size)
{
	while (size) {
		ssize_t n = read(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Reads the spec from the descriptor's position on and checks it. s->payload must live as long as
 * s->plan, whose texts point into it. */
static int load_spec(int fd, struct step *s, struct err *err)
{
	struct step_spec *spec = &s->spec;
	struct stat st;
	size_t size;

	if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(*spec) ||
	    st.st_size > (off_t)(sizeof(*spec) + PLAN_SIZE_MAX))
		return err_set(err, -EBADMSG, "the spec has a wrong size");
	size = (size_t)st.st_size - sizeof(*spec);
	s->payload = malloc(size + 1);
	if (!s->payload)
		return err_set(err, -ENOMEM, "out of memory");
	if (read_all(fd, (char *)spec, sizeof(*spec)) < 0 || read_all(fd, s->payload, size) < 0)
		return err_set(err, -EIO, "read the spec: %m");
	if (spec->version != STEP_SPEC_VERSION || !is_path(spec->cgroup) ||
	    !is_path(spec->out) || !is_path(spec->err) || !is_path(spec->end) ||
	    spec->grace_s < 0 || spec->console > STEP_CONSOLE_PTY ||
	    (spec->console && !is_path(spec->socket)))
		return err_set(err, -EBADMSG, "the spec is of another version, or malformed");
	if (!spec->uid || !spec->gid || spec->uid == UINT32_MAX || spec->gid == UINT32_MAX)
		return err_set(err, -EPERM, "uid %u, gid %u is no ordinary user", spec->uid,
			       spec->gid);
	return plan_decode(s->payload, size, &s->plan, err);
}

/* 1: the step is not this waiter's to run: the agent started it twice (another waiter holds the lock, or
 * the spec is marked as begun) or discarded it (the spec has no name any more). The lock stays with `fd`. */
static int claim_spec(int fd, struct err *err)
{
	/* A lock of fcntl, and not of flock(): the child of fork does not have it, so the lock ends with
	 * the waiter itself. */
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st;

	if (fcntl(fd, F_SETLK, &lock) < 0)
		return errno == EAGAIN || errno == EACCES ? 1
							  : err_set(err, -errno, "lock: %m");
	if (fstat(fd, &st) < 0 || !st.st_nlink || !(st.st_mode & S_IWUSR))
		return 1;
	return fchmod(fd, 0400) < 0 ? err_set(err, -errno, "mark as begun: %m") : 0;
}

static int open_console(struct step *s, struct step_entry *e, struct err *err)
{
	struct step_console_ends ends;
	int r = step_nettle_load(err);

	if (r < 0)
		return r;
	r = step_console_open(&s->spec, &s->console, &ends, err);
	if (!s->console)
		return r;
	e->null = ends.in;
	e->out = ends.out;
	e->err = ends.err;
	e->is_pty = s->spec.console == STEP_CONSOLE_PTY;
	return r;
}

/* Opens what root has to open, then forks the child. After success s->told is the read end of a pipe
 * whose write end exec closes: end of file without a byte means that the command runs. */
static int start_child(struct step *s, struct err *err)
{
	struct step_entry e = { .spec = &s->spec,
				.plan = &s->plan,
				.views = s->views,
				.null = -1,
				.out = -1,
				.err = -1,
				.procs = -1,
				.view = VIEWS_NONE };
	int pair[2], r = step_entry_open(&e, err);

	if (!r && s->spec.console)
		r = open_console(s, &e, err);
	if (!r && pipe2(pair, O_CLOEXEC) < 0)
		r = err_set(err, -errno, "pipe: %m");
	if (r < 0) {
		step_entry_close(&e);
		return r;
	}
	e.tell = pair[1];
	s->told = pair[0];
	s->child = fork();
	if (s->child == 0)
		step_become(&e);
	if (s->child < 0)
		r = err_set(err, -errno, "fork: %m");
	close(pair[1]);
	step_entry_close(&e);
	/* Changes nothing, but wakes the agent, which watches the spec (inotify): the output files are
	 * there now. */
	if (!r)
		fchmod(s->spec_fd, 0400);
	return r;
}

/* Reap all children that have ended. 1: no child is left. */
static int reap_children(struct step *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->child) {
			s->status = status;
			s->is_over = true;
		}
	return pid < 0 && errno == ECHILD;
}

static void signal_all(struct step *s, int sig)
{
	step_tree_signal(s->spec.cgroup, sig);
	if (!s->is_over)
		kill(s->child, sig); /* it may not have entered the job yet */
}

static void begin_end(struct step *s)
{
	if (s->is_ending)
		return;
	s->is_ending = true;
	s->kill_at_ms = monotonic_ms() + s->spec.grace_s * 1000 - EARLIER_MS;
	signal_all(s, SIGTERM);
}

static void kill_if_due(struct step *s)
{
	if (s->is_ending && monotonic_ms() >= s->kill_at_ms)
		signal_all(s, SIGKILL);
}

/* The same as wait_some() for an interactive step, whose bytes are passed on meanwhile. A terminal that is gone for good ends
 * the step as a line that hangs up does: SIGHUP, then as a cancel. */
static void wait_console(struct step *s)
{
	int events = step_console_run(s->console, s->signals, s->is_ending ? AGAIN_MS : -1);
	struct signalfd_siginfo si = { 0 };

	if ((events & STEP_CONSOLE_SIGNAL) && read(s->signals, &si, sizeof(si)) == sizeof(si) &&
	    si.ssi_signo == SIGTERM)
		begin_end(s);
	if (events & STEP_CONSOLE_HANGUP) {
		signal_all(s, SIGHUP);
		signal_all(s, SIGCONT);
		begin_end(s);
	}
	kill_if_due(s);
}

/* Waits for a signal; while the step is being ended AGAIN_MS at most, since what forks meanwhile can
 * escape one round of signals. */
static void wait_some(struct step *s, const sigset_t *signals)
{
	struct timespec pause = { .tv_nsec = AGAIN_MS * MS_NS };
	int sig =
		s->is_ending ? sigtimedwait(signals, NULL, &pause) : sigwaitinfo(signals, NULL);

	if (sig == SIGTERM)
		begin_end(s);
	kill_if_due(s);
}

/* Returns when the command has ended; after SIGTERM, when all processes that it started have ended. */
static void wait_end(struct step *s, const sigset_t *signals)
{
	while (!reap_children(s) && !(s->is_over && !s->is_ending))
		if (s->console)
			wait_console(s);
		else
			wait_some(s, signals);
}

/* The last output of an interactive step exists here alone: stays until the user has it, SIGTERM comes, or the time is up. */
static void deliver_last(struct step *s)
{
	int64_t began = monotonic_ms(), limit;
	struct signalfd_siginfo si = { 0 };

	do {
		step_console_end(s->console);
		if (step_console_is_done(s->console))
			return;
		if ((step_console_run(s->console, s->signals, AGAIN_MS) &
		     STEP_CONSOLE_SIGNAL) &&
		    read(s->signals, &si, sizeof(si)) != sizeof(si))
			return;
		limit = step_console_is_attached(s->console) ? LAST_ATTACHED_MS
							     : LAST_DETACHED_MS;
	} while (si.ssi_signo != SIGTERM && monotonic_ms() - began < limit);
}

/* Writes the end record by rename, so that the agent reads a whole one or none. `words`: why nothing
 * was started; "": the command ran. */
static int write_end(const struct step *s, const char *words, struct err *err)
{
	struct step_end end = { .version = STEP_VERSION, .exit_status = -1 };
	char temp[STEP_PATH_MAX + 8];
	_cleanup_close_ int fd = -1;

	snprintf(end.text, sizeof(end.text), "%.*s", STEP_TEXT_MAX - 1, words);
	if (s->is_over && !*words && WIFSIGNALED(s->status))
		end.signal = WTERMSIG(s->status);
	else if (s->is_over && !*words)
		end.exit_status = WEXITSTATUS(s->status);
	snprintf(temp, sizeof(temp), "%s.tmp", s->spec.end);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, &end, sizeof(end)) != sizeof(end) ||
	    rename(temp, s->spec.end) < 0)
		return err_set(err, -errno, "write %s: %m", s->spec.end);
	return 0;
}

/* The plan is needed to start the child alone, and its environment may be megabytes: the waiter's
 * memory is charged to the job. */
static void free_plan(struct step *s)
{
	plan_done(&s->plan);
	free(s->payload);
	s->payload = NULL;
	malloc_trim(0);
}

static int run_step(struct step *s, const sigset_t *signals, struct err *err)
{
	struct err words = { "" };
	ssize_t n = 0;

	/* A process whose parent exits becomes our child: the whole step can be signalled. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (s->spec.console) {
		s->signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
		if (s->signals < 0)
			return err_set(err, -errno, "signalfd: %m");
	}
	if (start_child(s, &words) == 0) {
		free_plan(s);
		wait_end(s, signals);
		n = read(s->told, words.text, STEP_TEXT_MAX - 1); /* all, or none */
		words.text[n > 0 ? n : 0] = '\0';
		if (s->console)
			deliver_last(s);
	}
	step_console_close(s->console);
	if (s->spec.console)
		unlink(s->spec.socket);
	return write_end(s, words.text, err);
}

static int write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Enters the cgroup "waiters" of the job: from here on the job is charged for the waiter. Where the job
 * has used up its memory, the OOM killer takes its own processes first. */
static int join_job(const struct step_spec *spec, struct err *err)
{
	char dir[STEP_PATH_MAX + 32], procs[STEP_PATH_MAX + 64];
	int r = step_check_room(spec->cgroup, 2, err); /* we, and the child */

	if (r < 0)
		return r;
	if (access(spec->cgroup, F_OK) < 0)
		return err_set(err, -ESRCH, "the job is not here any more");
	snprintf(dir, sizeof(dir), "%s/../" STEP_WAITERS, spec->cgroup);
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make a cgroup for the step's waiter: %m");
	write_text("/proc/self/oom_score_adj", "-1000");
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	r = write_text(procs, "0");
	return r < 0 ? err_set(err, r, "enter the job's cgroup: %s", strerror(-r)) : 0;
}

/* The lock stays: it belongs to the process, and is lost only when the process closes a descriptor of
 * the file. Returns only on failure. */
static int execute_again(const struct step *s, struct err *err)
{
	static char name[] = "reeve-launch", role[] = "--step-waiter";
	char number[16], *argv[] = { name, role, number, (char *)s->views, NULL };

	snprintf(number, sizeof(number), "%d", s->spec_fd);
	if (lseek(s->spec_fd, 0, SEEK_SET) < 0 || fcntl(s->spec_fd, F_SETFD, 0) < 0)
		return err_set(err, -errno, "pass the spec on: %m");
	execv("/proc/self/exe", argv);
	return err_set(err, -errno, "execute the waiter in the job: %m");
}

/* Writes the reason as the end of the step. Where the spec is too damaged to name the end record, the
 * reason goes to stderr, and the agent notices that the waiter is gone. */
static int fail_early(const struct step *s, const struct err *words, struct err *err)
{
	if (s->spec.version == STEP_SPEC_VERSION && is_path(s->spec.end))
		return write_end(s, words->text, err);
	*err = *words;
	return -EBADMSG;
}

/* 0: the reason is written as the step's end. 1: the step is not this waiter's. < 0: neither. Does
 * not return when the waiter goes on inside the job. */
static int claim_and_join(struct step *s, struct err *err)
{
	struct err words = { "" };
	int r = claim_spec(s->spec_fd, err);

	if (r)
		return r;
	r = load_spec(s->spec_fd, s, &words);
	if (!r)
		r = join_job(&s->spec, &words);
	if (!r)
		r = execute_again(s, &words);
	return fail_early(s, &words, err);
}

static int load_and_run(struct step *s, const sigset_t *signals, struct err *err)
{
	struct err words = { "" };

	if (load_spec(s->spec_fd, s, &words) < 0)
		return fail_early(s, &words, err);
	return run_step(s, signals, err);
}

/* SIGCHLD and SIGTERM are received by sigwaitinfo() alone: none is lost between a check and a wait. The
 * child gets its own mask back before it executes. */
static void block_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGCHLD);
	sigaddset(signals, SIGTERM);
	sigprocmask(SIG_SETMASK, signals, NULL);
}

static int finish_step(struct step *s, const char *what, int r, const struct err *err)
{
	if (r < 0)
		fprintf(stderr, "reeve-launch: %s: %s\n", what, err->text);
	plan_done(&s->plan);
	free(s->payload);
	return r < 0;
}

int step_main(const char *spec_path, const char *views)
{
	int fd = open(spec_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct step s = { .spec_fd = fd, .views = views, .told = -1 };
	struct err err = { "" };
	sigset_t signals;

	block_signals(&signals);
	if (fd < 0)
		return errno != ENOENT;
	return finish_step(&s, spec_path, claim_and_join(&s, &err), &err);
}

int step_wait_main(const char *fd, const char *views)
{
	struct step s = { .spec_fd = atoi(fd), .views = views, .told = -1 };
	struct err err = { "" };
	sigset_t signals;

	block_signals(&signals);
	if (s.spec_fd < 3 || fcntl(s.spec_fd, F_SETFD, FD_CLOEXEC) < 0)
		return 1;
	return finish_step(&s, "step", load_and_run(&s, &signals, &err), &err);
}
