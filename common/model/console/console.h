/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console - the two messages between a user's terminal and an interactive step (docs/interactive.md).
 *
 * Each has the whole state of its direction, so the latest one replaces all before it: whatever lies between, the
 * controller and the agent, keeps one of each and can lose any of them. Offsets count the bytes of a stream from its
 * beginning. What was not acknowledged is in the next message again.
 *
 * What the user types and sees is sealed (common/seal) with a key that only the command and the node have (struct signature_console):
 * what lies between can read it and hold it back, but neither change nor make it. Input has two sealed parts, for the controller
 * keeps the last bytes while messages without any come. A part says for which terminal it is (`session`), and has a number that grows.
 * Outside of the seals is what controller and node say themselves.
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

/* Labels of what is sealed. */
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
	/* Text, not sealed: the key of the terminal for the node (signature_encode_console()), until the node has it. */
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
	bool is_new;   /* this terminal has no output yet: answer with all that is kept */
	bool hangs_up; /* the terminal is gone for good: end the step */
};
/* The sealed part `data`: what was typed. */
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
	CONSOLE_EARLIER, /* by the clocks of both, the terminal began before the one that the step has */
	CONSOLE_CHANGED,       /* something was changed on its way */
	CONSOLE_REFUSAL_COUNT, /* of the above */
};
/* As the end of a sentence: "the node refuses this terminal: ". "" where it is accepted. */
const char *console_refusal_words(enum console_refusal why);

/* From the step to the user. */
struct console_output {
	/* not sealed */
	uint64_t serial;
	uint64_t heard; /* serial of the last input that the step got */
	enum console_refusal refusal;
	uint64_t refused; /* the session that the last refusal is about; 0: none */
	/* sealed */
	uint64_t session; /* whose key seals it; 0: no terminal yet, and nothing is sealed */
	uint64_t number;  /* that of `serial` */
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
/* -EBADMSG: what is wrong with it. The parts stay those of `buf`, and are not looked into. */
int console_decode_input(const void *buf, size_t size, struct console_input *ret,
			 struct err *err);

#define CONSOLE_STATE_SIZE (48 + CONSOLE_MAC_SIZE)
#define CONSOLE_DATA_HEAD 28
#define CONSOLE_DATA_SIZE_MAX (CONSOLE_DATA_HEAD + CONSOLE_DATA_MAX + CONSOLE_MAC_SIZE)
/* A part without its code, for which the last CONSOLE_MAC_SIZE bytes of it are left; returns the size of all. 0: too much data. */
size_t console_encode_state(const struct console_state *s,
			    uint8_t buf[static CONSOLE_STATE_SIZE]);
size_t console_encode_data(const struct console_data *d, uint8_t *buf);
/* -EBADMSG. The code is not checked. */
int console_decode_state(struct console_part p, struct console_state *ret, struct err *err);
int console_decode_data(struct console_part p, struct console_data *ret, struct err *err);

/* ---- output ---- */

/* Of an encoded message: the head, with what is sealed of it and the code; the data, sealed too, follow. */
#define CONSOLE_SEALED_AT 32
#define CONSOLE_SEALED_SIZE 52
#define CONSOLE_MAC_AT (CONSOLE_SEALED_AT + CONSOLE_SEALED_SIZE)
#define CONSOLE_OUTPUT_HEAD (CONSOLE_MAC_AT + CONSOLE_MAC_SIZE)

/* The head, whose code is left out. The data are to follow: all of CONSOLE_OUT, then all of CONSOLE_ERR. Returns its size; 0: more than
 * CONSOLE_DATA_MAX bytes of data. */
size_t console_encode_output(const struct console_output *m,
			     uint8_t buf[static CONSOLE_OUTPUT_HEAD]);
/* -EBADMSG: what is wrong with it. The data stay those of `buf`, the code is not checked. */
int console_decode_output(const void *buf, size_t size, struct console_output *ret,
			  struct err *err);
