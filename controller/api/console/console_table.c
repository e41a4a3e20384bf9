/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_table.c - the messages of interactive steps that are under way; see console_table.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/fair.h"
#include "common/time_units.h"
#include "controller/api/console/console_table.h"

struct console_entry *console_table_find(const struct console_table *t, int64_t job,
					 int64_t step)
{
	struct console_entry *e = t->first;

	while (e && (e->place.id.job != job || e->place.id.step != step))
		e = e->next;
	return e;
}

static size_t count_of_user(const struct console_table *t, uint32_t uid)
{
	size_t n = 0;

	for (const struct console_entry *e = t->first; e; e = e->next)
		n += e->place.uid == uid;
	return n;
}

int console_table_add(struct console_table *t, const struct store_step_place *place,
		      int64_t now_ns, struct console_entry **ret, struct err *err)
{
	const struct fair_use use = { .used = (int64_t)count_of_user(t, place->uid),
				      .all_used = (int64_t)t->n,
				      .max = CONSOLES_MAX,
				      .most = CONSOLES_PER_USER,
				      .least = CONSOLES_LEAST,
				      .part = CONSOLES_PART };
	struct console_entry *e;

	if (!fair_has_room(&use, 1) && t->n < CONSOLES_MAX)
		return err_set(err, -EDQUOT,
			       "you have %" PRId64
			       " interactive commands already; let one end first",
			       use.used);
	if (t->n >= CONSOLES_MAX)
		return err_set(
			err, -ENOSPC,
			"the controller has %d interactive commands, and takes no more now",
			CONSOLES_MAX);
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->place = *place;
	snprintf(e->node, sizeof(e->node), "%s", place->node);
	snprintf(e->address, sizeof(e->address), "%s", place->address);
	e->keeps = place->keeps;
	e->is_attached = true;
	e->user_ns = e->node_ns = now_ns;
	e->next = t->first;
	t->first = e;
	t->n++;
	*ret = e;
	return 0;
}

static void free_entry(struct console_entry *e)
{
	free(e->input.data);
	free(e->output.data);
	free(e);
}

void console_table_clear(struct console_table *t)
{
	for (struct console_entry *e = t->first, *next; e; e = next) {
		next = e->next;
		free_entry(e);
	}
	*t = (struct console_table){ .n = 0 };
}

/* What is kept of the output was for the terminal before: it may begin beyond what this one is to be shown. */
static void begin_terminal(struct console_entry *e, const char *token)
{
	snprintf(e->token, sizeof(e->token), "%s", token);
	e->number = 0;
	e->since = 0;
	free(e->output.data);
	e->output.data = NULL;
	e->output.size = 0;
}

int console_entry_claim(struct console_entry *e, const struct console_claim *claim,
			int64_t now_ns, struct err *err)
{
	bool is_other = strcmp(e->token, claim->token) != 0;

	if (is_other && e->is_attached && e->token[0] && !claim->takes_over)
		return err_set(err, -EBUSY,
			       "another terminal is attached to step %lld of job %lld",
			       (long long)e->place.id.step, (long long)e->place.id.job);
	if (is_other)
		begin_terminal(e, claim->token);
	e->user_ns = now_ns;
	return 0;
}

/* Of the controller's clock, so that it grows over restarts. */
static uint64_t next_serial(const struct console_message *m, uint64_t now_us)
{
	return now_us > m->serial ? now_us : m->serial + 1;
}

static int keep_message(struct console_message *m, const uint8_t *data, size_t size,
			uint64_t serial, struct err *err)
{
	uint8_t *copy = malloc(size);

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(copy, data, size);
	free(m->data);
	*m = (struct console_message){ copy, size, serial };
	return 0;
}

/* The last message of the terminal, as it was decoded. */
struct said {
	struct console_input m;
	struct console_state state;
	struct console_data data; /* session 0: none */
};

/* 1: *ret is set; 0: there is none yet, or its sealed parts are missing. */
static int read_last(const struct console_entry *e, struct said *ret)
{
	*ret = (struct said){ .m = { .serial = 0 } };
	if (!e->input.data ||
	    console_decode_input(e->input.data, e->input.size, &ret->m, NULL) < 0 ||
	    console_decode_state(ret->m.state, &ret->state, NULL) < 0)
		return 0;
	if (ret->m.data.size)
		console_decode_data(ret->m.data, &ret->data, NULL);
	return 1;
}

static int read_message(const void *data, size_t size, struct said *ret, struct err *err)
{
	int r = console_decode_input(data, size, &ret->m, err);

	if (r < 0)
		return r;
	r = console_decode_state(ret->m.state, &ret->state, err);
	if (r < 0)
		return r;
	ret->data = (struct console_data){ .session = 0 };
	ret->m.is_lost = false; /* ours to say */
	return ret->m.data.size ? console_decode_data(ret->m.data, &ret->data, err) : 0;
}

