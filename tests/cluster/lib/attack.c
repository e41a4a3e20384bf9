/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attack.c - what a client without a credential can do to a port of loopback: hold connections
 * in every way there is, and reopen each as soon as it is closed.
 *
 * usage: attack PORT SOURCES SECONDS KIND=NUMBER...
 *   SOURCES: 1: all from 127.0.0.1; n: from 127.0.1.1 to 127.0.1.n in turn
 *   KIND: bodies (8 MiB are declared and half of it sent), idle (nothing is sent), headers (a
 *   byte a second of the headers), slow (a byte a second of a body), wrong (one request with a
 *   forged credential after the other), ask (GET /metrics, one after the other)
 * At most 2,000 connections a second are opened. Prints "opened N closed N sent BYTES held NOW".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PER_SECOND 2000
#define TICK_MS 50
#define HALF (4 << 20)
#define CREDENTIAL "Authorization: Munge MUNGE:AwQFAAAAAAAAAAAAAAAAAAAAAAAA:\r\n"

enum kind { BODIES, IDLE, HEADERS, SLOW, WRONG, ASK, _KINDS };
static const char *const words[_KINDS] = {
	"bodies", "idle", "headers", "slow", "wrong", "ask"
};
static const char *const heads[_KINDS] = {
	[BODIES] = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n",
	[IDLE] = "",
	[HEADERS] = "POST /v1/node/sync HTTP/1.1\r\nHost: x\r\n" CREDENTIAL,
	[SLOW] = "POST /v1/node/sync HTTP/1.1\r\nHost: x\r\n" CREDENTIAL
		 "Content-Length: 60000\r\n\r\n",
	[WRONG] = "GET /v1/nodes HTTP/1.1\r\nHost: x\r\n" CREDENTIAL "\r\n",
	[ASK] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
};

struct one {
	int fd; /* -1: to be opened */
	enum kind kind;
	int source;
	size_t sent;
};

static struct one *all;
static int n_all, n_sources, port, queue;
static long opened, closed;
static long long sent;
static char filler[65536];
static volatile sig_atomic_t is_over;

static void on_signal(int signal_number)
{
	(void)signal_number;
	is_over = 1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void shut_one(struct one *o)
{
	close(o->fd);
	o->fd = -1;
	closed++;
}

static void open_one(struct one *o)
{
	struct sockaddr_in from = { .sin_family = AF_INET }, to = from;
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = o };
	int one = 1;

	from.sin_addr.s_addr =
		htonl(n_sources == 1 ? 0x7f000001 : 0x7f000101 + (uint32_t)o->source);
	to.sin_addr.s_addr = htonl(0x7f000001);
	to.sin_port = htons((uint16_t)port);
	o->sent = 0;
	o->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (o->fd < 0)
		return;
	setsockopt(o->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (bind(o->fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    (connect(o->fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS) ||
	    epoll_ctl(queue, EPOLL_CTL_ADD, o->fd, &e) < 0) {
		close(o->fd);
		o->fd = -1;
		return;
	}
	opened++;
}

static bool send_some(struct one *o, const char *data, size_t size)
{
	ssize_t n = send(o->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == ENOTCONN;
	o->sent += (size_t)n;
	sent += n;
	return n > 0;
}

/* All that this kind sends at once. */
static void push_one(struct one *o)
{
	size_t head = strlen(heads[o->kind]), goal = head;
	bool ok = true;

	if (o->kind == HEADERS)
		return;
	if (o->kind == BODIES)
		goal += HALF;
	while (ok && o->sent < goal) {
		size_t before = o->sent, at = o->sent;

		if (at < head)
			ok = send_some(o, heads[o->kind] + at, head - at);
		else
			ok = send_some(o, filler,
				       goal - at < sizeof(filler) ? goal - at : sizeof(filler));
		if (o->sent == before)
			break;
	}
	if (!ok)
		shut_one(o);
}

/* A byte of what comes slowly. */
static void drip_one(struct one *o)
{
	const char *head = heads[o->kind];
	bool ok = true;

	if (o->kind == HEADERS)
		ok = send_some(o, o->sent < strlen(head) ? head + o->sent : "x", 1);
	if (o->kind == SLOW && o->sent >= strlen(head))
		ok = send_some(o, "x", 1);
	if (!ok)
		shut_one(o);
}

static void handle_events(struct one *o, uint32_t events)
{
	char answer[65536];
	ssize_t n = 1;

	while (events & EPOLLIN && n > 0)
		n = recv(o->fd, answer, sizeof(answer), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN) || events & (EPOLLERR | EPOLLHUP)) {
		shut_one(o);
		return;
	}
	if (events & EPOLLIN && (o->kind == WRONG || o->kind == ASK))
		o->sent = 0; /* answered: the next one */
	push_one(o);
}

static void send_tick(int64_t ticks)
{
	static int next;
	int left = PER_SECOND * TICK_MS / 1000;

	for (int i = 0; i < n_all; i++)
		if (all[i].fd >= 0 && (i + ticks) % (1000 / TICK_MS) == 0)
			drip_one(&all[i]);
	for (int i = 0; i < n_all && left > 0; i++, next = (next + 1) % n_all)
		if (all[next].fd < 0) {
			open_one(&all[next]);
			left--;
		}
}

static void read_kinds(int argc, char **argv)
{
	for (int i = 4; i < argc; i++)
		for (int k = 0; k < _KINDS; k++) {
			size_t n = strlen(words[k]);
			int number = strncmp(argv[i], words[k], n) == 0 && argv[i][n] == '='
					     ? atoi(argv[i] + n + 1)
					     : 0;

			all = realloc(all, sizeof(*all) * (size_t)(n_all + number + 1));
			for (int j = 0; j < number; j++)
				all[n_all++] = (struct one){ -1, k, j % n_sources, 0 };
		}
}

int main(int argc, char **argv)
{
	struct rlimit files;
	struct epoll_event events[512];
	int64_t end, next_tick = now_ms(), ticks = 0, held = 0;

	if (argc < 5)
		return 2;
	port = atoi(argv[1]);
	n_sources = atoi(argv[2]);
	read_kinds(argc, argv);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGTERM, on_signal);
	queue = epoll_create1(EPOLL_CLOEXEC);
	end = now_ms() + atoll(argv[3]) * 1000;
	while (now_ms() < end && !is_over) {
		int n = epoll_wait(queue, events, 512, TICK_MS / 2);

		for (int i = 0; i < n; i++)
			if (((struct one *)events[i].data.ptr)->fd >= 0)
				handle_events(events[i].data.ptr, events[i].events);
		if (now_ms() < next_tick)
			continue;
		next_tick = now_ms() + TICK_MS;
		send_tick(ticks++);
	}
	for (int i = 0; i < n_all; i++)
		held += all[i].fd >= 0;
	printf("opened %ld closed %ld sent %lld held %lld\n", opened, closed, sent,
	       (long long)held);
	return 0;
}
