/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_final.c - any bytes as a final record: refused with words, or the record of one attempt whose figures are not negative, and from which
 * an end follows.
 *
 * links: agent/enforce/final common/model/usage common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/enforce/final.h"
#include "common/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const struct final *f)
{
	struct job_end end = { 0 };

	if (f->job < 1 || f->attempt < 1 || !f->code[0] || f->oom_kills < 0 ||
	    f->pids_max < 0 || f->usage.cpu_ns < 0 || f->usage.read_bytes < 0 ||
	    f->usage.write_bytes < 0)
		abort();
	final_end(f, &end);
	if (end.kind <= END_NONE || end.kind >= _END_MAX)
		abort();
	memset(&end, 0, sizeof(end));
	if (final_is_setup_failure(f, "/l", &end) != (end.kind == END_FAILED))
		abort();
}

/* In memory of exactly this size, so that a byte read behind it is found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct err err = { "" };
	struct final f;

	memcpy(text, data, size);
	if (final_parse(text, size, &f, &err) == 0)
		check_record(&f);
	else if (!*err.text)
		abort();
	free(text);
	return 0;
}
