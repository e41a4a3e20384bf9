/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent - what was sent, in a small database: nothing is sent twice, and no user gets too much. */
#pragma once
#include <stdint.h>
#include "common/cleanup.h"
#include "mail/compose.h"

struct err;
struct mail_sent;

int mail_sent_open(const char *path, struct mail_sent **ret, struct err *err);
struct mail_sent *mail_sent_close(struct mail_sent *s);
DEFINE_CLEANUP(struct mail_sent *, mail_sent_close)

/* Waits until no other process is sending a mail about the same job, and keeps others waiting until this process closes it or
 * ends. */
int mail_sent_lock(struct mail_sent *s, int64_t job, struct err *err);
struct mail_sent_key {
	const struct mail_message *message;
	const char *to; /* one address */
	int64_t now_s;
};
/* 1: it was sent, or dropped, before; 0: it was not. */
int mail_sent_has(struct mail_sent *s, const struct mail_sent_key *key, struct err *err);
/* How many were sent for the user of this message in the last hour. */
int mail_sent_count(struct mail_sent *s, const struct mail_sent_key *key, int64_t *ret,
		    struct err *err);
/* Records it, and forgets what is older than a month. */
int mail_sent_add(struct mail_sent *s, const struct mail_sent_key *key, struct err *err);
