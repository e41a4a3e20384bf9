/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_packets.c - messages in packets: any size, what is not a message, a full socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/packets/packets.h"

#define MAX (512 << 10)

static int ends[2];

static int open_ends(void **state)
{
	const int size = 4 << 20;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	return 0;
}

static int close_ends(void **state)
{
	(void)state;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/* Sends `size` bytes in three pieces, in a socket whose buffer may be small, and reads them meanwhile. */
static void exchange_message(size_t size)
{
	static uint8_t sent[MAX];
	struct packets p = { .data = NULL };
	const struct iovec pieces[] = { { sent, size / 3 },
					{ sent + size / 3, 0 },
					{ sent + size / 3, size - size / 3 } };

	for (size_t i = 0; i < size; i++)
		sent[i] = (uint8_t)(i * 2654435761u >> 13);
	assert_int_equal(packets_send(ends[0], pieces, 3, 0), 0);
	assert_int_equal(packets_send(ends[0], NULL, 0, 0), 0);
	assert_int_equal(packets_receive(&p, ends[1], MAX), 1);
	assert_int_equal(p.size, size);
	assert_memory_equal(p.data, sent, size);
	assert_int_equal(packets_receive(&p, ends[1], MAX), 1);
	assert_int_equal(p.size, 0);
	assert_int_equal(packets_receive(&p, ends[1], MAX), -EAGAIN);
	packets_drop(&p);
}

static void messages_arrive_whole(void **state)
{
	(void)state;
	exchange_message(1);
	exchange_message(100);
	exchange_message(PACKETS_SIZE_MAX - PACKETS_HEAD_SIZE);
	exchange_message(PACKETS_SIZE_MAX - PACKETS_HEAD_SIZE + 1);
	if (geteuid() == 0) /* the buffer is as large as was asked for */
		exchange_message(MAX);
}

static void a_part_waits_for_the_rest(void **state)
{
	uint32_t head[2];
	char raw[PACKETS_HEAD_SIZE + 4];
	struct packets p = { .data = NULL };
	char digits[] = "0123456789";
	const struct iovec ten = { digits, 10 };

	(void)state;
	assert_int_equal(packets_send(ends[0], &ten, 1, 0), 0);
	assert_int_equal(recv(ends[1], head, sizeof(head), 0), sizeof(head));
	memcpy(raw, head, sizeof(head));
	memcpy(raw + sizeof(head), "0123", 4);
	assert_int_equal(send(ends[0], raw, sizeof(raw), 0), sizeof(raw));
	assert_int_equal(packets_receive(&p, ends[1], MAX), -EAGAIN);
	assert_int_equal(send(ends[0], "456789", 6, 0), 6);
	assert_int_equal(packets_receive(&p, ends[1], MAX), 1);
	assert_memory_equal(p.data, "0123456789", 10);
	packets_drop(&p);
}

static void other_forms_are_refused(void **state)
{
	struct packets p = { .data = NULL };
	char digits[] = "0123456789";
	const struct iovec ten = { digits, 10 };

	(void)state;
	assert_int_equal(send(ends[0], "x", 1, 0), 1);
	assert_int_equal(packets_receive(&p, ends[1], MAX), -EBADMSG);
	recv(ends[1], (char[16]){ 0 }, 16, 0);
	assert_int_equal(send(ends[0], "RSI1 a message without a head", 30, 0), 30);
	assert_int_equal(packets_receive(&p, ends[1], MAX), -EBADMSG);
	recv(ends[1], (char[32]){ 0 }, 32, 0);
	assert_int_equal(packets_send(ends[0], &ten, 1, 0), 0);
	assert_int_equal(packets_receive(&p, ends[1], 9), -EMSGSIZE);
	shutdown(ends[0], SHUT_RDWR);
	recv(ends[1], (char[32]){ 0 }, 32, 0);
	assert_int_equal(packets_receive(&p, ends[1], MAX), -ECONNRESET);
	packets_drop(&p);
}

static void a_full_socket_is_said(void **state)
{
	static uint8_t much[60000];
	const struct iovec one = { much, sizeof(much) };
	int r = 0;

	(void)state;
	for (int i = 0; i < 1000 && r == 0; i++)
		r = packets_send(ends[0], &one, 1, 0);
	assert_int_equal(r, -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_arrive_whole, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(a_part_waits_for_the_rest, open_ends,
						close_ends),
		cmocka_unit_test_setup_teardown(other_forms_are_refused, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(a_full_socket_is_said, open_ends, close_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
