/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packets.h - messages over a SOCK_SEQPACKET socket of this machine, in packets that need no large piece of the kernel's memory.
 *
 * The first packet begins with a head: a magic number, which changes with the form of what is exchanged, and the size of the message.
 * Those that follow have bytes alone. A message of no bytes is allowed.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct iovec;

#define PACKETS_HEAD_SIZE 8
#define PACKETS_SIZE_MAX (64 << 10) /* bytes of a packet */

/* -EAGAIN: nothing was sent, for the socket is full: it can be tried again. Another error: the socket is to be closed, for a part of the message
 * may be under way; so it is when the rest does not fit within `wait_ms` (0: the socket's buffer has room for a message). */
int packets_send(int fd, const struct iovec *pieces, int n_pieces, int wait_ms);

/* What has come of a message; zeroed at first. packets_drop() frees it. */
struct packets {
	uint8_t *data; /* malloc()ed; the caller may take it from a whole message */
	size_t size, have;
	int is_begun;
};
/* Reads the packets that are there, to the end of one message of at most `max` bytes. 1: it is whole, in `data`, until the next call;
 * -EAGAIN: not yet. -ECONNRESET: the other side has closed; -EBADMSG: it sends in another form; -EMSGSIZE, -ENOMEM: the socket is to be
 * closed. */
int packets_receive(struct packets *p, int fd, size_t max);
void packets_drop(struct packets *p);
