/* nodes_order.c - see nodes_order.h. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "cli/nodes_order.h"
#include "common/err.h"
#include "common/wire/wire.h"

static const struct table_column columns[] = {
	{ "node", "NODE", CELL_TEXT },
	{ "order", "ORDER", CELL_TEXT },
	{ 0 },
};

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
	*ret = TAKE_PTR(body);
	return 0;
}

static int check_words(const struct verb_call *call, struct err *err)
{
	const char *word = call->args[0];
	bool is_drain = strcmp(word, "drain") == 0;

	if (!is_drain && strcmp(word, "resume") != 0)
		return err_set(err, -EINVAL, "'%.40s' is neither drain nor resume", word);
	if (call->n_args < 2)
		return err_set(err, -EINVAL, "%s which nodes? name them", word);
	if (is_drain && !verb_value(call, "reason"))
		return err_set(err, -EINVAL,
			       "say why, for whoever looks at the node: --reason 'disk'");
	return 0;
}

int nodes_order(const struct verb_call *call, struct cli *c, struct err *err)
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

static void put_since(FILE *to, int64_t at_ns)
{
	time_t at = (time_t)(at_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (localtime_r(&at, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z", &tm))
		fprintf(to, " since %s", text);
}

void nodes_tell_drains(const struct cli *c, const json_t *nodes)
{
	FILE *to = c->format.to;
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		const json_t *drain = json_object_get(node, "drain");
		const char *name = cli_text(node, "node"), *by = cli_text(drain, "author"),
			   *why = cli_text(drain, "reason");

		if (!drain)
			continue;
		cli_put(to, name ? name : "?");
		fputs(": drained by ", to);
		cli_put(to, by ? by : "?");
		put_since(to, cli_int(drain, "at_ns", 0));
		fputs(": ", to);
		cli_put(to, why ? why : "");
		fputc('\n', to);
	}
}
