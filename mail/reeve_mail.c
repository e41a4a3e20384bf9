/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reeve_mail.c - the program reeve-mail: a hook of the controller that sends the mails that users asked for.
 *
 * It reads one event from standard input (docs/operation.md, "Mail"). Exit status 75 asks the controller to run it again for the
 * same event; what was sent before is not sent twice. It runs without a terminal: all it says goes to standard error, which is the
 * controller's journal.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"
#include "common/version.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "mail/compose.h"
#include "mail/deliver.h"
#include "mail/format.h"
#include "mail/sent.h"

#define CONFIG_FILE "/etc/reeve/mail.conf"

struct run {
	struct mail_config config;
	struct mail_message message;
	struct mail_sent *sent;
};

/* "example.org" of Recipients= allows that domain and those below it. An address without a domain stays at the site. */
static bool is_allowed(const struct mail_config *c, const char *address)
{
	const char *domain = strchr(address, '@');

	if (!c->recipients || !domain)
		return true;
	domain++;
	for (const char *p = c->recipients; *p; p += strcspn(p, ", "), p += strspn(p, ", ")) {
		size_t n = strcspn(p, ", "), size = strlen(domain);

		if (n && size >= n && !strncasecmp(domain + size - n, p, n) &&
		    (size == n || domain[size - n - 1] == '.'))
			return true;
	}
	return false;
}

static int send_mail(const struct run *run, const char *to, struct err *err)
{
	char host[65] = "localhost";
	struct mail_envelope e = {
		.from = run->config.from, .to = to, .at_s = time(NULL), .host = host
	};
	struct mail_delivery d = { .from = run->config.from, .to = to };
	_cleanup_free_ char *text = NULL;
	struct err unused;

	gethostname(host, sizeof(host) - 1);
	if (strchr(host, '@') || mail_check_user(host, &unused) < 0)
		snprintf(host, sizeof(host), "localhost");
	text = mail_format(&run->message, &e, &d.size);
	d.text = text;
	return text ? mail_deliver(&run->config, &d, err)
		    : err_set(err, -EAGAIN, "out of memory");
}

/* -EAGAIN: later. Others: lost. */
static int send_to(const struct run *run, const char *address, struct err *err)
{
	char to[MAIL_ADDRESS_MAX + 256];
	struct mail_sent_key key = { &run->message, to, time(NULL) };
	int64_t n;
	int r;

	snprintf(to, sizeof(to), "%s%s%s", address,
		 run->config.domain && !strchr(address, '@') ? "@" : "",
		 run->config.domain && !strchr(address, '@') ? run->config.domain : "");
	if (!is_allowed(&run->config, to))
		return err_set(err, -EPERM, "its domain is not among Recipients=");
	r = mail_sent_has(run->sent, &key, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = mail_sent_count(run->sent, &key, &n, err);
	if (r >= 0 && n >= run->config.per_hour)
		return err_set(err, -EDQUOT,
			       "user %s had %lld mails in an hour, which is PerHour=",
			       run->message.user, (long long)n);
	if (r >= 0)
		r = send_mail(run, to, err);
	return r < 0 ? r : mail_sent_add(run->sent, &key, err);
}

/* Each address has a mail of its own, so that a wrong one does not keep the others from theirs. */
static int send_all(struct run *run)
{
	const char *rest = run->message.to;
	char address[MAIL_ADDRESS_MAX];
	int status = EX_OK;

	while ((rest = mail_next_address(rest, address))) {
		struct err err = { "" };
		int r = send_to(run, address, &err);

		if (r >= 0)
			continue;
		fprintf(stderr, "mail '%s' of job %lld to %s: %s: %s\n", run->message.reason,
			(long long)run->message.job, address,
			r == -EAGAIN || r == -EBUSY ? "not yet sent" : "lost", err.text);
		if (r == -EAGAIN || r == -EBUSY)
			status = EX_TEMPFAIL;
		else if (status == EX_OK)
			status = EX_UNAVAILABLE;
	}
	return status;
}

static int read_event(struct run *run, struct err *err)
{
	json_error_t why;
	_cleanup_json_ json_t *doc = wire_load_stream(stdin, JSON_REJECT_DUPLICATES, &why);

	if (!doc)
		return err_set(err, -EINVAL, "standard input has no event: %.100s", why.text);
	return mail_compose(doc, &run->message, err);
}

static int run_mail(struct run *run, const char *config, struct err *err)
{
	int r = read_event(run, err);

	if (r <= 0)
		return r < 0 ? EX_DATAERR : EX_OK;
	if (mail_config_read(config, &run->config, err) < 0)
		return EX_CONFIG;
	r = mail_sent_open(run->config.state, &run->sent, err);
	if (r >= 0)
		r = mail_sent_lock(run->sent, run->message.job, err);
	return r < 0 ? EX_TEMPFAIL : send_all(run);
}

static int show_help(void)
{
	printf("Usage: reeve-mail [--config FILE] <EVENT\n\n"
	       "Sends the mail that a user asked for with --mail-type, for an event of a job: the\n"
	       "program of [Hooks] in controller.conf. Reads %s.\n\nKeys of [Mail]:\n",
	       CONFIG_FILE);
	for (const struct conf_key *k = mail_config_keys; k->key; k++)
		printf("  %-14s %s\n", k->key, k->help);
	printf("\nExit status: 0 sent, or no mail is due; 75 not yet, run it again; 65 no event; 69 lost;\n"
	       "78 configuration.\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *config = CONFIG_FILE;
	struct run run = { 0 };
	struct err err = { "" };
	int status;

	if (argc == 2 && !strcmp(argv[1], "--help"))
		return show_help();
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return printf("reeve-mail %s\n", REEVE_VERSION) < 0;
	if (argc == 3 && !strcmp(argv[1], "--config"))
		config = argv[2];
	else if (argc != 1)
		return fprintf(stderr,
			       "reeve-mail: unknown arguments; see reeve-mail --help\n"),
		       EX_USAGE;
	umask(077);
	status = run_mail(&run, config, &err);
	if (err.text[0])
		fprintf(stderr, "reeve-mail: %s\n", err.text);
	mail_sent_close(run.sent);
	mail_message_done(&run.message);
	mail_config_done(&run.config);
	return status;
}
