/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hosts.c - parse and format the node list of a job on several nodes; see handshake/hosts.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/handshake/hosts.h"
#include "common/err.h"

#define NCPUS_MAX (INT64_C(1) << 20) /* as request_resources has it */

/* The list comes from the controller and is checked like any input: names as of requests, numbers without sign
 * or leading zero, no empty item, no comma at the end. */
int job_hosts_next(const char **at, struct job_host *ret)
{
	const char *from = *at;
	size_t n = strcspn(from, "=,");
	char *end;

	if (!*from)
		return 0;
	if (from[n] != '=' || n >= sizeof(ret->name))
		return -EINVAL;
	memcpy(ret->name, from, n);
	ret->name[n] = '\0';
	if (!request_is_name(ret->name) || from[n + 1] < '1' || from[n + 1] > '9')
		return -EINVAL;
	errno = 0;
	ret->ncpus = strtoll(from + n + 1, &end, 10);
	if (errno || ret->ncpus > NCPUS_MAX || (*end && *end != ',') || (*end && !end[1]))
		return -EINVAL;
	*at = *end ? end + 1 : end;
	return 1;
}

/* ncpus stops the loop early: a list of many parts cannot overflow the sum. */
int job_hosts_check(const struct job_part *p, struct err *err)
{
	const char *at = p->hosts ? p->hosts : "";
	struct job_host h;
	int64_t ncpus = 0;
	int32_t n = 0;
	int r;

	if (!p->n)
		return 0;
	while ((r = job_hosts_next(&at, &h)) > 0 && ncpus <= NCPUS_MAX) {
		ncpus += h.ncpus;
		n++;
	}
	if (r < 0)
		return err_set(err, r, "the nodes of the job cannot be read at '%.40s'", at);
	if (ncpus > NCPUS_MAX)
		return err_set(err, -EINVAL, "a job on more than %" PRId64 " cores", NCPUS_MAX);
	if (n != p->n || p->index < 0 || p->index >= n)
		return err_set(err, -EINVAL,
			       "part %" PRId32 " of %" PRId32 " of a job on %" PRId32 " nodes",
			       p->index, p->n, n);
	return 0;
}

int64_t job_hosts_ncpus(const struct job_part *p)
{
	const char *at = p->hosts ? p->hosts : "";
	struct job_host h;
	int64_t sum = 0;

	while (job_hosts_next(&at, &h) > 0)
		sum += h.ncpus;
	return sum;
}

typedef void (*write_host_fn)(FILE *f, const struct job_host *h, const char *between);

/* NULL: no memory. */
static char *join_hosts(const struct job_part *p, write_host_fn write_host)
{
	const char *at = p->hosts ? p->hosts : "", *between = "";
	struct job_host h;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int failed;

	if (!f)
		return NULL;
	for (; job_hosts_next(&at, &h) > 0; between = ",")
		write_host(f, &h, between);
	/* Both are evaluated: fclose() completes `text` and frees the stream. */
	failed = ferror(f) | fclose(f);
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}

static void put_name(FILE *f, const struct job_host *h, const char *between)
{
	fprintf(f, "%s%s", between, h->name);
}

static void put_slots(FILE *f, const struct job_host *h, const char *between)
{
	(void)between;
	fprintf(f, "%s slots=%" PRId64 "\n", h->name, h->ncpus);
}

static void put_lines(FILE *f, const struct job_host *h, const char *between)
{
	(void)between;
	for (int64_t i = 0; i < h->ncpus; i++)
		fprintf(f, "%s\n", h->name);
}

char *job_hosts_names(const struct job_part *p)
{
	return join_hosts(p, put_name);
}

char *job_hosts_slots(const struct job_part *p)
{
	return join_hosts(p, put_slots);
}

char *job_hosts_lines(const struct job_part *p)
{
	return join_hosts(p, put_lines);
}
