/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setting.c - formats the value of one setting, found by section and key; see config.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/config/config_impl.h"

static const void *object_of(const struct config *c, const char *section, const char *name)
{
	if (!strcmp(section, "Cluster"))
		return config_cluster(c, name);
	if (!strcmp(section, "Queue"))
		return config_queue(c, name);
	if (!strcmp(section, "Qos"))
		return config_qos(c, name);
	if (!strcmp(section, "NodeType"))
		return config_node_type(c, name);
	if (!strcmp(section, "GpuModel"))
		return config_gpu_model(c, name);
	return *name ? NULL : c;
}

static const struct conf_key *find_key(const char *section, const char *key)
{
	for (const struct conf_key *k = config_keys; k->key; k++)
		if (!strcmp(k->section, section) && !strcmp(k->key, key))
			return k;
	return NULL;
}

/* Formats a number in one canonical way ("3.0" is "3"); any other text as it is. */
static void format_text(const char *text, struct config_text ret)
{
	char number[FRACTION_TEXT_MAX];
	struct fraction f;

	if (text && fraction_parse_or_zero(text, &f, NULL) == 0)
		text = fraction_format(f, number);
	snprintf(ret.at, ret.size, "%s", text ? text : "not set");
}

static void format_value(const struct conf_key *k, const void *at, struct config_text ret)
{
	if (k->type == CONF_TEXT)
		format_text(*(char *const *)at, ret);
	else
		conf_format_value(k, at, ret.at, ret.size);
}

/* Formats a value as a file would state it. */
static int format_other(const struct conf_key *k, const char *other, struct config_text ret,
			struct err *err)
{
	int64_t n = 0;
	int r = 0, word = 0;

	if (k->type == CONF_ENUM) {
		while (k->words[word] && strcasecmp(k->words[word], other) != 0)
			word++;
		if (!k->words[word])
			return err_set(err, -EINVAL, "%s cannot be '%.40s'", k->key, other);
		format_value(k, &word, ret);
		return 0;
	}
	if (k->type == CONF_COUNT)
		r = amount_parse_count(other, &n, err);
	else if (k->type == CONF_BYTES)
		r = amount_parse_bytes(other, &n, err);
	else if (k->type == CONF_SECONDS)
		r = amount_parse_seconds(other, &n, err);
	else
		format_text(other, ret);
	if (r == 0 &&
	    (k->type == CONF_COUNT || k->type == CONF_BYTES || k->type == CONF_SECONDS))
		format_value(k, &n, ret);
	return r;
}

int config_setting_format(const struct config *c, const struct config_setting *s,
			  const char *other, struct config_text ret, struct err *err)
{
	char section[32];
	const char *name = s->section + strcspn(s->section, " \t");
	const struct conf_key *k;
	const void *object;

	snprintf(section, sizeof(section), "%.*s", (int)(name - s->section), s->section);
	name += strspn(name, " \t");
	k = find_key(section, s->key);
	if (!k)
		return err_set(err, -EINVAL, "there is no key %.40s in [%.40s]", s->key,
			       section);
	if (other)
		return format_other(k, other, ret, err);
	object = object_of(c, section, name);
	if (!object)
		return err_set(err, -EINVAL, "there is no [%.80s]", s->section);
	format_value(k, (const char *)object + k->offset, ret);
	return 0;
}
