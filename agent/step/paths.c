/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paths.c - where the files of a step are: its spec and its end in RUN/steps, its output on the job's disk. */
#include <inttypes.h>
#include <stdio.h>
#include "agent/step/steps_impl.h"

static const char *const output_names[2] = { "out", "err" };

const char *steps_path(const struct steps *all, struct sync_step_id id, const char *suffix,
		       char buf[static STEPS_PATH_MAX])
{
	char name[STEP_FILE_MAX];

	snprintf(buf, STEPS_PATH_MAX, "%s/%s%s", all->dir, step_format_name(id, name), suffix);
	return buf;
}

struct job *steps_job(const struct steps *all, const struct step *s)
{
	return job_find(all->node, s->id.job, s->id.attempt);
}

const char *steps_output_path(const struct job *j, const struct step *s, int stream, char *buf,
			      size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "steps/%" PRId64 ".%s", s->id.step, output_names[stream]);
	return job_file(j, name, buf, size);
}
