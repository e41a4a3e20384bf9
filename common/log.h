/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.h - one line for each event, to the journal with structured fields, or to
 * stderr with <N> priority prefixes where no journal listens.
 *
 * sd_journal_send() succeeds and drops the line where journald is absent, so
 * the choice is made once, in log_open(), by looking for journald's socket.
 */
#pragma once
#include <stdint.h>
#include <syslog.h>

/* `program` is kept, not copied. `max_priority`: LOG_DEBUG shows everything. */
void log_open(const char *program, int max_priority);

/* Another max_priority, from the next line on. */
void log_set_max(int max_priority);

/* A line about the daemon itself. `priority` as in syslog.h. */
void log_line(int priority, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for what others can make happen as often as they like: one line in ten seconds for
 * each `l` (zeroed at first); the next one says how many were left out. */
struct log_limit {
	int64_t next_ns, left_out;
};
void log_limited(struct log_limit *l, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A line about one job: the journal gets REEVE_JOB=ID and REEVE_EVENT=event
 * (a stable lower-case word: "start", "end", "limit", "suspend", ...), and the MESSAGE_ID of that word. */
void log_job(int priority, int64_t job, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same about the daemon itself: without REEVE_JOB. */
void log_event(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
