/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console - the two messages between a user's terminal and an interactive step (docs/interactive.md).
 *
 * Each has the whole state of its direction, so the latest one replaces all before it: whatever lies between, the
 * controller and the agent, keeps one of each and can lose any of them. Offsets count the bytes of a stream from its
 * beginning. What was not acknowledged is in the next message again.
 *
 * Input and output are authenticated (HMAC) with a key that only the command and the node have (struct signature_console):
 * programs in between can read and delay them, but neither change nor make them. Input has two sealed parts, for the controller
 * keeps the last bytes while messages without any come. A part names its terminal (`session`), and has a number that grows.
 * Fields of the controller and the node themselves have no code.
 *
 * On the wire: little-endian numbers, then the bytes. Pure: makes and checks no code itself.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Of the messages and of what may be in them: grows with each change. Command, controller and agent name theirs in each request; the
 * controller refuses another one (docs/protocol.md). What names none is older. */
#define CONSOLE_FORMAT 3
/* Of a message, both streams together. One message each way is under way at a time: a round trip through five processes for so much. */
#define CONSOLE_DATA_MAX (512 << 10)
#define CONSOLE_CREDENTIAL_MAX 1024
#define CONSOLE_HEAD_MAX (CONSOLE_CREDENTIAL_MAX + 256) /* a message without its data */
#define CONSOLE_MESSAGE_MAX (CONSOLE_HEAD_MAX + CONSOLE_DATA_MAX)
#define CONSOLE_SIDE_MAX 1000 /* rows, columns */
#define CONSOLE_MAC_SIZE 32   /* SEAL_MAC_SIZE of common/seal */

/* Labels of the authenticated parts. */
#define CONSOLE_STATE_LABEL "reeve console: state of the terminal"
#define CONSOLE_DATA_LABEL "reeve console: input"
#define CONSOLE_OUTPUT_LABEL "reeve console: output"

enum { CONSOLE_OUT, CONSOLE_ERR, CONSOLE_STREAMS };

/* A sealed part of a message, borrowed from it: the bytes, then CONSOLE_MAC_SIZE bytes of code over them. Size 0: there is none. */
struct console_part {
	const uint8_t *bytes;
	size_t size;
};

/* From the user to the step. */
struct console_input {
	uint64_t serial; /* of the message, set by the controller: grows */
	bool is_lost;	 /* by the controller: the terminal is lost */
	/* Text, not sealed: the key of the terminal for the node (signature_encode_console()), until the node has received it. */
	struct console_part credential;
	struct console_part state, data;
};

/* The sealed part `state`: what holds of the terminal now. */
struct console_state {
	uint64_t
		session; /* of the terminal: when it began, in ns; grows from one to the next */
	uint64_t number; /* of the message, set by the command: grows */
	int64_t offset;	 /* all input before this is acknowledged */
	int64_t acked
		[CONSOLE_STREAMS]; /* the user has all output before this; may go back: sent again */
	int rows, cols;		   /* of the terminal; 0: not known */
	bool is_attached;	   /* a user reads the output */
	bool is_new;   /* this terminal has no output yet: answer with all buffered output */
	bool hangs_up; /* the terminal is gone for good: end the step */
};
/* The sealed part `data`: the typed bytes. */
struct console_data {
	uint64_t session, number;
	int64_t offset; /* of data[0] */
	bool is_end;	/* the input ends with this data */
	const void *data;
	size_t size;
};

/* Why a node takes no more of a terminal. */
enum console_refusal {
	CONSOLE_ACCEPTED,
	CONSOLE_BAD_KEY, /* no key that the job's user made for this step */
	CONSOLE_EARLIER, /* by the clocks of both, the terminal began before the step's present one */
	CONSOLE_CHANGED,       /* something was changed on its way */
	CONSOLE_REFUSAL_COUNT, /* of the above */
};
/* As the end of a sentence: "the node refuses this terminal: ". "" if it is accepted. */
const char *console_refusal_words(enum console_refusal why);

/* From the step to the user. */
struct console_output {
	/* not sealed */
	uint64_t serial;
	uint64_t heard; /* serial of the last input that the step got */
	enum console_refusal refusal;
	uint64_t refused; /* the session that the last refusal is about; 0: none */
	/* sealed */
	uint64_t session; /* with the key of this terminal; 0: none yet, no codes */
	uint64_t number;  /* of `serial` */
	int64_t acked;	  /* the program has read all input before this */
	struct console_chunk {
		int64_t offset;
		const void *data; /* borrowed */
		size_t size;
		bool is_end; /* nothing follows this data */
	} streams[CONSOLE_STREAMS];
	bool is_full;	     /* the program waits for acknowledgements */
	bool takes_no_input; /* the program has closed its input, or has ended */
};

/* ---- input ---- */

/* The parts into `buf`, which has room for CONSOLE_HEAD_MAX bytes and the data; returns the size. 0: larger than a message may be. */
size_t console_encode_input(const struct console_input *m, uint8_t *buf);
/* -EBADMSG: `err` says the fault. The parts point into `buf`, and are not decoded. */
int console_decode_input(const void *buf, size_t size, struct console_input *ret,
			 struct err *err);

#define CONSOLE_STATE_SIZE (48 + CONSOLE_MAC_SIZE)
#define CONSOLE_DATA_HEAD 28
#define CONSOLE_DATA_SIZE_MAX (CONSOLE_DATA_HEAD + CONSOLE_DATA_MAX + CONSOLE_MAC_SIZE)
/* A part without its code: the last CONSOLE_MAC_SIZE bytes are left for the code; returns the size of all. 0: too much data. */
size_t console_encode_state(const struct console_state *s,
			    uint8_t buf[static CONSOLE_STATE_SIZE]);
size_t console_encode_data(const struct console_data *d, uint8_t *buf);
/* -EBADMSG. The code is not checked. */
int console_decode_state(struct console_part p, struct console_state *ret, struct err *err);
int console_decode_data(struct console_part p, struct console_data *ret, struct err *err);

/* ---- output ---- */

/* The sizes in an encoded message: the head, with its sealed part and the code; the data, sealed too, follow. */
#define CONSOLE_SEALED_AT 32
#define CONSOLE_SEALED_SIZE 52
#define CONSOLE_MAC_AT (CONSOLE_SEALED_AT + CONSOLE_SEALED_SIZE)
#define CONSOLE_OUTPUT_HEAD (CONSOLE_MAC_AT + CONSOLE_MAC_SIZE)

/* The head, whose code is left out. The data must follow: all of CONSOLE_OUT, then all of CONSOLE_ERR. Returns its size; 0: more than
 * CONSOLE_DATA_MAX bytes of data. */
size_t console_encode_output(const struct console_output *m,
			     uint8_t buf[static CONSOLE_OUTPUT_HEAD]);
/* -EBADMSG: `err` says the fault. The data point into `buf`, the code is not checked. */
int console_decode_output(const void *buf, size_t size, struct console_output *ret,
			  struct err *err);
