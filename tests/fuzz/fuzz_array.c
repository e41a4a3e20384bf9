/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_array.c - any text as an array, a job's name and a dependency: what is accepted prints
 * and reads back the same.
 *
 * links: common/err common/model/array common/model/after
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/after.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_array(const char *text)
{
	struct array a = { 0 }, again = { 0 };
	char buf[ARRAY_TEXT_MAX];
	struct err err;

	if (array_parse(text, &a, &err) < 0)
		return;
	if (array_parse(array_format(&a, buf), &again, &err) < 0 ||
	    memcmp(&a, &again, sizeof(a)) || array_ordinal(&a, a.last) != a.n - 1)
		abort();
}

static void try_id(const char *text)
{
	struct job_id id = { 0 }, again = { 0 };
	char buf[JOB_ID_TEXT_MAX];
	struct err err;

	if (job_id_parse(text, &id, &err) < 0)
		return;
	if (job_id_parse(job_id_format(id, buf), &again, &err) < 0 || id.job != again.job ||
	    id.index != again.index)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct after_list l = { 0 };
	char *text = malloc(size + 1);
	struct err err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	try_array(text);
	try_id(text);
	after_parse(text, &l, &err);
	after_parse_jobs(text, AFTER_ANY, &l, &err);
	if (l.n > AFTER_MAX)
		abort();
	after_list_done(&l);
	free(text);
	return 0;
}
