/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xml - a document of the API as XML, for the stylesheets of the pages.
 *
 * An object's numbers, texts and booleans are attributes of its element, its objects and lists are
 * elements below it; the items of a list are elements <item>. A null is no attribute: what was not
 * measured is absent. A text that stands in a list alone is <item text="...">. A member whose name is no
 * XML name is <entry name="..."> with the same content, its scalar as attribute "value". Characters that
 * XML cannot have (C0 but tab and line end, U+FFFE, U+FFFF) become U+FFFD: a page shows that something was there.
 */
#pragma once
#include <jansson.h>
#include <libxml/tree.h>

struct err;

/* Adds an element of this name, with all of `value`, below `to`. -ENOMEM. */
int xml_add_json(xmlNode *to, const char *name, const json_t *value, struct err *err);
/* An attribute; the text is made valid as above. */
int xml_set(xmlNode *of, const char *name, const char *text, struct err *err);
