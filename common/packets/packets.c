/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packets.c - messages in packets; see packets.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "common/packets/packets.h"

#define MAGIC 0x33637352u /* "Rsc3" */
#define PIECES_MAX 8

/* The next `room` bytes of the pieces, from *ret_at on, which moves on. Returns the number of pieces in `ret`. */
static int cut_pieces(struct iovec *left, int n, size_t room, struct iovec *ret)
{
	int count = 0;

	for (int i = 0; i < n && room; i++) {
		size_t size = left[i].iov_len < room ? left[i].iov_len : room;

		if (!size)
			continue;
		ret[count++] = (struct iovec){ left[i].iov_base, size };
		left[i].iov_base = (char *)left[i].iov_base + size;
		left[i].iov_len -= size;
		room -= size;
	}
	return count;
}

static ssize_t send_packet(int fd, struct iovec *pieces, int n, int wait_ms)
{
	const struct msghdr m = { .msg_iov = pieces, .msg_iovlen = (size_t)n };
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t r = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (r < 0 && errno == EAGAIN && poll(&room, 1, wait_ms) > 0)
		r = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? -errno : r;
}

int packets_send(int fd, const struct iovec *pieces, int n_pieces, int wait_ms)
{
	struct iovec left[PIECES_MAX], now[PIECES_MAX + 1];
	uint32_t head[2] = { MAGIC, 0 };
	size_t size = 0, sent = 0, room = PACKETS_SIZE_MAX - sizeof(head);

	if (n_pieces > PIECES_MAX)
		return -EINVAL;
	for (int i = 0; i < n_pieces; i++) {
		left[i] = pieces[i];
		size += pieces[i].iov_len;
	}
	if (size > UINT32_MAX)
		return -EMSGSIZE;
	head[1] = (uint32_t)size;
	now[0] = (struct iovec){ head, sizeof(head) };
	while (sent < size + sizeof(head)) {
		int first = sent ? 0 : 1;
		int n = first + cut_pieces(left, n_pieces, room, now + first);
		ssize_t r = send_packet(fd, now, n, sent ? wait_ms : 0);

		if (r < 0)
			return r == -EAGAIN && sent ? -EPIPE : (int)r;
		sent += (size_t)r;
		room = PACKETS_SIZE_MAX;
	}
	return 0;
}

void packets_drop(struct packets *p)
{
	free(p->data);
	*p = (struct packets){ .data = NULL };
}

static int begin_message(struct packets *p, int fd, size_t max)
{
	uint32_t head[2];
	ssize_t n;

	packets_drop(p);
	n = recv(fd, head, sizeof(head), MSG_DONTWAIT | MSG_PEEK);
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -ECONNRESET;
	if (n < (ssize_t)sizeof(head) || head[0] != MAGIC)
		return -EBADMSG;
	if (head[1] > max)
		return -EMSGSIZE;
	p->data = malloc((size_t)head[1] + 1);
	p->size = head[1];
	p->is_begun = 1;
	return p->data ? 0 : -ENOMEM;
}

/* 0: a packet was read. */
static int read_packet(struct packets *p, int fd, size_t head_size)
{
	uint8_t head[PACKETS_HEAD_SIZE];
	struct iovec to[] = { { head, head_size }, { p->data + p->have, p->size - p->have } };
	struct msghdr m = { .msg_iov = to, .msg_iovlen = 2 };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n <= 0)
		return -ECONNRESET;
	if ((m.msg_flags & MSG_TRUNC) || (size_t)n < head_size)
		return -EBADMSG;
	p->have += (size_t)n - head_size;
	return 0;
}

int packets_receive(struct packets *p, int fd, size_t max)
{
	int r = 0;

	if (!p->is_begun || p->have == p->size) {
		r = begin_message(p, fd, max);
		if (r == 0)
			r = read_packet(p, fd, PACKETS_HEAD_SIZE);
	}
	while (r == 0 && p->have < p->size)
		r = read_packet(p, fd, 0);
	return r < 0 ? r : 1;
}
