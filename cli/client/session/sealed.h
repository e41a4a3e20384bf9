/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sealed.h - the terminal's end of the authenticated messages: the controller in between can neither make nor change bytes that are typed
 * and shown (common/model/console/console.h). Each terminal has a key of its own, which only root of the node can read.
 */
#pragma once
#include "cli/cli.h"
#include "common/model/console/console.h"
#include "common/seal/seal.h"

struct sealed {
	uint8_t key[SEAL_KEY_SIZE];
	uint64_t session;
	char *credential;      /* the key, for the node */
	uint64_t number;       /* of the last message of output */
	bool is_known;	       /* the node has answered with the key */
	uint64_t state_number; /* of the last message that was sent */
};

/* Makes the key. < 0: as in cli.h. */
int sealed_open(const struct cli *c, int64_t job, int64_t step, struct sealed *ret,
		struct err *err);
void sealed_done(struct sealed *s);
/* Encodes a message with the next number; `data` NULL: without input. Their session and number are set here. `buf` has room for
 * CONSOLE_MESSAGE_MAX bytes. Returns the size. */
size_t sealed_encode(struct sealed *s, const struct console_state *state,
		     const struct console_data *data, uint8_t *buf);
/* A message of output. 1: it is the node's, for this terminal, and newer than the last; 0: of another terminal, or not newer. -EPROTO:
 * changed on its way, or the node takes no more of this terminal: err says why. */
int sealed_check(struct sealed *s, const void *message, const struct console_output *m,
		 struct err *err);
