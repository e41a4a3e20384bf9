/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - the terminal or the pipes of an interactive step, and the exchange with the agent; see console.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "agent/launch/step/console.h"
#include "agent/launch/step/session.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/model/console/console.h"
#include "common/packets/packets.h"

#define SOCKET_BUFFER (2 << 20) /* bytes: a message fits whole */
#define FULL_BYTES 4096 /* that much unacknowledged output asks for an acknowledgement */
#define AGAIN_BYTES                                                                            \
	(16 << 10)   /* more that was sent is not sent again because of new output alone */
#define READS_MAX 48 /* of a stream, one after the other */
#define LAST_READS_MAX                                                                         \
	1024 /* of a program's remaining output: more than a terminal or a pipe holds */
#define AGENT_MS 1000 /* for an agent to read what does not fit into the socket */
#define PIPE_BYTES (256 << 10)
#define CTRL_D 4

/* The last bytes of a stream. Byte `offset` is at data[offset % STEP_CONSOLE_KEPT]. */
struct ring {
	char *data;
	int64_t begin, end; /* offsets of what is in it */
	int64_t acked;	    /* by the user; within begin ... end */
	int64_t sent;	    /* all before this was in a message */
	bool is_over;	    /* nothing will be added */
};

struct step_console {
	bool is_pty;
	int listener, peer;	       /* -1: no agent is connected */
	int in, outs[CONSOLE_STREAMS]; /* of a terminal in and outs[0] are its master; -1: closed */
	struct ring rings[CONSOLE_STREAMS];
	struct step_session session;
	uint64_t heard;		    /* serial of the last input */
	struct console_state state; /* of the terminal */
	bool is_lost;		    /* by the controller's word */
	bool keeps;		    /* the step continues when its terminal is lost */
	uint8_t *message;	    /* typed.data points into it */
	struct console_data typed;
	struct packets coming; /* the next one */
	int64_t consumed;      /* of the input, by the program */
	bool has_sent_end;
	bool is_ended;		   /* the program */
	bool hangs_up, is_hung_up; /* the terminal is gone for good; that was returned */
	uint64_t serial;	   /* of the output */
	bool has_changes;	   /* since the last message of output */
	bool has_output; /* the program has written since then, and nothing else has changed */
	bool may_send;	 /* the agent has passed the last one on */
};

/* ---- opening ---- */

