/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reeve_lua.c - reeve_lua.so: one exchange over a local socket for job_submit.lua, which Lua by itself cannot make.
 *
 *	require("reeve_lua").ask(PATH, QUESTION, LIMIT_MS)  ->  ANSWER, or nil and why; then the ms that it took
 *
 * It runs in a thread of slurmctld that holds locks. So every call is non-blocking within one limit by the monotonic clock, no more
 * than ANSWER_MAX bytes are read, there is no SIGPIPE, programs that slurmctld starts inherit nothing, and errno is left as it was:
 * slurmctld 22.05 refuses the change of a job's partition with the EAGAIN that a library leaves there (LuaSocket does).
 * The peer must be root or the user of slurmctld. No function here raises an error of Lua while it holds a descriptor.
 */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/clock.h"

#define ANSWER_MAX 1024
#define LIMIT_MS_MAX 10000

struct exchange {
	int64_t until_ns;
	char answer[ANSWER_MAX];
	size_t size;
	const char *why; /* of a failure, beside errno */
};

/* 0, or -errno with x->why. */
static int wait_for(struct exchange *x, int fd, short events)
{
	int64_t left_ns = x->until_ns - clock_ns(CLOCK_MONOTONIC);
	struct pollfd p = { .fd = fd, .events = events };
	int n = left_ns > 0 ? poll(&p, 1, (int)(left_ns / MS_NS) + 1) : 0;

	x->why = n == 0 ? "reeve-slurm-submit did not answer in time"
			: "wait for reeve-slurm-submit";
	return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

/* A socket of another user's could answer what it likes. */
static int check_peer(struct exchange *x, int fd)
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(who);

	x->why = "the process at the socket is neither root's nor slurmctld's user's";
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return -errno;
	return who.uid == 0 || who.uid == geteuid() ? 0 : -EPERM;
}

static int send_question(struct exchange *x, int fd, const char *text, size_t size)
{
	int r = 0;

	for (size_t at = 0; at < size && r >= 0;) {
		ssize_t n = send(fd, text + at, size - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		x->why = "reeve-slurm-submit does not take the question";
		if (n > 0)
			at += (size_t)n;
		else if (errno == EAGAIN)
			r = wait_for(x, fd, POLLOUT);
		else if (errno != EINTR)
			r = -errno;
	}
	return r;
}

/* Up to the end of the connection. */
static int read_answer(struct exchange *x, int fd)
{
	for (;;) {
		ssize_t n = recv(fd, x->answer + x->size, ANSWER_MAX - x->size, MSG_DONTWAIT);
		int r = 0;

		x->why = "reeve-slurm-submit's answer";
		if (n == 0)
			return 0;
		if (n > 0)
			x->size += (size_t)n;
		else if (errno == EAGAIN)
			r = wait_for(x, fd, POLLIN);
		else if (errno != EINTR)
			r = -errno;
		if (x->size == ANSWER_MAX)
			r = -EMSGSIZE;
		if (r < 0)
			return r;
	}
}

/* 0 and x->answer, or -errno and x->why. The socket is closed by the cleanup in both cases. */
static int make_exchange(struct exchange *x, const char *path, const char *text, size_t size)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int r;

	x->why = "no reeve-slurm-submit at the socket";
	if (fd < 0 || strlen(path) >= sizeof(at.sun_path))
		return fd < 0 ? -errno : -ENAMETOOLONG;
	strcpy(at.sun_path, path);
	/* Of a local socket: at once, or EAGAIN where too many wait. */
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	r = check_peer(x, fd);
	if (r >= 0)
		r = send_question(x, fd, text, size);
	return r < 0 ? r : read_answer(x, fd);
}

/* What luaL_check...() refuses is raised before anything is opened. */
static int lua_ask(lua_State *L)
{
	size_t size;
	const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &size);
	lua_Number limit_ms = luaL_checknumber(L, 3);
	int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	struct exchange x = { .size = 0 };
	int was = errno, r;
	char why[256];

	limit_ms = limit_ms > 0 && limit_ms < LIMIT_MS_MAX ? limit_ms : LIMIT_MS_MAX;
	x.until_ns = began_ns + (int64_t)limit_ms * MS_NS;
	r = make_exchange(&x, path, text, size);
	snprintf(why, sizeof(why), "%s (%s): %s", x.why, path, strerror(-r));
	errno = was;
	if (r < 0)
		lua_pushnil(L);
	else
		lua_pushlstring(L, x.answer, x.size);
	lua_pushstring(L, why);
	lua_pushnumber(L, (lua_Number)((clock_ns(CLOCK_MONOTONIC) - began_ns) / MS_NS));
	return 3;
}

int luaopen_reeve_lua(lua_State *L);
int luaopen_reeve_lua(lua_State *L)
{
	lua_newtable(L);
	lua_pushcfunction(L, lua_ask);
	lua_setfield(L, -2, "ask");
	return 1;
}
