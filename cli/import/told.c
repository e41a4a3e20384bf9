/* SPDX-License-Identifier: GPL-2.0-or-later */
/* told.c - see told.h. */
#include <inttypes.h>
#include <string.h>
#include "cli/import/told.h"
#include "common/cleanup.h"
#include "common/time_units.h"
#include "common/utf8.h"

static const struct {
	const char *word, *meaning;
} notes[] = {
	[HISTORY_NOTE_SUBMIT] = { "submit-after-start", "the wait is counted as 0" },
	[HISTORY_NOTE_UNREADABLE] = { "unreadable-field",
				      "it decides no charge, and is not recorded" },
	[HISTORY_NOTE_PHASE] = { "released-nodes",
				 "phases of jobs that released nodes, each charged for what "
				 "it had" },
};
_Static_assert(ARRAY_LEN(notes) == _HISTORY_NOTE_MAX, "words for each note");

static void copy_fault(char ret[static IMPORT_FAULT_MAX], const struct history_job *j)
{
	char text[64];

	if (*ret || !j->fault)
		return;
	utf8_copy(text, sizeof(text), j->fault_text.at ? j->fault_text.at : "",
		  j->fault_text.size);
	snprintf(ret, IMPORT_FAULT_MAX, "%s '%s'", j->fault, text);
}

void import_told_reject(struct import_told *t, enum history_why why,
			const struct history_job *j)
{
	copy_fault(t->faults[why], j);
}

void import_told_job(struct import_told *t, const struct history_job *j, int64_t line)
{
	for (int n = 0; n < _HISTORY_NOTE_MAX; n++)
		if (j->notes & 1U << n && t->notes[n]++ == 0)
			t->first_note[n] = line;
	copy_fault(t->unreadable, j);
}

void import_told_print(const struct import_told *t, FILE *to)
{
	int64_t s = t->free_s;

	if (t->repeated)
		fprintf(to, "repeated      %" PRId64 " rows of jobs that other rows had\n",
			t->repeated);
	if (t->free_jobs)
		fprintf(to,
			"free time     %" PRId64 ":%02d:%02d of %" PRId64
			" jobs: from start to end, and not in the time that ran (suspended, "
			"staging, or lost by the old system)\n",
			s / HOUR_S, (int)(s / 60 % 60), (int)(s % 60), t->free_jobs);
	for (int n = 0; n < _HISTORY_NOTE_MAX; n++) {
		if (!t->notes[n])
			continue;
		fprintf(to, "%s: %" PRId64 ", first in line %" PRId64 "; %s\n", notes[n].word,
			t->notes[n], t->first_note[n], notes[n].meaning);
		if (n == HISTORY_NOTE_UNREADABLE && *t->unreadable)
			fprintf(to, "    the first: %s\n", t->unreadable);
	}
}

void import_told_encode(const struct import_told *t, struct doc *d)
{
	_cleanup_doc_ struct doc of = doc_object();

	for (int n = 0; n < _HISTORY_NOTE_MAX; n++)
		if (t->notes[n])
			doc_int(&of, notes[n].word, t->notes[n]);
	doc_int(d, "repeated", t->repeated);
	doc_int(d, "free_jobs", t->free_jobs);
	doc_int(d, "free_seconds", t->free_s);
	doc_set(d, "notes", doc_take(&of));
}
