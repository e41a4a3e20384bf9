/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_relay.c - rows of the document with messages of interactive steps; see console_relay.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/console/console.h"
#include "common/wire/console/console_relay.h"
#include "common/wire/fields.h"
#include "common/wire/sync_fields.h"

static const struct wire_field step_fields[] = {
	SYNC_STEP_ID_ROWS(struct console_relay_step, id),
	WIRE_INT_OR(struct console_relay_step, seen, 0, INT64_MAX, 0, WIRE_OMIT),
	WIRE_INT_OR(struct console_relay_step, size, 0, CONSOLE_MESSAGE_MAX, 0, WIRE_OMIT),
	WIRE_END,
};

static const struct wire_field relay_fields[] = {
	WIRE_CHARS(struct console_relay, node, 0),
	WIRE_INT_OR(struct console_relay, format, 0, INT32_MAX, 0, WIRE_OMIT),
	WIRE_LIST(struct console_relay, "steps", steps, n_steps, CONSOLE_RELAY_MAX, step_fields,
		  0),
	WIRE_END,
};

/* One after the other in one piece of memory. */
static int attach_messages(const struct console_relay *r, json_t *doc)
{
	_cleanup_free_ uint8_t *all = NULL;
	size_t size = 0, at = 0;

	for (size_t i = 0; i < r->n_steps; i++)
		size += (size_t)r->steps[i].size;
	if (!size)
		return 0;
	all = malloc(size);
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_steps; i++) {
		if (r->steps[i].size)
			memcpy(all + at, r->steps[i].message, (size_t)r->steps[i].size);
		at += (size_t)r->steps[i].size;
	}
	return wire_attach(doc, all, size);
}

int console_relay_encode(const struct console_relay *r, json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *doc = NULL;
	int result;

	wire_encode_fields(relay_fields, r, &d);
	result = doc_finish(&d, &doc, err);
	if (result >= 0 && attach_messages(r, doc) < 0)
		result = err_set(err, -ENOMEM, "out of memory");
	if (result >= 0)
		*ret = TAKE_PTR(doc);
	return result;
}

static int find_messages(const json_t *doc, struct console_relay *r, struct err *err)
{
	size_t left;
	const uint8_t *at = wire_attached(doc, &left);

	for (size_t i = 0; i < r->n_steps; i++) {
		struct console_relay_step *s = &r->steps[i];

		if ((size_t)s->size > left)
			return err_set(err, -EINVAL,
				       "steps[%zu].size: fewer bytes follow the document", i);
		s->message = NULL;
		if (!s->size)
			continue; /* without any bytes `at` is NULL, and not to be added to */
		s->message = at;
		at += s->size;
		left -= (size_t)s->size;
	}
	return left ? err_set(err, -EINVAL, "more bytes follow the document than the steps say")
		    : 0;
}

int console_relay_decode(const json_t *doc, struct console_relay *ret, struct err *err)
{
	int r;

	*ret = (struct console_relay){ .n_steps = 0 };
	r = wire_decode_fields(relay_fields, doc, ret, err);
	return r < 0 ? r : find_messages(doc, ret, err);
}

void console_relay_done(struct console_relay *r)
{
	wire_done_fields(relay_fields, r);
	*r = (struct console_relay){ .n_steps = 0 };
}
