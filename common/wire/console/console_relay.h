/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_relay - POST /v1/node/console (docs/protocol.md), both ways: messages of interactive steps between a node and the
 * controller, which do not look into what the other side wrote. The messages follow the document, one after the other, as its attached
 * bytes (common/wire/wire.h).
 */
#pragma once
#include "common/wire/sync.h"

#define CONSOLE_RELAY_MAX 1024 /* steps of a document */

struct console_relay_step {
	struct sync_step_id id;
	int64_t seen; /* request: serial of the last input that the node has; answer: 0 */
	/* Request: output; answer: input (common/model/console/console.h); NULL: none. Borrowed; decoded: from the document. */
	const void *message;
	int64_t size;
};
struct console_relay {
	char node[REQUEST_NAME_MAX];
	int64_t format; /* of the sender (CONSOLE_FORMAT); 0: it names none, and is older than that */
	struct console_relay_step *steps;
	size_t n_steps;
};

/* -ENOMEM. */
int console_relay_encode(const struct console_relay *r, json_t **ret, struct err *err);
/* -EINVAL with the path of the wrong key, or other bytes than the steps say; -ENOMEM. *ret needs console_relay_done(), also then. */
int console_relay_decode(const json_t *doc, struct console_relay *ret, struct err *err);
void console_relay_done(struct console_relay *r);
