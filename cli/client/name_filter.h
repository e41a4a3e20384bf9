/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_filter - the names of a list option ("--account a,b"), and which of them were found.
 *
 * A name that no row has is an error with the nearest name of those that were met: an empty
 * answer to a mistyped name looks like no usage.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/model/request.h"

struct err;

#define NAME_FILTER_MAX 64

struct name_filter_entry {
	char text[REQUEST_NAME_MAX], nearest[REQUEST_NAME_MAX]; /* nearest "": none so far */
	bool is_met;
};
struct name_filter {
	const char *what; /* "account": what the names are of */
	struct name_filter_entry name[NAME_FILTER_MAX];
	size_t n;
};

/* `list` NULL: no filter, every name matches. -EINVAL: too many names, or an empty one. */
int name_filter_init(struct name_filter *a, const char *what, const char *list,
		     struct err *err);
/* Called with every name that a row has: does the list have it? */
bool name_filter_match(struct name_filter *a, const char *name);
/* Called after all rows. -ENOENT: no row had one of the names; proposes the nearest. */
int name_filter_check(const struct name_filter *a, struct err *err);
