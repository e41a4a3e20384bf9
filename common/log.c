/* log.c - see log.h. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <systemd/sd-journal.h>
#include "common/log.h"

static struct {
	const char *program;
	int max_priority;
	int journal;
} to = { "reeve", LOG_INFO, 0 };

void log_open(const char *program, int max_priority)
{
	to.program = program;
	to.max_priority = max_priority;
	to.journal = !isatty(STDERR_FILENO) && !access("/run/systemd/journal/socket", W_OK);
}

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

void log_job(int priority, int64_t job, const char *event, const char *fmt, ...)
{
	char text[4096];
	int n;
	va_list ap;

	if (priority > to.max_priority)
		return;
	n = snprintf(text, sizeof(text), "job %lld: ", (long long)job);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	if (!to.journal ||
	    sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", priority, "REEVE_JOB=%lld",
			    (long long)job, "REEVE_EVENT=%s", event, NULL) < 0)
		to_stderr(priority, text);
}
