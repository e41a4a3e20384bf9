/* lines.c - see lines.h. */
#include <errno.h>
#include <stdlib.h>
#include "controller/api/submit/lines.h"

/* The lines stand in a ring. */
struct line {
	struct line *next;
	uint32_t uid;
	struct lines_entry *first, *newest;
};

static struct line *find(const struct lines *l, uint32_t uid)
{
	struct line *line = l->last;

	if (!line)
		return NULL;
	do {
		line = line->next;
		if (line->uid == uid)
			return line;
	} while (line != l->last);
	return NULL;
}

/* A new line comes last. */
static struct line *add(struct lines *l, uint32_t uid)
{
	struct line *line = calloc(1, sizeof(*line));

	if (!line)
		return NULL;
	line->uid = uid;
	line->next = l->last ? l->last->next : line;
	if (l->last)
		l->last->next = line;
	l->last = line;
	return line;
}

int lines_put(struct lines *l, uint32_t uid, struct lines_entry *e)
{
	struct line *line = find(l, uid);

	if (!line)
		line = add(l, uid);
	if (!line)
		return -ENOMEM;
	e->next = NULL;
	if (line->first)
		line->newest->next = e;
	else
		line->first = e;
	line->newest = e;
	return 0;
}

struct lines_entry *lines_take(struct lines *l)
{
	struct line *line = l->last ? l->last->next : NULL;
	struct lines_entry *e;

	if (!line)
		return NULL;
	e = line->first;
	line->first = e->next;
	if (line->first) {
		l->last = line; /* last from now on */
		return e;
	}
	if (line == l->last)
		l->last = NULL;
	else
		l->last->next = line->next;
	free(line);
	return e;
}
