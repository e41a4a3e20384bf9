/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link.c - see link.h. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/link.h"
#include "cli/cli.h"
#include "common/auth/auth.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/wire.h"

void gather_munge(const char *socket, struct judge_munge *ret)
{
	const uint32_t self = geteuid();
	const struct auth_text text = { "doctor", "reeve", 5, &self };
	char header[AUTH_HEADER_MAX];
	struct auth_who who = { 0 };
	struct err err = { "" };
	int r = auth_sign(socket, text, header, &err);

	*ret = (struct judge_munge){ .is_away = r == -ENOENT };
	if (r >= 0)
		r = auth_verify(socket, header, text, &who, &err);
	if (r >= 0 && who.uid != self)
		r = err_set(&err, -EACCES, "munged says that uid %u made what uid %u made",
			    who.uid, self);
	ret->is_good = r >= 0;
	utf8_format(ret->words, sizeof(ret->words), "%s", err.text);
}

/* ---- the controller ---- */

/* `uid` >= 0: the answer must be signed by it. The result is that of http_ask(). */
static int ask_controller(const struct gather_link *link, const char *path, int64_t uid,
			  json_t **ret, struct err *err)
{
	struct http_config config = { .url = link->url,
				      .munge_socket = link->munge_socket,
				      .timeout_s = link->timeout_s,
				      .answer_uid = uid,
				      .ca_file = link->ca_file,
				      .client_certificate = link->client_certificate,
				      .client_key = link->client_key };
	const struct http_call call = { .method = "GET", .path = path };
	_cleanup_(http_closep) struct http *h = NULL;
	uint32_t reader, gid;
	struct err unused;
	int r;

	/* As the agent signs: only the controller can decode it. */
	if (auth_user_lookup(link->controller_user, &reader, &gid, &unused) >= 0)
		config.reader = &reader;
	r = http_open(&config, &h, err);
	if (r >= 0)
		r = http_ask(h, call, (struct http_patience){ 0 }, ret, err);
	return r;
}

/* Can no question be sent? Then why says the reason. */
static bool is_withheld(const struct gather_link *link, char *why, size_t size)
{
	if (link->why)
		snprintf(why, size, "%s", link->why);
	else if (!link->url || !*link->url)
		snprintf(why, size,
			 "none is configured (Controller= in reeve.conf or agent.conf)");
	return link->why || !link->url || !*link->url;
}

static void ask_signed(const struct gather_link *link, struct judge_about *ret)
{
	_cleanup_json_ json_t *answer = NULL;
	struct err err = { "" };
	uint32_t uid, gid;

	if (geteuid() != 0) {
		snprintf(ret->signed_why, sizeof(ret->signed_why), "this needs root");
		return;
	}
	if (auth_user_lookup(link->controller_user, &uid, &gid, &err) < 0) {
		snprintf(ret->signed_why, sizeof(ret->signed_why),
			 "ControllerUser=%.60s: %.300s", link->controller_user, err.text);
		return;
	}
	ret->signed_status = ask_controller(link, "/v1/about", uid, &answer, &err);
	utf8_format(ret->signed_words, sizeof(ret->signed_words), "%s", err.text);
}

void gather_about(const struct gather_link *link, struct judge_about *ret)
{
	_cleanup_json_ json_t *answer = NULL;
	struct err err = { "" };
	const char *version, *key;

	*ret = (struct judge_about){ .asked_ns = clock_ns(CLOCK_REALTIME) };
	if (is_withheld(link, ret->why, sizeof(ret->why)))
		return;
	utf8_format(ret->url, sizeof(ret->url), "%s", link->url);
	ret->status = ask_controller(link, "/v1/about", -1, &answer, &err);
	ret->told_ns = clock_ns(CLOCK_REALTIME);
	utf8_format(ret->words, sizeof(ret->words), "%s", err.text);
	if (ret->status)
		return;
	version = cli_text(answer, "version");
	utf8_format(ret->version, sizeof(ret->version), "%s", version ? version : "");
	ret->now_ns = cli_int(answer, "now_ns", 0);
	ret->has_certificate = json_object_get(answer, "certificate_left_s");
	ret->certificate_left_s = cli_int(answer, "certificate_left_s", 0);
	key = cli_text(answer, "certificate_key");
	if (key)
		sscanf(key, "RSA %d", &ret->rsa_bits);
	ask_signed(link, ret);
}

/* ---- nodes ---- */

/* NULL and why. */
static json_t *list_nodes(const struct gather_link *link, char *why, size_t size)
{
	_cleanup_json_ json_t *answer = NULL;
	struct err err = { "" };

	if (is_withheld(link, why, size))
		return NULL;
	if (ask_controller(link, "/v1/nodes", -1, &answer, &err) != 0) {
		utf8_format(why, size, "%s", err.text);
		return NULL;
	}
	return json_incref(json_object_get(answer, "nodes"));
}

static void take_node(const json_t *node, struct judge_registered *ret)
{
	const json_t *drain = json_object_get(node, "drain");
	const char *state = cli_text(node, "state"), *author = cli_text(drain, "author"),
		   *reason = cli_text(drain, "reason");

	ret->is_known = true;
	utf8_format(ret->state, sizeof(ret->state), "%s", state ? state : "unknown");
	if (json_is_object(drain))
		utf8_format(ret->drain, sizeof(ret->drain), "%s: %s",
			    author ? author : "someone", reason ? reason : "");
	ret->silent_s = (clock_ns(CLOCK_REALTIME) - cli_int(node, "last_ns", 0)) / S_NS;
	if (ret->silent_s < 0)
		ret->silent_s = 0;
}

void gather_registered(const struct gather_link *link, struct judge_registered *ret)
{
	_cleanup_json_ json_t *nodes = list_nodes(link, ret->why, sizeof(ret->why));
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		const char *name = cli_text(node, "node");

		if (name && !strcmp(name, ret->node))
			take_node(node, ret);
	}
}

static void count_node(const json_t *node, const char *version, struct judge_nodes *ret)
{
	const char *name = cli_text(node, "node"), *state = cli_text(node, "state");
	const char *its = cli_text(node, "version");

	ret->n++;
	if (state && !strcmp(state, "up"))
		ret->n_up++;
	else if (!*ret->first_down)
		utf8_format(ret->first_down, sizeof(ret->first_down), "%s", name ? name : "?");
	if (!*version || (its && !strcmp(its, version)))
		return;
	if (!ret->n_other++) {
		utf8_format(ret->first_other, sizeof(ret->first_other), "%s",
			    name ? name : "?");
		utf8_format(ret->other_version, sizeof(ret->other_version), "%s",
			    its ? its : "unknown");
	}
}

void gather_nodes(const struct gather_link *link, const char *version, struct judge_nodes *ret)
{
	_cleanup_json_ json_t *nodes = NULL;
	json_t *node;
	size_t i;

	*ret = (struct judge_nodes){ .n = 0 };
	nodes = list_nodes(link, ret->why, sizeof(ret->why));
	json_array_foreach(nodes, i, node) count_node(node, version, ret);
}
