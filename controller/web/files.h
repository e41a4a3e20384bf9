/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files - the files of controller/web/templates, compiled into the program: stylesheets, the pages'
 * style and script. */
#pragma once
#include <stddef.h>

struct web_file {
	const char *name; /* "jobs.xsl" */
	const char *text, *end;
};

/* NULL: none has this name. */
const struct web_file *web_file_find(const char *name);
