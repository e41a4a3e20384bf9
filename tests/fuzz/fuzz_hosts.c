/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_hosts.c - any text as the nodes of a job on several of them.
 * links: common/err agent/job/handshake/hosts common/model/request common/model/array
 * links: common/model/after common/model/select common/model/mail common/model/amount common/model/resources
 * links: common/model/features common/model/script
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/handshake/hosts.h"
#include "common/err.h"

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; text && *text; text++)
		n += *text == '\n';
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_part p = { .n = 1 };
	char *text = malloc(size + 1), *slots, *lines;
	struct err err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	p.hosts = text;
	for (const char *c = text; *c; c++)
		p.n += *c == ',';
	if (job_hosts_check(&p, &err) == 0 && job_hosts_ncpus(&p) < 4096) {
		slots = job_hosts_slots(&p);
		lines = job_hosts_lines(&p);
		if (lines_of(slots) != (size_t)p.n ||
		    lines_of(lines) != (size_t)job_hosts_ncpus(&p))
			abort();
		free(slots);
		free(lines);
	}
	free(text);
	return 0;
}
