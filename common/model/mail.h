/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mail - which mails about a job its user asked for, and to which addresses. Pure.
 *
 * The words are those of Slurm (--mail-type) and the letters those of PBS (-m).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define MAIL_BEGIN 1u
#define MAIL_END 2u /* ended in any way */
#define MAIL_FAIL                                                                              \
	4u /* ended other than well: a limit, a signal, an exit status, its node lost */
#define MAIL_REQUEUE 8u
#define MAIL_TIME_LIMIT 16u /* reached its walltime */
#define MAIL_LIMIT 32u	    /* exceeded any limit */
#define MAIL_EACH_TASK 64u  /* mails about each task instead of one for the array */
#define MAIL_TIME_50 128u   /* has used so much of its walltime, in percent */
#define MAIL_TIME_80 256u
#define MAIL_TIME_90 512u

#define MAIL_TYPES_MAX 200 /* a text of all words */
#define MAIL_USER_MAX 256  /* addresses by commas */
#define MAIL_ADDRESSES_MAX 4
#define MAIL_ADDRESS_MAX 128

/* "BEGIN,END": case does not matter; ALL: BEGIN, END, FAIL, REQUEUE; NONE. -EINVAL names the word, and those that
 * there are. INVALID_DEPEND and STAGE_OUT of Slurm, which have no meaning here, are accepted. */
int mail_parse_types(const char *text, uint32_t *ret, struct err *err);
/* PBS's letters: a (FAIL), b (BEGIN), e (END), n (none). -EINVAL. */
int mail_parse_points(const char *text, uint32_t *ret, struct err *err);
/* The words in Slurm's form; "": none. Returns buf. */
const char *mail_format_types(uint32_t types, char buf[static MAIL_TYPES_MAX]);

/* USER or USER@DOMAIN, at most MAIL_ADDRESSES_MAX of them by commas: letters, digits and #$&'*+=?^_{}~.- before the
 * @, a host's name behind it, so that an address is one word of a header and of a command line. -EINVAL names the address. */
int mail_check_user(const char *text, struct err *err);
/* The next address of a text that mail_check_user() accepts; NULL at the end. Returns where to go on. */
const char *mail_next_address(const char *text, char ret[static MAIL_ADDRESS_MAX]);
