/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err.h - what failed, in words, for the caller that logs or replies. No allocation. */
#pragma once

struct err {
	char text[512];
};

/* Store the message (if e is not NULL) and return `code`, so that callers can
 * write `return err_set(err, -EINVAL, "...")`. `%m` is the errno at the call. */
int err_set(struct err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "PREFIX: " before the words already there; returns `code`. For a caller
 * that knows better than its callee what was being attempted. */
int err_prefix(struct err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
