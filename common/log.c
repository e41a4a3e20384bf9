/* log.c - writes log lines to the journal or to stderr; see log.h. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <systemd/sd-journal.h>
#include "common/clock.h"
#include "common/log.h"
#include "common/log_events.h"

static struct {
	const char *program;
	int max_priority;
	int journal; /* journald listens: lines go to its socket */
} to = { "reeve", LOG_INFO, 0 };

void log_open(const char *program, int max_priority)
{
	to.program = program;
	to.max_priority = max_priority;
	to.journal = !isatty(STDERR_FILENO) && !access("/run/systemd/journal/socket", W_OK);
}

/* To a terminal without the <N> prefix, which is for journald and its like to read. */
static void to_stderr(int priority, const char *text)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%s: %s\n", to.program, text);
	else
		fprintf(stderr, "<%d>%s: %s\n", priority, to.program, text);
}

void log_line(int priority, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (priority > to.max_priority)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!to.journal ||
	    sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", priority, NULL) < 0)
		to_stderr(priority, text);
}

#define LIMIT_NS (10 * S_NS)

void log_limited(struct log_limit *l, int priority, const char *fmt, ...)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	char text[1024], more[64] = "";
	va_list ap;

	if (now_ns < l->next_ns) {
		l->left_out++;
		return;
	}
	if (l->left_out)
		snprintf(more, sizeof(more), " (and %lld more since the last such line)",
			 (long long)l->left_out);
	l->next_ns = now_ns + LIMIT_NS;
	l->left_out = 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_line(priority, "%s%s", text, more);
}

void log_job(int priority, int64_t job, const char *event, const char *fmt, ...)
{
	const char *id = log_event_id(event);
	char text[4096], message_id[64];
	int n;
	va_list ap;

	if (priority > to.max_priority)
		return;
	n = snprintf(text, sizeof(text), "job %lld: ", (long long)job);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	snprintf(message_id, sizeof(message_id), "MESSAGE_ID=%s", id ? id : "");
	if (!to.journal || sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", priority,
					   "REEVE_JOB=%lld", (long long)job, "REEVE_EVENT=%s",
					   event, id ? message_id : NULL, NULL) < 0)
		to_stderr(priority, text);
}
