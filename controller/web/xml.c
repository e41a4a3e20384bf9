/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xml.c - JSON to a tree of libxml2; see xml.h. */
#include <errno.h>
#include <inttypes.h>
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

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 && c != '\t' && c != '\n';
}

/* A copy without what XML forbids; NULL: no memory. */
static char *replace_controls(const char *text)
{
	size_t n = 0;
	char *copy, *to;

	for (const char *p = text; *p; p++)
		n += is_control(*p) ? strlen(REPLACEMENT) : 1;
	copy = to = malloc(n + 1);
	if (!copy)
		return NULL;
	for (const char *p = text; *p; p++)
		if (is_control(*p))
			to = stpcpy(to, REPLACEMENT);
		else
			*to++ = *p;
	*to = '\0';
	return copy;
}

int xml_set(xmlNode *of, const char *name, const char *text, struct err *err)
{
	_cleanup_free_ char *copy = NULL;

	if (text[strcspn(text,
			 "\001\002\003\004\005\006\a\b\v\f\r\016\017\020\021\022\023\024\025"
			 "\026\027\030\031\032\033\034\035\036\037")]) {
		copy = replace_controls(text);
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
