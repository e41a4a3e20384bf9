/* SPDX-License-Identifier: GPL-2.0-or-later */
/* change.c - compares the values of two configurations and puts the changes into words; see change.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "common/conf/change.h"
#include "common/model/request.h"

#define RESOURCES_TEXT_MAX 1024
#define LEAD 24 /* of a long text, so much is shown before the first difference */
#define CUT "..."

static const void *value_of(const struct conf_key *k, const void *object)
{
	return (const char *)object + k->offset;
}

static size_t size_of(const struct conf_key *k)
{
	switch (k->type) {
	case CONF_TEXT:
		return sizeof(char *);
	case CONF_NAME:
		return REQUEST_NAME_MAX;
	case CONF_BOOL:
		return sizeof(bool);
	case CONF_ENUM:
		return sizeof(int);
	case CONF_RESOURCES:
		return sizeof(struct resources);
	case CONF_COUNT:
	case CONF_BYTES:
	case CONF_SECONDS:
		break;
	}
	return sizeof(int64_t);
}

/* A text that is not set is no other than an empty one. */
static const char *text_of(const struct conf_key *k, const void *object)
{
	const char *text = k->type == CONF_TEXT ? *(char *const *)value_of(k, object)
						: value_of(k, object);

	return text ? text : "";
}

bool conf_differs(const struct conf_key *k, const void *a, const void *b)
{
	char text_a[RESOURCES_TEXT_MAX], text_b[RESOURCES_TEXT_MAX];

	if (k->type == CONF_TEXT || k->type == CONF_NAME)
		return strcmp(text_of(k, a), text_of(k, b)) != 0;
	if (k->type != CONF_RESOURCES)
		return memcmp(value_of(k, a), value_of(k, b), size_of(k)) != 0;
	resources_format(value_of(k, a), text_a, sizeof(text_a));
	resources_format(value_of(k, b), text_b, sizeof(text_b));
	return strcmp(text_a, text_b) != 0;
}

/* ---- words ---- */

/* The text from `skip` on, in at most CONF_CHANGE_VALUE_MAX bytes. */
static void show_text(const char *text, size_t skip, char ret[static CONF_CHANGE_VALUE_MAX])
{
	size_t n;

	if (!*text)
		text = CONF_NOT_SET;
	n = (size_t)snprintf(ret, CONF_CHANGE_VALUE_MAX, "%s%s", skip ? CUT : "",
			     strlen(text) > skip ? text + skip : "");
	if (n >= CONF_CHANGE_VALUE_MAX)
		strcpy(ret + CONF_CHANGE_VALUE_MAX - sizeof(CUT), CUT);
	for (char *p = ret; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
}

static void show_values(const struct conf_key *k, const struct conf_pair *p,
			struct conf_change *ret)
{
	char was[RESOURCES_TEXT_MAX], is[RESOURCES_TEXT_MAX];
	const char *a = was, *b = is;
	size_t same = 0;

	if (k->type == CONF_TEXT || k->type == CONF_NAME) {
		a = text_of(k, p->now);
		b = text_of(k, p->fresh);
	} else {
		conf_format_value(k, value_of(k, p->now), was, sizeof(was));
		conf_format_value(k, value_of(k, p->fresh), is, sizeof(is));
	}
	while (a[same] && a[same] == b[same])
		same++;
	if (same <= LEAD ||
	    (strlen(a) < CONF_CHANGE_VALUE_MAX && strlen(b) < CONF_CHANGE_VALUE_MAX))
		same = LEAD;
	show_text(a, same - LEAD, ret->was);
	show_text(b, same - LEAD, ret->is);
}

const char *conf_change_format(const struct conf_change *c,
			       char buf[static CONF_CHANGE_TEXT_MAX])
{
	if (c->is_added || c->is_removed)
		snprintf(buf, CONF_CHANGE_TEXT_MAX, "[%s] %s", c->section,
			 c->is_added ? "added" : "removed");
	else
		snprintf(buf, CONF_CHANGE_TEXT_MAX, "[%s] %s: %s -> %s%s", c->section,
			 c->key ? c->key->key : "first", c->was, c->is,
			 c->key && c->key->reload == CONF_RESTART
				 ? "; takes effect at the next restart"
				 : "");
	return buf;
}

/* Adds "2 keys", behind " and " where something is there already. */
static void add_count(char *buf, int n, const char *what)
{
	size_t used = strlen(buf);

	if (n)
		snprintf(buf + used, CONF_TALLY_TEXT_MAX - used, "%s%d %s%s",
			 used ? " and " : "", n, what, n == 1 ? "" : "s");
}

const char *conf_tally_format(const struct conf_tally *t, char buf[static CONF_TALLY_TEXT_MAX])
{
	size_t used;

	buf[0] = '\0';
	add_count(buf, t->keys, "key");
	add_count(buf, t->sections, "section");
	used = strlen(buf);
	snprintf(buf + used, CONF_TALLY_TEXT_MAX - used, "%s",
		 used ? " changed" : "nothing changed");
	used = strlen(buf);
	if (t->restart)
		snprintf(buf + used, CONF_TALLY_TEXT_MAX - used, ", %d need%s a restart",
			 t->restart, t->restart == 1 ? "s" : "");
	return buf;
}

/* ---- pairs ---- */

void conf_change_tell(struct conf_changes *to, const struct conf_change *c)
{
	if (c->key)
		to->tally.keys++;
	else
		to->tally.sections++;
	to->tally.restart += c->key && c->key->reload == CONF_RESTART;
	if (to->tell)
		to->tell(to->ctx, c);
}

void conf_compare(const struct conf_key *keys, const struct conf_pair *p,
		  struct conf_changes *to)
{
	struct conf_change c = { .key = NULL };

	snprintf(c.section, sizeof(c.section), "%s%s%s", p->section, *p->name ? " " : "",
		 p->name);
	for (const struct conf_key *k = keys; k->key; k++) {
		if (strcmp(k->section, p->section) || !conf_differs(k, p->now, p->fresh))
			continue;
		c.key = k;
		show_values(k, p, &c);
		conf_change_tell(to, &c);
	}
}

static void swap_value(const struct conf_key *k, const struct conf_pair *p)
{
	char *a = (char *)p->now + k->offset, *b = (char *)p->fresh + k->offset;
	struct resources kept; /* the largest type */

	_Static_assert(sizeof(kept) >= REQUEST_NAME_MAX, "a name has room in it");
	memcpy(&kept, a, size_of(k));
	memcpy(a, b, size_of(k));
	memcpy(b, &kept, size_of(k));
}

void conf_swap_restart(const struct conf_key *keys, const struct conf_pair *p)
{
	for (const struct conf_key *k = keys; k->key; k++)
		if (k->reload == CONF_RESTART && !strcmp(k->section, p->section))
			swap_value(k, p);
}