/* Acknowledgements alone can wait for the next message, unless the program waits for them, or output is to be sent again. What counts is
 * the last message that was sent at once: the node may not have one that could wait. */
static bool is_urgent(const struct console_entry *e, const struct said *s)
{
	const struct console_state *now = &s->state;
	struct said old;
	bool is_acked = false, is_back = false;

	if (!read_last(e, &old) || old.m.is_lost || old.state.session != now->session)
		return true;
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		is_acked |= now->acked[i] > e->sent_acked[i];
		is_back |= now->acked[i] < old.state.acked[i];
	}
	return s->data.size || s->data.is_end > old.data.is_end ||
	       now->rows != old.state.rows || now->cols != old.state.cols ||
	       now->is_attached != old.state.is_attached || now->hangs_up || is_back ||
	       (is_acked && e->wants_acks);
}

/* Stores *m with a new serial where the node is to get it now, else with the old one. */
static int store_input(struct console_entry *e, struct console_input *m, bool is_new,
		       uint64_t now_us, struct err *err)
{
	uint8_t *buf = malloc(CONSOLE_HEAD_MAX + m->data.size), *less;
	size_t size;

	if (!buf)
		return err_set(err, -ENOMEM, "out of memory");
	m->serial = is_new ? next_serial(&e->input, now_us) : e->input.serial;
	size = console_encode_input(m, buf); /* its parts may lie in the message before */
	less = realloc(buf, size);
	free(e->input.data);
	e->input = (struct console_message){ less ? less : buf, size, m->serial };
	return 0;
}

/* A message without data, a poll, keeps the data of the message before it, until all of them are acknowledged. */
static void keep_data(const struct console_entry *e, struct said *s)
{
	const struct console_data *d;
	struct said old;

	if (s->m.data.size || !read_last(e, &old) || !old.m.data.size)
		return;
	d = &old.data;
	if (d->session != s->state.session)
		return;
	if (d->is_end || d->offset + (int64_t)d->size > s->state.offset)
		s->m.data = old.m.data;
}

int64_t console_entry_input_end(const struct console_entry *e)
{
	struct said last;

	if (!read_last(e, &last))
		return 0;
	return last.m.data.size ? last.data.offset + (int64_t)last.data.size
				: last.state.offset;
}

int console_entry_set_input(struct console_entry *e, const void *data, size_t size,
			    uint64_t now_us, struct err *err)
{
	struct said s;
	int r = read_message(data, size, &s, err);
	bool is_new;

	if (r < 0)
		return r;
	if (s.state.number <= e->number)
		return 0;
	e->number = s.state.number;
	is_new = !e->since || is_urgent(e, &s);
	keep_data(e, &s);
	e->is_attached = s.state.is_attached;
	/* Detached by its user: the step continues. The token stays, so that a message of before that, which comes late on another
	 * connection, has an old number and does not attach its terminal again. */
	e->keeps |= !s.state.is_attached;
	r = store_input(e, &s.m, is_new, now_us, err);
	if (r < 0)
		return r;
	if (is_new)
		memcpy(e->sent_acked, s.state.acked, sizeof(e->sent_acked));
	if (!e->since)
		e->since = e->input.serial;
	return is_new;
}

int console_entry_set_output(struct console_entry *e, const void *data, size_t size,
			     struct err *err)
{
	struct console_output m;
	int r = console_decode_output(data, size, &m, err);

	if (r < 0)
		return r;
	if (m.serial <= e->output.serial || m.heard < e->since)
		return 0;
	e->wants_acks =
		m.is_full || m.streams[CONSOLE_OUT].is_end || m.streams[CONSOLE_ERR].is_end;
	r = keep_message(&e->output, data, size, m.serial, err);
	return r < 0 ? r : 1;
}

/* The terminal is lost: its step is to end, or goes on without one. True: the node is to hear of it. */
static bool detach_lost(struct console_entry *e, uint64_t now_us)
{
	struct console_input m = { .serial = 0 };

	e->is_attached = false;
	if (e->input.data && console_decode_input(e->input.data, e->input.size, &m, NULL) < 0)
		return false;
	m.is_lost = true;
	return store_input(e, &m, true, now_us, NULL) >= 0;
}

void console_table_check(struct console_table *t, int64_t now_ns, uint64_t now_us,
			 console_lost_fn lost, void *ctx)
{
	struct console_entry **at = &t->first;

	while (*at) {
		struct console_entry *e = *at;

		if (e->is_attached && now_ns - e->user_ns > CONSOLE_LOST_NS &&
		    detach_lost(e, now_us))
			lost(ctx, e);
		if (now_ns - e->user_ns > CONSOLE_IDLE_NS &&
		    now_ns - e->node_ns > CONSOLE_IDLE_NS) {
			*at = e->next;
			t->n--;
			free_entry(e);
		} else {
			at = &e->next;
		}
	}
}
