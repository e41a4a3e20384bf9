/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render - stylesheets (XSLT 1.0, libxslt) that make HTML of a page's data.
 *
 * The data is a tree that the controller built (xml.h), never a text that was parsed: what users wrote is
 * in attributes and text nodes, and libxslt escapes it where it writes HTML. The stylesheets may read
 * no file and no address, write none, and change nothing.
 */
#pragma once
#include <libxml/tree.h>
#include <stddef.h>
#include "common/cleanup.h"

struct err;
struct render;

/* Compiles all stylesheets of the program. -EINVAL: one of them is wrong, which its message names. */
int render_open(struct render **ret, struct err *err);
struct render *render_close(struct render *r);
DEFINE_CLEANUP(struct render *, render_close)

struct render_text {
	char *text; /* malloc()ed, ends with NUL */
	size_t size;
};
/* The HTML of `data` by the stylesheet ("jobs.xsl"). -ENOENT: no such stylesheet;
 * -EINVAL: it failed, err has libxslt's words. */
int render_page(struct render *r, const char *stylesheet, xmlDoc *data, struct render_text *ret,
		struct err *err);
