/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - reads mail.conf; see config.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/mail.h"
#include "mail/config.h"

#define AT(field) offsetof(struct mail_config, field)
#define TEXT(key, field, help, example)                                                        \
	{                                                                                      \
		"Mail", key, CONF_TEXT, AT(field), 0, 0, NULL, help, example, CONF_RESTART     \
	}

static const char *const tls_words[] = { "no", "try", "require", NULL };

const struct conf_key mail_config_keys[] = {
	TEXT("From", from, "the sender's address; needed", "reeve@hpc.example.org"),
	TEXT("Relay", relay, "the SMTP server", "smtp://mail.example.org:25"),
	TEXT("Sendmail", sendmail,
	     "a program that takes mails as sendmail does, instead of Relay",
	     "/usr/sbin/sendmail"),
	{ "Mail", "StartTls", CONF_ENUM, AT(tls), 0, 0, tls_words,
	  "encrypt the connection to smtp://", "require", CONF_RESTART },
	TEXT("CaFile", ca_file, "certificate authorities; default: the system's",
	     "/etc/reeve/ca.pem"),
	TEXT("RelayUser", relay_user, "log in to the relay as this user", "reeve"),
	TEXT("RelayPassword", relay_password, "a file with the password in its first line",
	     "/etc/reeve/mail.password"),
	TEXT("Domain", domain,
	     "is appended to addresses without one; default: the relay does that",
	     "example.org"),
	TEXT("Recipients", recipients,
	     "domains to which mails are sent, by commas; default: all",
	     "example.org,hpc.example.org"),
	{ "Mail", "PerHour", CONF_COUNT, AT(per_hour), 1, 100000, NULL,
	  "mails of one user in an hour; more are dropped", "60", CONF_RESTART },
	{ "Mail", "TimeLimit", CONF_SECONDS, AT(time_limit_s), 1, 3600, NULL,
	  "for one mail; less than TimeLimit of [Hooks] in controller.conf", "20",
	  CONF_RESTART },
	TEXT("State", state, "what was sent, so that nothing is sent twice",
	     "/var/lib/reeve-controller/mail.db"),
	{ 0 },
};

static int set_default(char **to, const char *value, struct err *err)
{
	*to = strdup(value);
	return *to ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int check_config(const char *path, const struct mail_config *c, struct err *err)
{
	struct err why = { "" };

	if (!c->from)
		return err_set(err, -EINVAL, "%.200s: no sender; add From = reeve@YOUR.DOMAIN",
			       path);
	if (strchr(c->from, ',') || mail_check_user(c->from, &why) < 0)
		return err_set(err, -EINVAL, "%.200s: From = %.64s is not an address", path,
			       c->from);
	if (!c->relay && !c->sendmail)
		return err_set(
			err, -EINVAL,
			"%.200s: no way out; add Relay = smtp://HOST or Sendmail = PROGRAM",
			path);
	if (c->relay && strncmp(c->relay, "smtp://", 7) && strncmp(c->relay, "smtps://", 8))
		return err_set(
			err, -EINVAL,
			"%.200s: Relay = %.64s: write smtp://HOST[:PORT] or smtps://HOST[:PORT]",
			path, c->relay);
	if (c->sendmail && *c->sendmail != '/')
		return err_set(err, -EINVAL, "%.200s: Sendmail = %.64s is not an absolute path",
			       path, c->sendmail);
	return 0;
}

int mail_config_read(const char *path, struct mail_config *ret, struct err *err)
{
	int r;

	*ret = (struct mail_config){ .per_hour = 60, .time_limit_s = 20, .tls = MAIL_TLS_TRY };
	r = set_default(&ret->state, "/var/lib/reeve-controller/mail.db", err);
	if (r >= 0)
		r = conf_load(path, mail_config_keys, NULL, ret, err);
	return r < 0 ? r : check_config(path, ret, err);
}

void mail_config_done(struct mail_config *c)
{
	conf_done(mail_config_keys, NULL, c);
}
