/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report - what `reeve admin doctor` found: a list of findings, each of one check, with a sentence and the command that mends it.
 *
 * The files of this folder are pure: each takes facts (facts.h, or a struct of its own) and adds findings. What could not be found out is a
 * finding too (JUDGE_UNCHECKED, with the reason): no check passes silently.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define JUDGE_TEXT_MAX 640
#define JUDGE_REMEDY_MAX 400
#define JUDGE_FINDINGS_MAX 256

enum judge_state {
	JUDGE_OK,
	JUDGE_NONE, /* it does not apply here; the text says why */
	JUDGE_WARN,
	JUDGE_UNCHECKED, /* it could not be checked; the text says why */
	JUDGE_FAIL,
	_JUDGE_STATE_MAX
};
const char *judge_state_name(enum judge_state s); /* "ok", "n/a", "warn", "unchecked", "fail" */

struct judge_finding {
	const char *check; /* a name without blanks; not copied */
	enum judge_state state;
	char text[JUDGE_TEXT_MAX], remedy[JUDGE_REMEDY_MAX]; /* remedy "": none */
};

struct judge_report {
	struct judge_finding of[JUDGE_FINDINGS_MAX];
	size_t n;
	bool is_full; /* findings were dropped: judge_report_close() reports it */
};

/* Adds a finding; a text that is too long is cut. */
void judge_add(struct judge_report *r, const char *check, enum judge_state state,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Sets the command that mends what was added last. */
void judge_remedy(struct judge_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Called once at the end: where findings were dropped the last one reports it, and fails. */
void judge_report_close(struct judge_report *r);
size_t judge_count(const struct judge_report *r, enum judge_state state);
/* Does the report count as a failure? A check that could not be made counts, warnings count if `is_strict`. */
bool judge_has_failed(const struct judge_report *r, bool is_strict);
