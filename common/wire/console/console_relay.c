/* console_relay.c - rows of the document with messages of interactive steps; see console_relay.h. */
#include "common/model/console/console.h"
#include "common/wire/console/console_relay.h"
#include "common/wire/fields.h"
#include "common/wire/sync_fields.h"

static const struct wire_field step_fields[] = {
	SYNC_STEP_ID_ROWS(struct console_relay_step, id),
	WIRE_INT_OR(struct console_relay_step, seen, 0, INT64_MAX, 0, WIRE_OMIT),
	{ .key = "message",
	  .type = WIRE_T_BYTES,
	  .flags = WIRE_OMIT,
	  WIRE_MEMBER(struct console_relay_step, message),
	  .count = offsetof(struct console_relay_step, size),
	  .max = CONSOLE_MESSAGE_MAX },
	WIRE_END,
};

static const struct wire_field relay_fields[] = {
	WIRE_CHARS(struct console_relay, node, 0),
	WIRE_LIST(struct console_relay, "steps", steps, n_steps, CONSOLE_RELAY_MAX, step_fields,
		  0),
	WIRE_END,
};

int console_relay_encode(const struct console_relay *r, json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();

	wire_encode_fields(relay_fields, r, &d);
	return doc_finish(&d, ret, err);
}

int console_relay_decode(const json_t *doc, struct console_relay *ret, struct err *err)
{
	*ret = (struct console_relay){ .n_steps = 0 };
	return wire_decode_fields(relay_fields, doc, ret, err);
}

void console_relay_done(struct console_relay *r)
{
	wire_done_fields(relay_fields, r);
	*r = (struct console_relay){ .n_steps = 0 };
}
