/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_table - the messages of interactive steps that are under way: of each step the last one of input and the last one
 * of output (common/model/console/console.h). In memory alone, and bounded; what is lost is sent again.
 *
 * A console is attached to one command at a time, which a token identifies. When that command is silent for
 * CONSOLE_LOST_NS, the console is detached, and the step is ended unless its user asked for it to be kept. Pure but for
 * memory: the time is passed in.
 */
#pragma once
#include "common/model/console/console.h"
#include "controller/ledger/steps/steps.h"

#define CONSOLE_LOST_NS (45 * S_NS)  /* a command polls every 20 s */
#define CONSOLE_IDLE_NS (600 * S_NS) /* neither node nor command: forgotten */
#define CONSOLES_PER_USER 32	     /* less while there are many (common/fair.h) */
#define CONSOLES_LEAST 2
#define CONSOLES_PART 8
#define CONSOLES_MAX 512 /* a message each way of at most 512 KiB: 512 MiB */
#define CONSOLE_TOKEN_MAX 33

struct console_entry {
	struct console_entry *next;
	struct store_step_place
		place; /* whose step it is, on which node; node and address below */
	char node[REQUEST_NAME_MAX], address[64];
	bool keeps; /* the step continues when its terminal is lost */
	bool is_attached;
	char token
		[CONSOLE_TOKEN_MAX]; /* of the command that is or was attached; "": none was yet */
	uint64_t number;	     /* of its last message */
	bool has_other_node;	     /* its agent is of another version, and was refused */
	int64_t node_format;	     /* that the node named (CONSOLE_FORMAT) */
	int64_t user_ns, node_ns;    /* when either was last heard from */
	struct console_message {
		uint8_t *data; /* NULL: none yet */
		size_t size;
		uint64_t serial;
	} input, output;
	bool wants_acks; /* the last output asks for acknowledgements */
	int64_t sent_acked
		[CONSOLE_STREAMS]; /* of the last input that the node was to get at once */
	uint64_t
		since; /* serial of the first input of this terminal: output before that was for another one */
};

struct console_table {
	struct console_entry *first;
	size_t n;
};

struct console_entry *console_table_find(const struct console_table *t, int64_t job,
					 int64_t step);
/* A new entry, attached to whatever command comes first. -EDQUOT: the user has too many; -ENOSPC: all together; -ENOMEM. */
int console_table_add(struct console_table *t, const struct store_step_place *place,
		      int64_t now_ns, struct console_entry **ret, struct err *err);
void console_table_clear(struct console_table *t);

struct console_claim {
	const char *token;
	bool takes_over; /* from another command that is attached */
};
/* -EBUSY: another command is attached. */
int console_entry_claim(struct console_entry *e, const struct console_claim *claim,
			int64_t now_ns, struct err *err);
/* A message of the command. 1: the node is to get it now; 0: it can wait, or is older than one before. -EBADMSG, -ENOMEM. */
int console_entry_set_input(struct console_entry *e, const void *data, size_t size,
			    uint64_t now_us, struct err *err);
/* The end of the input that is here; 0: there is none. */
int64_t console_entry_input_end(const struct console_entry *e);
/* A message of the step. 1: the command does not have it; 0: an old one, or one for the terminal that was attached before. */
int console_entry_set_output(struct console_entry *e, const void *data, size_t size,
			     struct err *err);

/* Detaches consoles whose command is silent, and forgets those that are idle. Calls `lost` for each that its node is to
 * hear of. */
typedef void (*console_lost_fn)(void *ctx, const struct console_entry *e);
void console_table_check(struct console_table *t, int64_t now_ns, uint64_t now_us,
			 console_lost_fn lost, void *ctx);
