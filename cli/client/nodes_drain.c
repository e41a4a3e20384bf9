/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes_drain.c - drains and resumes nodes, and prints which are drained; see nodes_drain.h. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "cli/client/nodes_drain.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

static const struct table_column columns[] = {
	{ "node", "NODE", CELL_TEXT },
	{ "order", "ORDER", CELL_TEXT },
	{ 0 },
};

/* Parses "+2:00:00" from now, or a local time: "2026-12-01T08:00", "2026-12-01 08:00:00". */
static int parse_from(const char *text, int64_t *ret_ns, struct err *err)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
					     "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", NULL };
	int64_t in_s;

	if (*text == '+') {
		int r = amount_parse_seconds(text + 1, &in_s, err);

		*ret_ns = ((int64_t)time(NULL) + (r < 0 ? 0 : in_s)) * S_NS;
		return r < 0 ? err_prefix(err, r, "--from") : 0;
	}
	for (int i = 0; forms[i]; i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, forms[i], &tm);
		time_t at = end && !*end ? mktime(&tm) : -1;

		*ret_ns = (int64_t)at * S_NS;
		if (at > 0)
			return 0;
	}
	return err_set(
		err, -EINVAL,
		"--from '%.40s' is not a time; write 2026-12-01T08:00, or +2:00:00 from now",
		text);
}

/* Adds the time of --from; without one the controller drains at once. */
static int add_from(const char *from, json_t *body, struct err *err)
{
	int64_t from_ns;
	int r = from ? parse_from(from, &from_ns, err) : 0;

	if (!from || r < 0)
		return r;
	if (json_object_set_new(body, "from_ns", json_integer(from_ns)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* The nodes are the arguments behind the word. -EINVAL: text that is not UTF-8, or a bad --from. */
static int make_body(const struct verb_call *call, json_t **ret, struct err *err)
{
	const char *reason = verb_value(call, "reason");
	_cleanup_json_ json_t *body = wire_new();
	json_t *nodes = json_array();

	if (!body || json_object_set_new(body, "nodes", nodes) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 1; i < call->n_args; i++)
		if (json_array_append_new(nodes, json_string(call->args[i])) < 0)
			return err_set(err, -EINVAL, "'%.40s' is not UTF-8 text",
				       call->args[i]);
	if (reason && json_object_set_new(body, "reason", json_string(reason)) < 0)
		return err_set(err, -EINVAL, "the reason is not UTF-8 text");
	if (add_from(verb_value(call, "from"), body, err) < 0)
		return -EINVAL;
	*ret = TAKE_PTR(body);
	return 0;
}

/* Checks everything that needs no controller, so that a mistake changes no node. */
static int check_words(const struct verb_call *call, struct err *err)
{
	const char *word = call->args[0];
	bool is_drain = strcmp(word, "drain") == 0;

	if (!is_drain && strcmp(word, "resume") != 0)
		return err_set(
			err, -EINVAL,
			"'%.40s' is not a command of 'reeve nodes': use drain or resume; "
			"'reeve top --node %.40s' shows one node",
			word, word);
	if (call->n_args < 2)
		return err_set(err, -EINVAL, "no node; name them: reeve nodes %s n1 n2", word);
	if (is_drain && !verb_value(call, "reason"))
		return err_set(err, -EINVAL,
			       "no reason; give --reason 'disk': 'reeve nodes' shows it");
	return 0;
}

int nodes_drain_run(const struct verb_call *call, struct cli *c, struct err *err)
{
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	_cleanup_(table_freep) struct table *t = NULL;
	struct http_call ask = { .method = "POST" };
	int r = check_words(call, err);

	if (r >= 0)
		r = make_body(call, &body, err);
	if (r >= 0)
		r = table_new("nodes", columns, &t, err);
	if (r < 0)
		return r;
	ask.path = strcmp(call->args[0], "drain") ? "/v1/nodes/resume" : "/v1/nodes/drain";
	ask.body = body;
	r = cli_ask(c, ask, &answer, err);
	if (r < 0)
		return r;
	for (int i = 1; i < call->n_args; i++) {
		table_row(t);
		table_text(t, "node", call->args[i]);
		table_text(t, "order", call->args[0]);
	}
	return table_print(t, &c->format, err);
}

void nodes_drain_print_reasons(const struct cli *c, const json_t *nodes)
{
	FILE *to = c->format.to;
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		const json_t *drain = json_object_get(node, "drain");
		const char *name = cli_text(node, "node"), *by = cli_text(drain, "author"),
			   *why = cli_text(drain, "reason");
		int64_t at_ns = cli_int(drain, "at_ns", 0),
			from_ns = cli_int(drain, "from_ns", 0);
		char at[TABLE_CELL_MAX];

		if (!drain)
			continue;
		cli_put(to, name ? name : "?");
		fputs(": drained by ", to);
		cli_put(to, by ? by : "?");
		if (from_ns > at_ns)
			fprintf(to, " from %s", table_format_cell(CELL_TIME_NS, from_ns, at));
		else
			fprintf(to, " since %s", table_format_cell(CELL_TIME_NS, at_ns, at));
		fputs(": ", to);
		cli_put_line(to, why ? why : "");
		fputc('\n', to);
	}
}
