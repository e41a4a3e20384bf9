/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config - the keys of mail.conf: how reeve-mail reaches users. */
#pragma once
#include <stdint.h>
#include "common/conf/conf.h"

struct err;

enum mail_tls { MAIL_TLS_NO, MAIL_TLS_TRY, MAIL_TLS_REQUIRE };

struct mail_config {
	char *relay, *sendmail; /* one of them; sendmail goes first */
	char *relay_user, *relay_password, *ca_file;
	int tls; /* enum mail_tls */
	char *from, *domain, *recipients, *state;
	int64_t per_hour, time_limit_s;
};

extern const struct conf_key mail_config_keys[];

/* -EINVAL, -ENOENT ...: names file, line and remedy. */
int mail_config_read(const char *path, struct mail_config *ret, struct err *err);
void mail_config_done(struct mail_config *c);
