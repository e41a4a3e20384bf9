/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reeve_slurm_submit.c - reeve-slurm-submit: answers job_submit.lua, inside slurmctld, whether a job may be submitted.
 *
 * slurmctld holds a lock while it waits, so that nothing of this is done in slurmctld but one exchange over a local socket: munge,
 * HTTP and a controller on another host are this program's. It is not a task of reeve-slurm, whose calls of libslurm may take
 * seconds, and it needs no libslurm. It keeps nothing, and SIGTERM has its default action.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/log.h"
#include "common/verb/verb.h"
#include "common/version.h"
#include "slurm/submit/ask_controller.h"
#include "slurm/submit/listen.h"

static const struct verb_option options[] = {
	{ "config", 'c', "FILE", "configuration; default: " FOLLOW_CONFIG_FILE, NULL },
	{ "check", 0, NULL, "check the configuration, print its errors and exit", NULL },
	{ "debug", 0, NULL, "log more details", NULL },
	{ "version", 0, NULL, "print the version", NULL },
	{ "help", 'h', NULL, "show this help", NULL },
	{ 0 },
};
static const struct verb verb = {
	.name = "reeve-slurm-submit",
	.args = "",
	.help = "Decide for slurmctld's job_submit.lua whether a job may be submitted",
	.examples = "reeve-slurm-submit --config " FOLLOW_CONFIG_FILE,
	.options = options,
};
static const struct verb *const verbs[] = { &verb, NULL };
static const struct verb_tool tool = {
	.name = "reeve-slurm-submit",
	.help = "quotas and limits for submissions to Slurm",
	.verbs = verbs,
	.common = options,
	.footer =
		"Exit status: 0 done, 1 failed, 2 wrong usage, 78 a mistake in the configuration.",
};

struct submit {
	struct follow_config config;
	struct ask_controller *controller;
	struct log_limit refused, undecided;
	char text[QUESTION_MAX];
};

/* 0: the controller's decision is in *ret. < 0: there is none, and Slurm goes on by itself. A list of partitions that Reeve cannot
 * check is refused, since "not decided" would let it pass. */
static int decide_submission(struct submit *s, struct slurm_submit_answer *ret, struct err *err)
{
	struct question q;
	int r = question_parse(s->text, &q, err);

	if (r == -E2BIG) {
		ret->verdict = SLURM_SUBMIT_REFUSE;
		snprintf(ret->text, sizeof(ret->text), "%s", err->text);
		return 0;
	}
	if (r < 0)
		return r;
	snprintf(q.job.cluster, sizeof(q.job.cluster), "%s", s->config.cluster);
	r = auth_user_name(q.uid, q.job.user, sizeof(q.job.user), err);
	return r < 0 ? r
		     : ask_controller_submit(s->controller, &q.job, s->config.submit_limit_ms,
					     ret, err);
}

static void answer_peer(struct submit *s, int peer)
{
	struct slurm_submit_answer a = { .verdict = SLURM_SUBMIT_ACCEPT };
	char text[QUESTION_ANSWER_MAX];
	struct err err = { "" };

	if (decide_submission(s, &a, &err) >= 0) {
		listen_answer(peer, question_format_answer(&a, text));
		return;
	}
	log_limited(&s->undecided, LOG_WARNING, "a submission was not checked: %s", err.text);
	listen_answer(peer, question_format_none(err.text, text));
}

/* Returns only with an error of the socket. */
static int serve_socket(struct submit *s, struct err *err)
{
	_cleanup_close_ int fd = listen_open(s->config.submit_socket, err);
	int r = fd;

	if (fd < 0)
		return fd;
	log_line(LOG_INFO, "answers at %s for cluster %s, by the controller at %s",
		 s->config.submit_socket, s->config.cluster, s->config.controller);
	sd_notify(0, "READY=1");
	for (;;) {
		int peer;

		r = listen_accept(fd, s->text, &peer, err);
		if (r >= 0)
			answer_peer(s, peer);
		else if (r == -EAGAIN)
			log_limited(&s->refused, LOG_WARNING, "%s", err->text);
		else
			return r;
	}
}

/* > 0: the exit status, with its reason in err. */
static int run_service(const struct verb_call *call, struct err *err)
{
	const char *path = verb_value(call, "config");
	struct submit s = { .controller = NULL };
	int r = follow_config_load(path ? path : FOLLOW_CONFIG_FILE, &s.config, err);

	if (conf_is_mistake(r))
		r = CONF_EXIT_MISTAKE;
	if (r || verb_count(call, "check"))
		goto out;
	r = ask_controller_open(&s.config, &s.controller, err);
	if (r >= 0)
		r = serve_socket(&s, err);
	s.controller = ask_controller_close(s.controller);
out:
	follow_config_done(&s.config);
	return r;
}

int main(int argc, char **argv)
{
	struct verb_call call = { 0 };
	struct err err = { "" };
	int r = verb_parse(&verb, NULL, (struct verb_argv){ argv, argc }, &call, &err);

	if (r < 0) {
		fprintf(stderr, "reeve-slurm-submit: %s\n", err.text);
		return 2;
	}
	if (verb_count(&call, "help"))
		verb_help(&tool, &verb, stdout);
	else if (verb_count(&call, "version"))
		printf("reeve-slurm-submit %s\n", REEVE_VERSION);
	else {
		log_open("reeve-slurm-submit",
			 verb_count(&call, "debug") ? LOG_DEBUG : LOG_INFO);
		r = run_service(&call, &err);
		if (r)
			log_line(LOG_ERR, "%s", err.text);
	}
	verb_done(&call);
	return r < 0 ? 1 : r;
}
