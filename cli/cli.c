/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli.c - begins a verb, sends requests to the controller, and maps errors to exit codes. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <systemd/sd-event.h>
#include "cli/cli.h"
#include "cli/output/table_format.h"
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/http/http_wait.h"
#include "common/time_units.h"
#include "common/wire/wire.h"
#include "controller/ledger/calendar.h"

#define PATIENCE_MS 2000 /* after this, say what is being waited for */

/* ---- begin and end ---- */

int cli_connect(const struct cli *c, struct http **ret, struct err *err)
{
	struct http_config config = {
		.url = c->config.controller,
		.munge_socket = c->config.munge_socket,
		.timeout_s = (long)c->config.timeout_s,
		.answer_uid = -1,
		.reader = c->config.has_controller_uid ? &c->config.controller_uid : NULL,
		.ca_file = c->config.ca_file,
		.client_certificate = c->config.client_certificate,
		.client_key = c->config.client_key,
	};
	_cleanup_(http_closep) struct http *h = NULL;
	int r = http_open(&config, &h, err);

	if (r == 0 && c->event)
		r = http_attach(h, c->event, err);
	if (r == 0)
		*ret = TAKE_PTR(h);
	return r;
}

int cli_seal_text(const struct cli *c, const char *statement, char **ret, struct err *err)
{
	struct auth_seal seal = { .text = statement, .size = strlen(statement), .reader = 0 };

	return auth_seal(c->config.munge_socket, &seal, ret, err);
}

int cli_seal(const struct cli *c, const char *statement, json_t *body, struct err *err)
{
	_cleanup_free_ char *credential = NULL;
	int r = cli_seal_text(c, statement, &credential, err);

	if (r == 0 && json_object_set_new(body, "credential", json_string(credential)) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

int cli_begin_offline(struct cli *c, const struct verb_call *call, struct err *err)
{
	int r = table_format_read(call, &c->format, err);

	c->shows_progress = isatty(STDERR_FILENO);
	c->shows_hints = c->shows_progress && isatty(STDOUT_FILENO) && !c->format.no_header &&
			 c->format.output == TABLE_TABLE;
	return r;
}

int cli_begin(struct cli *c, const struct verb_call *call, struct err *err)
{
	int r = cli_begin_offline(c, call, err);

	if (r == 0)
		r = cli_config_load(&c->config, verb_value(call, "config"),
				    verb_value(call, "controller"), err);
	return r < 0 ? r : cli_connect(c, &c->http, err);
}

int cli_begin_loop(struct cli *c, const struct verb_call *call, struct err *err)
{
	int r = sd_event_new(&c->event);

	if (r < 0)
		return err_set(err, r, "cannot make an event loop: %s", strerror(-r));
	return cli_begin(c, call, err);
}

void cli_done(struct cli *c)
{
	c->http = http_close(c->http);
	if (c->event)
		c->event = sd_event_unref(c->event);
	cli_config_done(&c->config);
}

/* ---- one exchange ---- */

/* On a terminal only: tells the user that the command waits for the controller, and for which. */
static void show_patience(void *ctx)
{
	const struct cli *c = ctx;

	fprintf(stderr, "waiting for the controller at %s ...\n", c->config.controller);
}

static int on_patience(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)s;
	(void)usec;
	show_patience(ctx);
	return 0;
}

/* Other sources of the loop are served meanwhile. */
static int ask_in_loop(struct cli *c, struct http_call call, json_t **ret_answer,
		       struct err *err)
{
	sd_event_source *timer = NULL;
	int r;

	if (c->shows_progress)
		sd_event_add_time_relative(c->event, &timer, CLOCK_MONOTONIC,
					   PATIENCE_MS * 1000, 0, on_patience, c);
	r = http_wait(c->http, c->event, call, ret_answer, err);
	sd_event_source_disable_unref(timer);
	return r;
}

int cli_pause(struct cli *c, int64_t us, struct err *err)
{
	struct timespec t = { us / (S_NS / 1000), us % (S_NS / 1000) * 1000 };
	int r = c->event ? sd_event_run(c->event, (uint64_t)us) : 0;

	if (!c->event)
		nanosleep(&t, NULL);
	return r < 0 ? err_set(err, r, "cannot run the event loop: %s", strerror(-r)) : 0;
}

/* 502 to 504 come from a proxy in front of the controller. */
int cli_result(int result)
{
	switch (result) {
	case 401:
	case 403:
		return -EPERM;
	case 404:
		return -ENOENT;
	case 502:
	case 503:
	case 504:
		return -EHOSTUNREACH;
	default:
		break;
	}
	if (result > 0)
		return -EREMOTEIO;
	return result == 0 || result == -EINVAL || result == -ENOMEM ? result : -EHOSTUNREACH;
}

/* Times are shown in the site's zone, which answers name. Where this machine does not know it,
 * in UTC: printed times name their zone. */
void cli_set_time_zone(const json_t *answer)
{
	const char *zone = cli_text(answer, "time_zone");
	_cleanup_(calendar_closep) struct calendar *calendar = NULL;
	struct err unused;

	if (zone && calendar_open(zone, &calendar, &unused) == 0)
		return;
	setenv("TZ", "UTC0", 1);
	tzset();
}

int cli_ask(struct cli *c, struct http_call call, json_t **ret_answer, struct err *err)
{
	const struct http_patience patience = { PATIENCE_MS,
						c->shows_progress ? show_patience : NULL, c };
	_cleanup_json_ json_t *answer = NULL;
	int r = c->event ? ask_in_loop(c, call, &answer, err)
			 : http_ask(c->http, call, patience, &answer, err);

	r = cli_result(r);
	if (r < 0)
		return r;
	cli_set_time_zone(answer);
	*ret_answer = TAKE_PTR(answer);
	return 0;
}

int cli_get(struct cli *c, const char *path, json_t **ret_answer, struct err *err)
{
	return cli_ask(c, (struct http_call){ .method = "GET", .path = path }, ret_answer, err);
}

enum cli_exit cli_exit_code(int error)
{
	switch (error) {
	case 0:
		return CLI_OK;
	case -EINVAL:
		return CLI_USAGE;
	case -EHOSTUNREACH:
		return CLI_UNREACHABLE;
	case -ENOENT:
		return CLI_NOT_FOUND;
	case -EPERM:
		return CLI_NOT_PERMITTED;
	default:
		return CLI_FAILED;
	}
}
