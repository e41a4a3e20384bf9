/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pam_reeve.c - lets a user onto a node only while a job of that user runs there, and runs the
 * session in that job: in its cgroup, its view of the file system, its shared memory, with its
 * limits. So a session is no way around them, and ends with the job.
 *
 *	account required pam_reeve.so [exempt=GROUP,...] [socket=PATH]
 *	session [success=done ignore=ignore default=die] pam_reeve.so [exempt=GROUP,...]
 *
 * The session line stands before those that start something for the user outside the job
 * (pam_systemd): `done` leaves them out for a session that is in a job. Root and members of the
 * exempt groups are ignored, which leaves them to the other lines. For any other user each failure
 * refuses the session, with a sentence.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include "agent/launch/adopt.h"
#include "agent/launch/launch.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/views/datagram.h"
#include "common/err.h"
#include "common/views/views.h"
#include "common/wire/agent_service.h"

#define PATIENCE_S 10
#define RETRY_MS 200
#define DEFAULT_SOCKET "/run/reeve/" ADOPT_SOCKET

struct options {
	const char *socket, *exempt;
};

static void read_options(pam_handle_t *pam, int argc, const char **argv, struct options *ret)
{
	*ret = (struct options){ DEFAULT_SOCKET, "" };
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "socket=", 7))
			ret->socket = argv[i] + 7;
		else if (!strncmp(argv[i], "exempt=", 7))
			ret->exempt = argv[i] + 7;
		else
			pam_syslog(pam, LOG_ERR, "unknown option %s", argv[i]);
}

/* Root, or of a group in the list. */
static bool is_exempt(pam_handle_t *pam, const struct passwd *pw, const char *groups)
{
	char name[128];

	if (!pw->pw_uid)
		return true;
	while (*groups) {
		size_t n = strcspn(groups, ",");

		if (n && n < sizeof(name)) {
			memcpy(name, groups, n);
			name[n] = '\0';
			if (pam_modutil_user_in_group_nam_nam(pam, pw->pw_name, name))
				return true;
		}
		groups += n + (groups[n] == ',');
	}
	return false;
}

/* An agent that is being restarted is waited for. The descriptor, with the request sent. */
static int send_request(const char *path, const struct adopt_request *q, struct err *err)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * MS_NS };
	const int64_t until_ms = monotonic_ms() + PATIENCE_S * S_MS;
	const struct datagram d = { .data = (void *)q, .size = sizeof(*q) };

	for (;;) {
		_cleanup_close_ int fd = datagram_connect(path, PATIENCE_S);
		int r = fd < 0 ? fd : datagram_send(fd, &d);

		if (!r)
			return TAKE_FD(fd);
		err_set(err, r, "the Reeve agent does not answer at %s: %s", path,
			strerror(-r));
		if ((r != -ECONNREFUSED && r != -ENOENT) || !agent_service_is_up(path) ||
		    monotonic_ms() >= until_ms)
			return r;
		nanosleep(&pause, NULL);
	}
}

/* Sends the request and reads the reply. < 0: no answer, or a refusal (-EPERM) with its sentence. The
 * reply comes from root, but is checked: a text without NUL would be read past its end. */
static int ask_agent(const char *path, struct adopt_request q, struct adopt_reply *ret,
		     struct err *err)
{
	struct datagram d = { .data = ret, .size = sizeof(*ret) };
	_cleanup_close_ int fd = send_request(path, &q, err);

	if (fd < 0)
		return fd;
	if (datagram_receive(fd, &d) < 0 || d.size != sizeof(*ret))
		return err_set(err, -EIO, "the Reeve agent does not answer at %s", path);
	if (ret->version != ADOPT_VERSION || !memchr(ret->text, '\0', sizeof(ret->text)) ||
	    !memchr(ret->views, '\0', sizeof(ret->views)) ||
	    !memchr(ret->jobfs, '\0', sizeof(ret->jobfs)))
		return err_set(err, -EBADMSG, "the Reeve agent is of another version");
	return ret->is_refused ? err_set(err, -EPERM, "%s", ret->text) : 0;
}

/* A job without a view of its own (PBS) runs in the node's, and so does its session. */
static int enter_view(const struct adopt_reply *a, struct err *err)
{
	struct views_view view = VIEWS_NONE;
	int r;

	if (!a->views[0])
		return 0;
	r = views_open(a->views, (struct views_id){ a->job, a->attempt }, &view, err);
	if (!r)
		r = views_enter(&view, err);
	views_close(&view);
	return r;
}

