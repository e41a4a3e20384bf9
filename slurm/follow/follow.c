/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow.c - opens libslurm and the controller's address, and makes one exchange at a time; see follow.h. */
#include <errno.h>
#include <slurm/slurm.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/http/http_wait.h"
#include "slurm/follow/accounting.h"
#include "slurm/follow/follow.h"
#include "slurm/follow/read/jobtable.h"
#include "slurm/follow/live.h"

/* munge lets only this uid decode what is sent; users have the same uid on all hosts that share a munge key. */
static int open_http(struct follow *f, struct err *err)
{
	const struct follow_config *c = &f->config;
	struct http_config config = { .url = c->controller,
				      .munge_socket = c->munge_socket,
				      .timeout_s = (long)c->timeout_s,
				      .answer_uid = -1,
				      .reader = &f->controller_uid,
				      .ca_file = c->ca_file,
				      .client_certificate = c->client_certificate,
				      .client_key = c->client_key };
	uint32_t gid;
	int r = auth_user_lookup(c->controller_user, &f->controller_uid, &gid, err);

	if (r < 0)
		return err_prefix(err, r, "ControllerUser=%s", c->controller_user);
	r = http_open(&config, &f->http, err);
	return r < 0 ? r : http_attach(f->http, f->event, err);
}

int follow_open(struct follow *f, struct err *err)
{
	int r = sd_event_new(&f->event);

	if (r < 0)
		return err_set(err, r, "cannot make an event loop: %s", strerror(-r));
	r = open_http(f, err);
	if (r < 0)
		return r;
	/* libslurm ends the program where its configuration is not readable, with its own words. */
	/* Lists of the tasks of an array are not to be cut. */
	setenv("SLURM_BITSTR_LEN", "0", 1);
	slurm_init(f->config.slurm_conf);
	r = jobtable_open(&f->jobtable, err);
	if (r >= 0)
		r = live_open(&f->live, err);
	return r < 0 ? r : accounting_open(&f->accounting, err);
}

void follow_done(struct follow *f)
{
	f->accounting = accounting_close(f->accounting);
	f->live = live_close(f->live);
	f->jobtable = jobtable_close(f->jobtable);
	f->http = http_close(f->http);
	f->event = sd_event_unref(f->event);
	follow_config_done(&f->config);
}

/* Runs the event loop until this one answer is there: the tasks of reeve-slurm are plain functions. */
int follow_ask(struct follow *f, const char *path, const json_t *body, json_t **ret,
	       struct err *err)
{
	const struct http_call call = { .method = body ? "POST" : "GET",
					.path = path,
					.body = body };
	json_t *answer;
	int r = http_wait(f->http, f->event, call, &answer, err);

	if (r == 0)
		*ret = answer;
	else
		json_decref(answer);
	return r > 0 ? -EREMOTEIO : r;
}
