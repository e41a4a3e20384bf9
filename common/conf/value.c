/* SPDX-License-Identifier: GPL-2.0-or-later */
/* value.c - parses the value of a key by the key's type; see value.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/cleanup.h"
#include "common/conf/value.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/model/request.h"

static int set_text(const struct conf_key *k, const char *value, void *at, struct err *err)
{
	char *copy = strdup(value);

	(void)k;
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*(char **)at);
	*(char **)at = copy;
	return 0;
}

static int set_name(const struct conf_key *k, const char *value, void *at, struct err *err)
{
	(void)k;
	if (!request_is_name(value))
		return err_set(
			err, -EINVAL,
			"a name is 1 to %d of letters, digits and ._+- and does not start "
			"with - or .",
			REQUEST_NAME_MAX - 1);
	strcpy(at, value);
	return 0;
}

static int set_bool(const struct conf_key *k, const char *value, void *at, struct err *err)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	(void)k;
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (!strcasecmp(value, yes[i]) || !strcasecmp(value, no[i])) {
			*(bool *)at = !strcasecmp(value, yes[i]);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "yes or no is needed (or true, false, on, off, 1, 0)");
}

static int check_range(const struct conf_key *k, int64_t v, struct err *err)
{
	char low[AMOUNT_TEXT_MAX], high[AMOUNT_TEXT_MAX];

	if (v >= k->min && (v <= k->max || (!k->min && !k->max)))
		return 0;
	if (k->type == CONF_BYTES) {
		amount_format_bytes_exact(k->min, low);
		amount_format_bytes_exact(k->max, high);
	} else if (k->type == CONF_SECONDS) {
		amount_format_seconds(k->min, low);
		amount_format_seconds(k->max, high);
	} else {
		snprintf(low, sizeof(low), "%" PRId64, k->min);
		snprintf(high, sizeof(high), "%" PRId64, k->max);
	}
	return err_set(err, -EINVAL, "out of range: it must be from %s to %s", low, high);
}

static int set_amount(const struct conf_key *k, const char *value, void *at, struct err *err)
{
	int64_t v = 0;
	int r;

	if (k->type == CONF_BYTES)
		r = amount_parse_bytes(value, &v, err);
	else if (k->type == CONF_SECONDS)
		r = amount_parse_seconds(value, &v, err);
	else
		r = amount_parse_count(value, &v, err);
	if (r == 0)
		r = check_range(k, v, err);
	if (r == 0)
		*(int64_t *)at = v;
	return r;
}

static int set_resources(const struct conf_key *k, const char *value, void *at, struct err *err)
{
	(void)k;
	return resources_parse(value, at, err);
}

static int set_enum(const struct conf_key *k, const char *value, void *at, struct err *err)
{
	char known[256] = "";
	size_t n = 0;

	for (int i = 0; k->words[i]; i++) {
		if (!strcasecmp(k->words[i], value)) {
			*(int *)at = i;
			return 0;
		}
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "",
				      k->words[i]);
		if (n >= sizeof(known))
			break;
	}
	return err_set(err, -EINVAL, "it must be one of: %s", known);
}

/* Parses `value` into the field at `at`, or refuses it. */
typedef int (*set_fn)(const struct conf_key *k, const char *value, void *at, struct err *err);
static const set_fn setters[] = {
	[CONF_TEXT] = set_text,		  [CONF_NAME] = set_name,
	[CONF_BOOL] = set_bool,		  [CONF_COUNT] = set_amount,
	[CONF_BYTES] = set_amount,	  [CONF_SECONDS] = set_amount,
	[CONF_RESOURCES] = set_resources, [CONF_ENUM] = set_enum,
};

int conf_set_value(const struct conf_key *k, const char *value, void *at, struct err *err)
{
	return setters[k->type](k, value, at, err);
}

/* ---- and back ---- */

static const char *format_amount(const struct conf_key *k, int64_t n, char *buf, size_t size)
{
	char text[AMOUNT_TEXT_MAX];

	if (k->type == CONF_BYTES)
		amount_format_bytes_exact(n, text);
	else if (k->type == CONF_SECONDS)
		amount_format_seconds(n, text);
	else
		snprintf(text, sizeof(text), "%" PRId64, n);
	snprintf(buf, size, "%s", text);
	return buf;
}

const char *conf_format_value(const struct conf_key *k, const void *at, char *buf, size_t size)
{
	const char *text = NULL;

	switch (k->type) {
	case CONF_TEXT:
		text = *(char *const *)at;
		break;
	case CONF_NAME:
		text = at;
		break;
	case CONF_BOOL:
		text = *(const bool *)at ? "yes" : "no";
		break;
	case CONF_ENUM:
		text = *(const int *)at < 0 ? NULL : k->words[*(const int *)at];
		break;
	case CONF_COUNT:
	case CONF_BYTES:
	case CONF_SECONDS:
		return format_amount(k, *(const int64_t *)at, buf, size);
	case CONF_RESOURCES:
		return resources_format(at, buf, size);
	}
	snprintf(buf, size, "%s", text ? text : CONF_NOT_SET);
	return buf;
}