static int open_listener(struct step_console *c, const char *path, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(err, -ENAMETOOLONG,
			       "the path of the console's socket is too long");
	strcpy(at.sun_path, path);
	c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	if (c->listener < 0 || bind(c->listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    chmod(path, 0600) < 0 || listen(c->listener, 1) < 0)
		return err_set(err, -errno, "make the console's socket: %m");
	return 0;
}

static void set_window(const struct step_console *c, int rows, int cols)
{
	const struct winsize size = { .ws_row = (unsigned short)rows,
				      .ws_col = (unsigned short)cols };

	if (c->is_pty && c->in >= 0 && rows > 0 && cols > 0)
		ioctl(c->in, TIOCSWINSZ, &size);
}

/* The slave belongs to the user and to the group tty, as of a login: no other user can open it, and write(1) still works. */
static int own_slave(int slave, const struct step_spec *spec)
{
	const struct group *tty = getgrnam("tty");

	return fchown(slave, spec->uid, tty ? tty->gr_gid : spec->gid) < 0 ||
			       fchmod(slave, tty ? 0620 : 0600) < 0
		       ? -errno
		       : 0;
}

static int open_terminal(struct step_console *c, const struct step_spec *spec,
			 struct step_console_ends *ends, struct err *err)
{
	_cleanup_close_ int slave = -1;

	c->in = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (c->in < 0 || unlockpt(c->in) < 0)
		return err_set(err, -errno, "open a pseudo-terminal: %m");
	c->outs[CONSOLE_OUT] = c->in;
	/* By the master, not by a name: no other file system can be mounted in between. */
	slave = ioctl(c->in, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || own_slave(slave, spec) < 0)
		return err_set(err, -errno, "open the terminal of the step: %m");
	set_window(c, (int)spec->rows, (int)spec->cols);
	ends->out = fcntl(slave, F_DUPFD_CLOEXEC, 3);
	ends->err = fcntl(slave, F_DUPFD_CLOEXEC, 3);
	ends->in = TAKE_FD(slave);
	c->rings[CONSOLE_ERR].is_over = true;
	return ends->out < 0 || ends->err < 0 ? err_set(err, -errno, "duplicate: %m") : 0;
}

/* A pipe whose end of ours (1: we write) does not block; the program's end is an ordinary one. */
static int make_pipe(bool we_write, int *ret_ours, int *ret_theirs,
		     const struct step_spec *spec)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	*ret_ours = pair[we_write];
	*ret_theirs = pair[!we_write];
	/* As much as a message has, so that one is passed on in one go; less where the system allows no more. */
	fcntl(*ret_ours, F_SETPIPE_SZ, PIPE_BYTES);
	/* /dev/stdin and the like are opened by the user. */
	if (fchown(*ret_theirs, spec->uid, spec->gid) < 0 ||
	    fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int open_pipes(struct step_console *c, const struct step_spec *spec,
		      struct step_console_ends *ends, struct err *err)
{
	int r = make_pipe(true, &c->in, &ends->in, spec);

	if (!r)
		r = make_pipe(false, &c->outs[CONSOLE_OUT], &ends->out, spec);
	if (!r)
		r = make_pipe(false, &c->outs[CONSOLE_ERR], &ends->err, spec);
	return r < 0 ? err_set(err, r, "make pipes for the step: %s", strerror(-r)) : 0;
}

int step_console_open(const struct step_spec *spec, struct step_console **ret,
		      struct step_console_ends *ret_ends, struct err *err)
{
	struct step_console *c = calloc(1, sizeof(*c));
	int r = 0;

	*ret = c;
	*ret_ends = (struct step_console_ends){ -1, -1, -1 };
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->is_pty = spec->console == STEP_CONSOLE_PTY;
	c->listener = c->peer = c->in = c->outs[CONSOLE_OUT] = c->outs[CONSOLE_ERR] = -1;
	c->state.is_attached = true; /* the user who started it */
	c->keeps = spec->keeps;
	step_session_init(&c->session, spec->begin_ns);
	for (int i = 0; i < CONSOLE_STREAMS && !r; i++) {
		c->rings[i].data = malloc(STEP_CONSOLE_KEPT);
		if (!c->rings[i].data)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	signal(SIGPIPE, SIG_IGN);
	if (!r)
		r = c->is_pty ? open_terminal(c, spec, ret_ends, err)
			      : open_pipes(c, spec, ret_ends, err);
	return r < 0 ? r : open_listener(c, spec->socket, err);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Of a terminal the master is both; closing it hangs the terminal up. */
static void close_input(struct step_console *c)
{
	if (c->is_pty)
		c->in = -1;
	else
		close_fd(&c->in);
	c->has_changes = true;
}

static void end_stream(struct step_console *c, int i)
{
	if (c->is_pty)
		c->in = -1;
	close_fd(&c->outs[i]);
	c->rings[i].is_over = true;
	c->has_changes = true;
}

static void drop_peer(struct step_console *c)
{
	close_fd(&c->peer);
	packets_drop(&c->coming);
	c->may_send = false;
}

void step_console_close(struct step_console *c)
{
	if (!c)
		return;
	if (!c->is_pty)
		close_fd(&c->in);
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		close_fd(&c->outs[i]);
		free(c->rings[i].data);
	}
	drop_peer(c);
	free(c->message);
	close_fd(&c->listener);
	free(c);
}

/* ---- output of the program ---- */

static size_t ring_room(const struct step_console *c, const struct ring *g)
{
	if (c->is_pty && !step_console_is_attached(c))
		return STEP_CONSOLE_KEPT; /* what is oldest is overwritten */
	return (size_t)(STEP_CONSOLE_KEPT - (g->end - g->acked));
}

static void add_bytes(struct ring *g, const char *data, size_t n)
{
	size_t at = (size_t)(g->end % STEP_CONSOLE_KEPT), first = STEP_CONSOLE_KEPT - at;

	if (first > n)
		first = n;
	memcpy(g->data + at, data, first);
	memcpy(g->data, data + first, n - first);
	g->end += (int64_t)n;
	if (g->end - g->begin > STEP_CONSOLE_KEPT)
		g->begin = g->end - STEP_CONSOLE_KEPT;
	if (g->acked < g->begin)
		g->acked = g->begin;
}

/* 1: there may be more at once; 0: not now, or never. */
static int read_stream(struct step_console *c, int i)
{
	struct ring *g = &c->rings[i];
	char buf[16384];
	size_t room = ring_room(c, g);
	ssize_t n;

	if (c->outs[i] < 0 || !room)
		return 0;
	n = read(c->outs[i], buf, room < sizeof(buf) ? room : sizeof(buf));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* EIO: no process has the terminal open any more */
		end_stream(c, i);
		return 0;
	}
	add_bytes(g, buf, (size_t)n);
	c->has_output = true;
	return 1;
}

/* The present bytes, in `reads_max` pieces and STEP_CONSOLE_KEPT bytes at most: a terminal without an attached user always has room, and may be
 * written without an end. */
static void read_all(struct step_console *c, int i, int reads_max)
{
	const int64_t until = c->rings[i].end + STEP_CONSOLE_KEPT;
	int n = 0;

	while (n++ < reads_max && c->rings[i].end < until && read_stream(c, i) > 0)
		;
}

/* ---- input of the program ---- */

/* The end of input is passed on once: by closing a pipe; to a terminal by its end-of-file character. */
static void pass_end(struct step_console *c)
{
	const char eof = CTRL_D;

	if (c->has_sent_end || !c->typed.is_end || c->in < 0)
		return;
	c->has_sent_end = !c->is_pty || write(c->in, &eof, 1) == 1;
	if (!c->is_pty)
		close_input(c);
}

/* Bytes of the last message that the program has not got; 0 also where the message begins later than that. */
static size_t input_left(const struct step_console *c)
{
	int64_t end = c->typed.offset + (int64_t)c->typed.size;

	return c->in >= 0 && c->consumed >= c->typed.offset && c->consumed < end
		       ? (size_t)(end - c->consumed)
		       : 0;
}

static void write_input(struct step_console *c)
{
	size_t left = input_left(c);

	while (left) {
		const char *from =
			(const char *)c->typed.data + (c->consumed - c->typed.offset);
		ssize_t n = write(c->in, from, left);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close_input(c); /* the program has closed it */
			return;
		}
		c->consumed += n;
		left -= (size_t)n;
		c->has_changes = true;
	}
	if (c->consumed == c->typed.offset + (int64_t)c->typed.size)
		pass_end(c);
}

/* ---- the agent ---- */

static void set_acked(struct ring *g, int64_t acked)
{
	if (acked > g->end)
		acked = g->end;
	g->acked = acked > g->begin ? acked : g->begin;
}

/* The state replaces the one before. A step that its user has left continues when a later terminal is lost. */
static void apply_state(struct step_console *c, const struct console_state *m)
{
	if (m->rows != c->state.rows || m->cols != c->state.cols)
		set_window(c, m->rows, m->cols);
	c->has_changes |= m->is_new;
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		struct ring *g = &c->rings[i];
		int64_t before = g->acked;

		set_acked(g, m->acked[i]);
		c->has_changes |= g->acked < before || g->acked < g->end;
	}
	c->hangs_up |= m->hangs_up;
	c->keeps |= !m->is_attached;
	c->state = *m;
}

