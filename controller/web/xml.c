/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xml.c - JSON to a tree of libxml2; see xml.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libxml/tree.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/web/xml.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* C0 but tab and line end, and the two code points that are no characters, U+FFFE and U+FFFF. Returns how many bytes of it XML cannot have. */
static size_t forbidden_at(const char *p)
{
	if ((unsigned char)*p < 0x20)
		return *p != '\t' && *p != '\n';
	return !strncmp(p, "\xef\xbf\xbe", 3) || !strncmp(p, "\xef\xbf\xbf", 3) ? 3 : 0;
}

static bool has_forbidden(const char *text)
{
	while (*text && !forbidden_at(text))
		text++;
	return *text;
}

/* A copy without what XML forbids; NULL: no memory. */
static char *replace_forbidden(const char *text)
{
	char *copy = malloc(strlen(text) * strlen(REPLACEMENT) + 1), *to = copy;
	size_t n;

	if (!copy)
		return NULL;
	while (*text) {
		n = forbidden_at(text);
		if (n)
			to = stpcpy(to, REPLACEMENT);
		else
			*to++ = *text;
		text += n ? n : 1;
	}
	*to = '\0';
	return copy;
}

int xml_set(xmlNode *of, const char *name, const char *text, struct err *err)
{
	_cleanup_free_ char *copy = NULL;

	if (has_forbidden(text)) {
		copy = replace_forbidden(text);
		if (!copy)
			return no_memory(err);
		text = copy;
	}
	return xmlNewProp(of, BAD_CAST name, BAD_CAST text) ? 0 : no_memory(err);
}

/* Names of the API are ASCII; others, such as account names as keys, are not looked at further. */
static bool is_xml_name(const char *name)
{
	return *name && !strchr("-.0123456789", *name) &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-.")] &&
	       strncasecmp(name, "xml", 3) != 0;
}

/* The text of a scalar; NULL: a null, or no scalar. */
static const char *scalar_text(const json_t *value, char *buf, size_t size)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return json_string_value(value);
	case JSON_INTEGER:
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return buf;
	case JSON_REAL:
		snprintf(buf, size, "%.17g", json_real_value(value));
		return buf;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	default:
		return NULL;
	}
}

static int add_member(xmlNode *to, const char *name, const json_t *value, struct err *err);

static int add_members(xmlNode *to, const json_t *object, struct err *err)
{
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach((json_t *)object, name, value)
	{
		r = add_member(to, name, value, err);
		if (r < 0)
			break;
	}
	return r;
}

static xmlNode *add_element(xmlNode *to, const char *name, struct err *err)
{
	xmlNode *n = xmlNewChild(to, NULL, BAD_CAST(is_xml_name(name) ? name : "entry"), NULL);

	if (!n || (!is_xml_name(name) && xml_set(n, "name", name, err) < 0)) {
		no_memory(err);
		return NULL;
	}
	return n;
}

static int add_items(xmlNode *to, const json_t *list, struct err *err)
{
	const json_t *item;
	char buf[40];
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)list, i, item)
	{
		const char *text = scalar_text(item, buf, sizeof(buf));
		xmlNode *n;

		if (!text) {
			r = xml_add_json(to, "item", item, err);
		} else {
			n = add_element(to, "item", err);
			r = n ? xml_set(n, "text", text, err) : -ENOMEM;
		}
		if (r < 0)
			break;
	}
	return r;
}

static int add_member(xmlNode *to, const char *name, const json_t *value, struct err *err)
{
	char buf[40];
	const char *text = scalar_text(value, buf, sizeof(buf));
	xmlNode *n;

	if (text && is_xml_name(name))
		return xml_set(to, name, text, err);
	if (!text)
		return json_is_null(value) ? 0 : xml_add_json(to, name, value, err);
	n = add_element(to, name, err);
	return n ? xml_set(n, "value", text, err) : -ENOMEM;
}

int xml_add_json(xmlNode *to, const char *name, const json_t *value, struct err *err)
{
	xmlNode *n = add_element(to, name, err);

	if (!n)
		return -ENOMEM;
	if (json_is_object(value))
		return add_members(n, value, err);
	return json_is_array(value) ? add_items(n, value, err) : 0;
}
