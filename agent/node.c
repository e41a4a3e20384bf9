/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node.c - notes of the node, its tier, its clocks; see node.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "agent/node.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/utf8.h"

int64_t node_now_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int64_t node_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void node_note(struct node *n, const char *fmt, ...)
{
	char text[sizeof(n->notes[0])];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_clean(text);
	for (int i = 0; i < n->n_notes; i++)
		if (!strcmp(n->notes[i], text))
			return;
	if (!text[0] || n->n_notes >= NODE_NOTES_MAX)
		return;
	memcpy(n->notes[n->n_notes], text, sizeof(text));
	n->note_list[n->n_notes] = n->notes[n->n_notes];
	n->n_notes++;
	n->note_list[n->n_notes] = NULL;
	log_line(LOG_NOTICE, "note: %s", text);
}

/* The texts move, the pointers in note_list stay as they are: entry i is always notes[i]. */
void node_unnote(struct node *n, const char *begin)
{
	int kept = 0;

	for (int i = 0; i < n->n_notes; i++) {
		if (!strncmp(n->notes[i], begin, strlen(begin)))
			continue;
		if (kept != i)
			memcpy(n->notes[kept], n->notes[i], sizeof(n->notes[kept]));
		kept++;
	}
	n->n_notes = kept;
	n->note_list[kept] = NULL;
}

int node_tier(const struct node *n)
{
	int vmem = (int)vmem_tier(n->vmem), events = events_tier(n->events);

	return vmem > events ? vmem : events;
}
