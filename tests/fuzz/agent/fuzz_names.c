/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_names.c - any text as a set of cpus, as the name of a job's unit and as that of a step's file: what is accepted is written again as the
 * same text.
 *
 * links: agent/admit/cpulist agent/step/step agent/enforce/manager/manager common/utf8 common/err
 *
 * libs: -lsystemd
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/enforce/manager/manager.h"
#include "agent/step/step.h"
#include "common/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cpus(const char *text)
{
	struct cpulist set, again;
	char buf[CPULIST_TEXT_MAX];
	struct err err = { "" };
	int n = 0;

	if (cpulist_parse(text, &set, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	for (int cpu = -1; (cpu = cpulist_next(&set, cpu)) >= 0;)
		n++;
	if (n != cpulist_count(&set) ||
	    cpulist_parse(cpulist_format(&set, buf, sizeof(buf)), &again, &err) < 0 ||
	    !cpulist_is_equal(&set, &again))
		abort();
}

static void check_unit(const char *text)
{
	struct manager_id id;
	char buf[MANAGER_NAME_MAX], scope[MANAGER_NAME_MAX];

	if (manager_parse_name(text, &id) == 0 && strcmp(manager_name(id, buf), text) != 0 &&
	    strcmp(manager_scope_name(id, scope), text) != 0)
		abort();
}

static void check_step(const char *text)
{
	struct sync_step_id id;
	const char *rest;
	char buf[STEP_FILE_MAX];
	size_t n;

	if (step_parse_name(text, &id, &rest) < 0)
		return;
	n = strlen(step_format_name(id, buf));
	if (strncmp(buf, text, n) != 0 || text + n != rest)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	check_cpus(text);
	check_unit(text);
	check_step(text);
	free(text);
	return 0;
}
