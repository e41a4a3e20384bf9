/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.c - writes log lines to the journal or to stderr; see log.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <systemd/sd-journal.h>
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

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

void log_set_max(int max_priority)
{
	to.max_priority = max_priority;
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

/* ---- events ---- */

/* In the order of the words. The MESSAGE_ID of an event never changes: sites select by it. Its text is in
 * units/reeve.catalog. */
static const struct event {
	const char *word, *id;
} events[] = {
	{ "adopt", "f3c95789ace149548c5d6baed2eac902" },
	{ "cancel", "cbf27734ac1045258b66402800e03d2c" },
	{ "console", "e0a3a91f23464c138c27ed12b10877a9" },
	{ "depend", "f1260ebc7d564b568714dc919b27dbdf" },
	{ "describe", "6caf76a5703548ae8280ad3729a6f2e7" },
	{ "desired", "3f0c9931918c40bf8670c342c6cce996" },
	{ "end", "004498f4b98747c18c9c26a813678d7a" },
	{ "ended", "0ecaf828e2f745538fcc69d79561a0d1" },
	{ "exec", "73f80e52a36948b584414c46f147ecf9" },
	{ "failed", "c1af446506f142fc81010f154a9f2968" },
	{ "fence", "b459071afb8a4f9e8f72c46dca8fbe35" },
	{ "final", "5a3c1fbdf9da4bf3881696a68afe2312" },
	{ "give", "135d63cf1293424c802a2e8f96fc5ce8" },
	{ "guard", "a4ea3938d4294c52810915b0875b0b21" },
	{ "held", "bdfaef428c7d44318331dab129ea3a7b" },
	{ "hook", "4260ce86ca964d788a569ee452a5d423" },
	{ "jobfs", "44e767f743bb48988c59157196f119be" },
	{ "kill", "23cc390c935440e38e1f39485d23d1f3" },
	{ "limit", "4d1dd7de07c1437b85d0c57b811008b7" },
	{ "lost", "06f3179fec434ae086e144cf0b4152c8" },
	{ "manager", "c78165de8458420c88ba29b1f8223c08" },
	{ "note", "7aa1caa066de4e968867119277832f1d" },
	{ "oom", "83f11b2d9bbc46858cc3323c673940a8" },
	{ "order", "510adc2735aa450a8d7af233a7ffb088" },
	{ "phase", "6bc5c2b70f194ed3be11dafe3f5aebf9" },
	{ "quota", "d9a3ce9ecbc14674812d1e51dd71029e" },
	{ "refused", "d4e9fa63331343f08fa057702e2677a6" },
	{ "released", "65ae2ffda43641f38dcb161ad81d3a39" },
	{ "reload", "1a75a3ee5a2b405d90e21a1ed8e07f8e" },
	{ "report", "138b0edce01243888da40df5317bbb14" },
	{ "request", "98067601e5374aea8aa60f386a9bb2c4" },
	{ "resume", "7cefd5c5638547688e5deaa1ef2cd05a" },
	{ "save", "7b9ea66e083b43178614c6aa1bfc22ea" },
	{ "session", "9200a15f69ff4a7b8ebdc582c1ca746a" },
	{ "slurm", "18c5fb11dedd44dc8b09000ac1286e4f" },
	{ "start", "370325fc7dc247f18efc114008a8d6b1" },
	{ "state", "2a8323407e9a42dd8d260d6e8e9a8013" },
	{ "step", "bc4b3fceffa34da6848e90b3abc78239" },
	{ "submit", "52e200a0aefd4e418e4ef56377c3d00d" },
	{ "suspend", "673e8eb9d8b9479e83360d8b08f2c429" },
	{ "unknown", "801ea395f30649b38a85585462987f1a" },
	{ "unsigned", "16cb6ae495454468836c62aea2acfe1e" },
	{ "usage", "d757a0a7238c482286df7dfa02238784" },
	{ "weigh", "aff0c3d03d4a4dcf8656a1258c37e876" },
};

static int compare_word(const void *word, const void *event)
{
	return strcmp(word, ((const struct event *)event)->word);
}

static const char *find_event_id(const char *word)
{
	const struct event *e =
		bsearch(word, events, ARRAY_LEN(events), sizeof(*events), compare_word);

	return e ? e->id : NULL;
}

void log_job(int priority, int64_t job, const char *event, const char *fmt, ...)
{
	const char *id = find_event_id(event);
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

void log_event(int priority, const char *event, const char *fmt, ...)
{
	const char *id = find_event_id(event);
	char text[2048], message_id[64];
	va_list ap;

	if (priority > to.max_priority)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(message_id, sizeof(message_id), "MESSAGE_ID=%s", id ? id : "");
	if (!to.journal ||
	    sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", priority, "REEVE_EVENT=%s",
			    event, id ? message_id : NULL, NULL) < 0)
		to_stderr(priority, text);
}
