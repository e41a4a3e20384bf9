/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console - the two messages between a user's terminal and an interactive step (docs/interactive.md).
 *
 * Each has the whole state of its direction, so the latest one replaces all before it: whatever lies between, the
 * controller and the agent, keeps one of each and can lose any of them. Offsets count the bytes of a stream from its
 * beginning. What was not acknowledged is in the next message again.
 *
 * On the wire: little-endian numbers, then the bytes. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Of the messages and of what may be in them: grows with each change. Command, controller and agent name theirs in each request; the
 * controller refuses another one (docs/protocol.md). What names none is older. */
#define CONSOLE_FORMAT 2
/* Of a message, both streams together. One message each way is under way at a time: a round trip through five processes for so much. */
#define CONSOLE_DATA_MAX (512 << 10)
#define CONSOLE_HEAD_MAX 80
#define CONSOLE_MESSAGE_MAX (CONSOLE_HEAD_MAX + CONSOLE_DATA_MAX)
#define CONSOLE_SIDE_MAX 1000 /* rows, columns */

enum { CONSOLE_OUT, CONSOLE_ERR, CONSOLE_STREAMS };

/* From the user to the step. */
struct console_input {
	uint64_t serial; /* of the message, set by the controller: grows */
	uint64_t number; /* of the message, set by the command: grows */
	int64_t offset;	 /* of data[0] */
	int64_t acked
		[CONSOLE_STREAMS]; /* the user has all output before this; may go back: sent again */
	int rows, cols;		   /* of the terminal; 0: not known */
	bool is_end;		   /* the input ends with this data */
	bool is_attached;	   /* a user reads the output */
	bool is_new;	  /* this terminal has no output yet: answer with all that is kept */
	bool hangs_up;	  /* the terminal is gone for good: end the step */
	const void *data; /* borrowed from the encoded message */
	size_t size;
};

/* From the step to the user. */
struct console_output {
	uint64_t serial;
	uint64_t heard; /* serial of the last input that the step got */
	int64_t acked;	/* the program has read all input before this */
	struct console_chunk {
		int64_t offset;
		const void *data; /* borrowed */
		size_t size;
		bool is_end; /* nothing follows this data */
	} streams[CONSOLE_STREAMS];
	bool is_full;	     /* the program waits for acknowledgements */
	bool takes_no_input; /* the program has closed its input, or has ended */
};

/* Encodes into `buf`, which has room for CONSOLE_HEAD_MAX bytes and the data; returns the size. Data beyond CONSOLE_DATA_MAX are the
 * caller's fault: 0. */
size_t console_encode_input(const struct console_input *m, uint8_t *buf);
size_t console_encode_output(const struct console_output *m, uint8_t *buf);
/* The same without the data, which follow it: all of CONSOLE_OUT, then all of CONSOLE_ERR. */
size_t console_encode_output_head(const struct console_output *m,
				  uint8_t buf[static CONSOLE_HEAD_MAX]);
/* -EBADMSG: what is wrong with it. The data stay those of `buf`. */
int console_decode_input(const void *buf, size_t size, struct console_input *ret,
			 struct err *err);
int console_decode_output(const void *buf, size_t size, struct console_output *ret,
			  struct err *err);