/* As reeve-launch does before it becomes a step's command (agent/launch/step/child.c). */
static int take_limits(const struct adopt_reply *a, struct err *err)
{
	struct rlimit core = { 0, 0 }, as = { a->rlimit_as, a->rlimit_as };

	if (setrlimit(RLIMIT_CORE, &core) < 0 ||
	    (a->rlimit_as && setrlimit(RLIMIT_AS, &as) < 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "take the job's limits: %m");
	return launch_seccomp(a->deny, err);
}

/* Sets the variables that a job of this kind has; returns a PAM code. */
static int put_variables(pam_handle_t *pam, const struct adopt_reply *a)
{
	char text[ADOPT_PATH_MAX + 32];
	int r;

	snprintf(text, sizeof(text), "REEVE_JOB=%lld", (long long)a->job);
	r = pam_putenv(pam, text);
	if (r != PAM_SUCCESS || !a->jobfs[0])
		return r;
	snprintf(text, sizeof(text), "REEVE_JOBFS=%s", a->jobfs);
	r = pam_putenv(pam, text);
	snprintf(text, sizeof(text), "TMPDIR=%s", a->jobfs);
	return r == PAM_SUCCESS ? pam_putenv(pam, text) : r;
}

/* PAM_SUCCESS with the user; PAM_IGNORE: an exempt one. *ret belongs to pam_modutil. */
static int find_user(pam_handle_t *pam, const struct options *o, struct passwd **ret)
{
	const char *user = NULL;

	if (pam_get_user(pam, &user, NULL) != PAM_SUCCESS || !user || !*user)
		return PAM_USER_UNKNOWN;
	*ret = pam_modutil_getpwnam(pam, user);
	if (!*ret)
		return PAM_USER_UNKNOWN;
	return is_exempt(pam, *ret, o->exempt) ? PAM_IGNORE : PAM_SUCCESS;
}

static int refuse_session(pam_handle_t *pam, const struct passwd *pw, const struct err *err)
{
	pam_syslog(pam, LOG_NOTICE, "refused %s: %s", pw->pw_name, err->text);
	pam_error(pam,
		  "Access refused: %s. Start a job (reeve submit), or use reeve exec -j JOB.",
		  err->text);
	return PAM_PERM_DENIED;
}

struct login {
	struct passwd *pw;
	struct adopt_reply reply;
};

/* PAM_SUCCESS: the agent has granted `want`, and answered in l->reply. PAM_PERM_DENIED: it has not, and
 * the user has been told why. Else a PAM code of find_user(). */
static int ask_for_login(pam_handle_t *pam, int argc, const char **argv, enum adopt_want want,
			 struct login *l)
{
	struct adopt_request q = { .version = ADOPT_VERSION, .want = want };
	struct err err = { "" };
	struct options o;
	int r;

	read_options(pam, argc, argv, &o);
	r = find_user(pam, &o, &l->pw);
	if (r != PAM_SUCCESS)
		return r;
	q.uid = l->pw->pw_uid;
	return ask_agent(o.socket, q, &l->reply, &err) < 0 ? refuse_session(pam, l->pw, &err)
							   : PAM_SUCCESS;
}

int pam_sm_acct_mgmt(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	struct login l = { 0 };

	(void)flags;
	return ask_for_login(pam, argc, argv, ADOPT_CHECK, &l);
}

/* The cgroup first, which the agent does: from then on every limit holds. A failure behind it leaves the
 * process in the job, where sshd ends it. */
int pam_sm_open_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	struct login l = { 0 };
	struct err err = { "" };
	int r;

	(void)flags;
	r = ask_for_login(pam, argc, argv, ADOPT_ENTER, &l);
	if (r != PAM_SUCCESS)
		return r == PAM_PERM_DENIED ? PAM_SESSION_ERR : r;
	r = enter_view(&l.reply, &err);
	if (!r)
		r = take_limits(&l.reply, &err);
	if (r < 0) {
		refuse_session(pam, l.pw, &err);
		return PAM_SESSION_ERR;
	}
	return put_variables(pam, &l.reply);
}

/* Nothing to undo: the processes of a session are the job's, and end with it. */
int pam_sm_close_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	struct passwd *pw = NULL;
	struct options o;
	int r;

	(void)flags;
	read_options(pam, argc, argv, &o);
	r = find_user(pam, &o, &pw);
	return r == PAM_IGNORE ? PAM_IGNORE : PAM_SUCCESS;
}
