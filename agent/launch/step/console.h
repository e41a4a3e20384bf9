/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.h - the waiter's side of an interactive step: a pseudo-terminal or pipes, and a socket for the agent.
 *
 * The agent connects to the socket (SOCK_SEQPACKET, common/packets/packets.h, in a directory of root's) and passes on what the controller has
 * for the step: messages of input (common/model/console/console.h), before them the keys of their terminals (session.h), or an empty one:
 * "the last message of output was passed on, the next one may come". So at most one message of output is in transit, and the agent buffers nothing. The socket survives the
 * agent: another one connects and gets the state of the console.
 *
 * The last STEP_CONSOLE_KEPT bytes of each stream stay here, until the user has them and after that for one who attaches. While
 * they are not acknowledged the program waits: its terminal or pipe is not read. A terminal that no user is attached to is read
 * all the same, and the oldest output is lost.
 */
#pragma once
#include "agent/launch/step/step.h"

#define STEP_CONSOLE_KEPT (768 << 10) /* a message, and what the program prints meanwhile */

struct err;
struct step_console;

/* What the child gets as 0, 1 and 2: the slave of the terminal three times, or ends of pipes. */
struct step_console_ends {
	int in, out, err; /* the caller closes them after the fork */
};
/* Makes the terminal (of the user, mode 620) or the pipes, and listens on spec->socket. */
int step_console_open(const struct step_spec *spec, struct step_console **ret,
		      struct step_console_ends *ret_ends, struct err *err);
void step_console_close(struct step_console *c);

enum step_console_event {
	STEP_CONSOLE_SIGNAL = 1, /* `signals` is readable */
	STEP_CONSOLE_HANGUP = 2, /* the terminal is gone for good; once */
};
/* Passes bytes on until a signal or a hang-up comes, `timeout_ms` (-1: none) are over, or after step_console_end() all is acknowledged. A
 * set of events. */
int step_console_run(struct step_console *c, int signals, int timeout_ms);
/* The program has ended: what it left in the terminal or the pipes is the last of its output. */
void step_console_end(struct step_console *c);
/* Has the user acknowledged all output? */
bool step_console_is_done(const struct step_console *c);
bool step_console_is_attached(const struct step_console *c);
