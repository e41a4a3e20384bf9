/* asked_names - the names of a list option ("--account a,b"), and which of them were met.
 *
 * A name that no row has is an error with the nearest name of those that were met: an empty
 * answer to a mistyped name looks like no usage.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/model/request.h"

struct err;

#define ASKED_NAMES_MAX 64

struct asked_name {
	char text[REQUEST_NAME_MAX], nearest[REQUEST_NAME_MAX]; /* nearest "": none so far */
	bool is_met;
};
struct asked_names {
	const char *what; /* "account": what the names are of */
	struct asked_name name[ASKED_NAMES_MAX];
	size_t n;
};

/* `list` NULL: no names, so that every name is one of them. -EINVAL: too many, or an empty one.
 */
int asked_names_init(struct asked_names *a, const char *what, const char *list,
		     struct err *err);
/* A name that is there. Is it one that was asked for? */
bool asked_names_meet(struct asked_names *a, const char *name);
/* -ENOENT: one was never met. */
int asked_names_check(const struct asked_names *a, struct err *err);
