/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mail.c - the words of --mail-type, the letters of -m, and addresses; see mail.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/mail.h"

static const struct {
	const char *word;
	uint32_t types;
} words[] = {
	{ "BEGIN", MAIL_BEGIN },
	{ "END", MAIL_END },
	{ "FAIL", MAIL_FAIL },
	{ "REQUEUE", MAIL_REQUEUE },
	{ "TIME_LIMIT", MAIL_TIME_LIMIT },
	{ "TIME_LIMIT_50", MAIL_TIME_50 },
	{ "TIME_LIMIT_80", MAIL_TIME_80 },
	{ "TIME_LIMIT_90", MAIL_TIME_90 },
	{ "LIMIT", MAIL_LIMIT },
	{ "ARRAY_TASKS", MAIL_EACH_TASK },
};

static const struct {
	const char *word;
	uint32_t types;
} further[] = {
	{ "ALL", MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_REQUEUE },
	{ "NONE", 0 },
	{ "INVALID_DEPEND", 0 },
	{ "STAGE_OUT", 0 },
};

static bool is_word(const char *word, const char *typed, size_t size)
{
	size_t i = 0;

	for (; i < size && word[i]; i++)
		if (word[i] != typed[i] &&
		    !(typed[i] >= 'a' && typed[i] <= 'z' && word[i] == typed[i] - 'a' + 'A'))
			return false;
	return i == size && !word[i];
}

static bool find_types(const char *typed, size_t size, uint32_t *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (is_word(words[i].word, typed, size)) {
			*ret |= words[i].types;
			return true;
		}
	for (size_t i = 0; i < ARRAY_LEN(further); i++)
		if (is_word(further[i].word, typed, size)) {
			*ret |= further[i].types;
			return true;
		}
	return false;
}

int mail_parse_types(const char *text, uint32_t *ret, struct err *err)
{
	uint32_t types = 0;
	char known[MAIL_TYPES_MAX];

	for (const char *p = text; p;) {
		size_t n = strcspn(p, ",");

		if (!find_types(p, n, &types))
			return err_set(
				err, -EINVAL, "mail-type '%.*s': write some of %s, ALL, NONE",
				n > 40 ? 40 : (int)n, p, mail_format_types(UINT32_MAX, known));
		p = p[n] ? p + n + 1 : NULL;
	}
	*ret = types;
	return 0;
}

int mail_parse_points(const char *text, uint32_t *ret, struct err *err)
{
	uint32_t types = 0;

	for (const char *p = text; *p; p++) {
		types |= *p == 'a'   ? MAIL_FAIL
			 : *p == 'b' ? MAIL_BEGIN
			 : *p == 'e' ? MAIL_END
				     : 0;
		if (!strchr("aben", *p))
			return err_set(
				err, -EINVAL,
				"-m '%.16s': write letters of a (it fails), b (it begins), e (it ends), or n",
				text);
	}
	if (!*text || (strchr(text, 'n') && text[1]))
		return err_set(err, -EINVAL, "-m '%.16s': write letters of a, b, e, or n alone",
			       text);
	*ret = types;
	return 0;
}

const char *mail_format_types(uint32_t types, char buf[static MAIL_TYPES_MAX])
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (types & words[i].types)
			used += (size_t)snprintf(buf + used, MAIL_TYPES_MAX - used, "%s%s",
						 used ? "," : "", words[i].word);
	return buf;
}

/* ---- addresses ---- */

/* ASCII alone: isalnum() would depend on the locale. */
static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Dots stand between other characters, neither first nor last nor twice; a '-' is not first: it would be an option. */
static bool is_dotted(const char *text, size_t size, const char *others)
{
	if (!size || text[0] == '-' || text[0] == '.' || text[size - 1] == '.')
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '.' && text[i + 1] == '.')
			return false;
		if (text[i] != '.' && !is_letter_or_digit(text[i]) && !strchr(others, text[i]))
			return false;
	}
	return true;
}

/* Not %, !, |, / and `: relays use them to route a mail elsewhere (USER%HOST@RELAY, HOST!USER), to run a program or to write a file. */
#define LOCAL_MARKS "#$&'*+=?^_{}~-"

static bool is_address(const char *text, size_t size)
{
	const char *at = memchr(text, '@', size);
	size_t local = at ? (size_t)(at - text) : size;

	if (size >= MAIL_ADDRESS_MAX || local > 64 || !is_dotted(text, local, LOCAL_MARKS))
		return false;
	return !at || is_dotted(at + 1, size - local - 1, "-");
}

int mail_check_user(const char *text, struct err *err)
{
	int n = 0;

	if (strlen(text) >= MAIL_USER_MAX)
		return err_set(err, -EINVAL, "mail-user is longer than %d bytes",
			       MAIL_USER_MAX - 1);
	for (const char *p = text; p; n++) {
		size_t size = strcspn(p, ",");

		if (!is_address(p, size))
			return err_set(
				err, -EINVAL,
				"mail-user '%.*s' is not an address; write USER or USER@HOST, several by commas",
				size > 64 ? 64 : (int)size, p);
		p = p[size] ? p + size + 1 : NULL;
	}
	if (n > MAIL_ADDRESSES_MAX)
		return err_set(err, -EINVAL, "mail-user has %d addresses, and may have %d", n,
			       MAIL_ADDRESSES_MAX);
	return 0;
}

const char *mail_next_address(const char *text, char ret[static MAIL_ADDRESS_MAX])
{
	size_t size = text ? strcspn(text, ",") : 0;

	if (!size)
		return NULL;
	snprintf(ret, MAIL_ADDRESS_MAX, "%.*s", (int)size, text);
	return text + size + (text[size] == ',');
}
