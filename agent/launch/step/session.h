/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.h - which terminal an interactive step has, and what of its messages is genuine.
 *
 * A terminal makes a key, and encrypts it for root of a node; the agent decrypts it, checks whose it is, and passes it on. Each message of the
 * terminal is sealed with the key (common/model/console/console.h), so the controller, through which it comes, cannot make or change
 * any of it. It cannot repeat any of it either: the numbers within a terminal's messages grow, and a terminal that began earlier than the
 * present one is refused. When a message was changed, nothing more of that terminal is taken.
 *
 * Pure but for common/seal: bytes in, decisions out.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include "common/model/console/console.h"
#include "common/seal/seal.h"

/* From the agent to the waiter, before the message with the credential. No message of input begins with this number. */
#define STEP_SESSION_KEY_MAGIC 0x31454b52u /* "RKE1" */
struct step_session_key {
	uint32_t magic;
	uint32_t
		is_refused; /* the agent could not open the credential, or it is not the user's for this step */
	uint64_t session; /* that the message says; is_refused: that nothing proves */
	uint8_t key[SEAL_KEY_SIZE];
};

struct step_session {
	uint64_t begin_ns; /* no terminal that began earlier is taken */
	uint64_t session;  /* of the terminal; 0: there was none yet */
	uint8_t key[SEAL_KEY_SIZE];
	uint64_t state_number, data_number; /* of the last messages */
	bool is_over;			    /* a message was changed */
	enum console_refusal refusal;	    /* the last one, and its terminal */
	uint64_t refused;
};

/* `begin_ns`: no terminal that began earlier is taken. */
void step_session_init(struct step_session *s, uint64_t begin_ns);
/* Whether that is a key, for step_session_begin(). */
bool step_session_is_key(const void *packet, size_t size);
/* A terminal with this key. 1: it is a new one; 0: the present one, or it is refused (s->refused). */
int step_session_begin(struct step_session *s, const struct step_session_key *k);
/* Parts of a message. 1: *ret is genuine and newer than what came before; 0: of another terminal, not newer, or there is none;
 * -EBADMSG: changed on its way: the terminal is over, and refused. */
int step_session_take_state(struct step_session *s, struct console_part p,
			    struct console_state *ret);
int step_session_take_data(struct step_session *s, struct console_part p,
			   struct console_data *ret);
/* Puts the code of a message of output into its encoded head; `data`: the bytes that follow it. */
void step_session_seal(const struct step_session *s, uint8_t head[static CONSOLE_OUTPUT_HEAD],
		       const struct iovec *data, size_t n);