/* A message of input; *packet is taken if the bytes in it are needed. */
static void take_input(struct step_console *c, uint8_t **packet, size_t size)
{
	bool was_attached = step_console_is_attached(c);
	struct console_state state;
	struct console_input m;
	int is_known, is_typed;

	if (console_decode_input(*packet, size, &m, NULL) < 0 || m.serial < c->heard)
		return;
	c->heard = m.serial;
	c->is_lost = m.is_lost;
	is_known = step_session_take_state(&c->session, m.state, &state);
	if (is_known > 0)
		apply_state(c, &state);
	is_typed = step_session_take_data(&c->session, m.data, &c->typed);
	if (is_typed > 0) {
		free(c->message);
		c->message = TAKE_PTR(*packet); /* typed.data lies in it */
	}
	/* As its user signed it at the start, or by leaving it since. */
	c->hangs_up |= (c->is_lost || c->session.is_over) && !c->keeps;
	c->has_changes |=
		is_known < 0 || is_typed < 0 || was_attached != step_console_is_attached(c);
	write_input(c);
}

/* Bytes of the terminal before that the program has not read were not typed at this one. */
static void take_key(struct step_console *c, const void *packet)
{
	struct step_session_key k;

	memcpy(&k, packet, sizeof(k));
	if (step_session_begin(&c->session, &k) > 0)
		c->typed = (struct console_data){ .offset = c->consumed };
	c->has_changes = true;
}

