/* changes.c - see changes.h. */
#include <stdlib.h>
#include "controller/dispatch/changes.h"

void changes_done(struct changes *c)
{
	free(c->jobs);
	*c = (struct changes){ 0 };
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Each once, by number. */
static void tidy(struct changes *c)
{
	size_t n = 0;

	if (c->n > 0)
		qsort(c->jobs, c->n, sizeof(*c->jobs), by_number);
	for (size_t i = 0; i < c->n; i++)
		if (n == 0 || c->jobs[n - 1] != c->jobs[i])
			c->jobs[n++] = c->jobs[i];
	c->n = n;
}

static bool make_room(struct changes *c)
{
	size_t larger = c->max ? c->max * 2 : 64;
	int64_t *jobs;

	if (c->n < c->max)
		return true;
	tidy(c); /* rows of jobs that run are written again and again */
	if (c->n < c->max / 2)
		return true;
	jobs = larger <= CHANGES_MAX ? realloc(c->jobs, larger * sizeof(*jobs)) : NULL;
	if (!jobs)
		return false;
	c->jobs = jobs;
	c->max = larger;
	return true;
}

void changes_add(struct changes *c, int64_t job)
{
	if (c->is_all || (c->n > 0 && c->jobs[c->n - 1] == job))
		return;
	if (make_room(c))
		c->jobs[c->n++] = job;
	else
		c->is_all = true;
}

struct changes changes_take(struct changes *c)
{
	struct changes all = *c;

	*c = (struct changes){ 0 };
	tidy(&all);
	return all;
}