static void read_peer(struct step_console *c)
{
	int r = packets_receive(&c->coming, c->peer, CONSOLE_MESSAGE_MAX);

	if (r == -EAGAIN)
		return;
	if (r < 0)
		drop_peer(c);
	else if (!c->coming.size)
		c->may_send = true;
	else if (step_session_is_key(c->coming.data, c->coming.size))
		take_key(c, c->coming.data);
	else
		take_input(c, &c->coming.data, c->coming.size);
}

/* A new agent replaces the one before, and gets the present state at once. */
static void accept_peer(struct step_console *c)
{
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const int size = SOCKET_BUFFER;

	if (fd < 0)
		return;
	/* Where the buffer stays as it is by default, the agent must read in between. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	drop_peer(c);
	c->peer = fd;
	c->may_send = c->has_changes = true;
}

/* The unacknowledged bytes of a stream, at most `room`: up to two pieces of the ring. */
static struct console_chunk cut_chunk(const struct ring *g, size_t room,
				      struct iovec ret[static 2])
{
	struct console_chunk k = { .offset = g->acked };
	size_t left = (size_t)(g->end - g->acked), at = (size_t)(g->acked % STEP_CONSOLE_KEPT);
	size_t first = STEP_CONSOLE_KEPT - at;

	k.size = left < room ? left : room;
	k.is_end = g->is_over && k.size == left;
	if (first > k.size)
		first = k.size;
	ret[0] = (struct iovec){ g->data + at, first };
	ret[1] = (struct iovec){ g->data, k.size - first };
	return k;
}

static uint64_t next_serial(const struct step_console *c)
{
	struct timespec t;

	/* Of the clock, so that it grows past whatever the controller has of this step. */
	clock_gettime(CLOCK_REALTIME, &t);
	uint64_t us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;

	return us > c->serial ? us : c->serial + 1;
}

/* New output is sent at once, together with what was not acknowledged. Where that is much, the acknowledgement of it, which is on its
 * way, is waited for: else most bytes would be sent several times. */
static bool may_send_output(const struct step_console *c)
{
	int64_t again = 0;

	for (int i = 0; i < CONSOLE_STREAMS; i++)
		if (c->rings[i].sent > c->rings[i].acked)
			again += c->rings[i].sent - c->rings[i].acked;
	return c->has_output && again <= AGAIN_BYTES;
}

static void send_output(struct step_console *c)
{
	uint8_t head[CONSOLE_OUTPUT_HEAD];
	struct iovec pieces[1 + 2 * CONSOLE_STREAMS];
	const struct step_session *s = &c->session;
	struct console_output m = { .heard = c->heard,
				    .refusal = s->refusal,
				    .refused = s->refused,
				    .session = s->session,
				    .acked = c->consumed,
				    .takes_no_input = c->in < 0 };
	/* Without a terminal there is no key: only a refusal can be reported. */
	size_t room = s->session ? CONSOLE_DATA_MAX : 0;

	if (!s->session && !s->refused)
		return;
	if (c->peer < 0 || !c->may_send || !(c->has_changes || may_send_output(c)))
		return;
	/* Errors first: they are few, and output alone may fill a message again and again. */
	for (int i = CONSOLE_STREAMS - 1; i >= 0; i--) {
		const struct ring *g = &c->rings[i];

		m.streams[i] = cut_chunk(g, room, pieces + 1 + 2 * i);
		room -= m.streams[i].size;
		m.is_full |= g->end - g->acked >= FULL_BYTES;
		c->rings[i].sent = m.streams[i].offset + (int64_t)m.streams[i].size;
	}
	m.serial = m.number = c->serial = next_serial(c);
	pieces[0] = (struct iovec){ head, console_encode_output(&m, head) };
	if (s->session)
		step_session_seal(s, head, pieces + 1, ARRAY_LEN(pieces) - 1);
	if (packets_send(c->peer, pieces, ARRAY_LEN(pieces), AGENT_MS) < 0)
		drop_peer(c);
	else
		c->has_changes = c->has_output = c->may_send = false;
}

/* ---- the loop ---- */

static int watch_all(const struct step_console *c, int signals, struct pollfd fds[6])
{
	const struct ring *g = c->rings;
	bool wants_out = input_left(c) || (c->in >= 0 && c->typed.is_end && !c->has_sent_end);

	fds[0] = (struct pollfd){ .fd = signals, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = c->listener, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = c->peer, .events = POLLIN };
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		fds[3 + i] = (struct pollfd){ .fd = ring_room(c, &g[i]) ? c->outs[i] : -1,
					      .events = POLLIN };
	/* POLLERR of a pipe without a reader comes unasked: watched only while there is something to write. */
	fds[5] = (struct pollfd){ .fd = wants_out ? c->in : -1, .events = POLLOUT };
	return 6;
}

static int run_once(struct step_console *c, int signals, int timeout_ms)
{
	struct pollfd fds[6];
	int n = watch_all(c, signals, fds), events = 0;

	if (poll(fds, (nfds_t)n, timeout_ms) < 0)
		return 0;
	if (fds[1].revents)
		accept_peer(c);
	else if (fds[2].revents)
		read_peer(c);
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		if (fds[3 + i].revents)
			read_all(c, i, READS_MAX); /* so that a message is full */
	if (fds[5].revents)
		write_input(c);
	send_output(c);
	if (fds[0].revents)
		events |= STEP_CONSOLE_SIGNAL;
	if (c->hangs_up && !c->is_hung_up)
		events |= STEP_CONSOLE_HANGUP;
	c->is_hung_up |= c->hangs_up;
	return events;
}

int step_console_run(struct step_console *c, int signals, int timeout_ms)
{
	int64_t until = timeout_ms < 0 ? INT64_MAX : monotonic_ms() + timeout_ms;
	int events = 0;

	send_output(c);
	while (!events && monotonic_ms() <= until &&
	       !(c->is_ended && step_console_is_done(c))) {
		int64_t left = until - monotonic_ms();

		events = run_once(c, signals, timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0);
	}
	return events;
}

/* Processes that the program left behind may keep the other end open: what is there now is read, within the room. */
void step_console_end(struct step_console *c)
{
	c->is_ended = true;
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		read_all(c, i, LAST_READS_MAX);
		/* Where the user is slow some of it may not fit: it is read by the loop while the user acknowledges. */
		if (ring_room(c, &c->rings[i]) || c->outs[i] < 0)
			end_stream(c, i);
	}
	if (!c->is_pty)
		close_input(c);
}

bool step_console_is_done(const struct step_console *c)
{
	/* A refused terminal must learn why, also if that ends the step. */
	if (c->session.refused && (c->has_changes || !c->may_send))
		return false;
	if (c->session.is_over && c->hangs_up)
		return true;
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		if (c->rings[i].acked < c->rings[i].end || !c->rings[i].is_over)
			return false;
	return true;
}

bool step_console_is_attached(const struct step_console *c)
{
	return c->state.is_attached && !c->is_lost && !c->session.is_over;
}
