/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dependencies.c - a step of a submission: finds the jobs that it depends on. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/api/submit/submit.h"
#include "controller/api/authz.h"
#include "controller/ledger/jobs/depend.h"

static int refuse_dependency(struct call *c, struct after a, const struct job_end *end,
			     struct err *err)
{
	char words[DEPEND_WORDS_MAX];

	if (end->kind == END_NONE) { /* no such job, or none that the user may see */
		err_set(err, 0, "%s: no job %s", after_kind_name(a.kind),
			job_id_format(a.id, words));
		return call_refuse(c, 400, "unknown-dependency",
				   "'reeve jobs' lists yours; -a those that have ended");
	}
	err_set(err, 0, "the job could never start: %s", depend_words(a, end, words));
	return call_refuse(c, 400, "dependency-failed",
			   "submit that job again, or wait with afterany");
}

/* Keeps the dependencies that are still open; one that can never be met refuses the job. A job
 * that the caller may not see is answered like one that does not exist. */
int submit_find_dependencies(struct call *c, struct submit_job *s, struct err *err)
{
	static const struct job_end none = { .kind = END_NONE };
	const struct after_list *after = &s->request.after;

	s->targets = calloc(after->n + 1, sizeof(*s->targets));
	if (!s->targets)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < after->n; i++) {
		struct after a = after->at[i];
		struct store_prospect p;
		int r = store_depend_look(c->api->c.store, a, &p, err);

		if (r == -ENOENT || (r >= 0 && !authz_sees_job(c, p.uid, p.account)))
			return refuse_dependency(c, a, &none, err);
		if (r < 0)
			return r;
		switch (depend_judge(a.kind, &p.end)) {
		case DEPEND_FAILED:
			return refuse_dependency(c, a, &p.end, err);
		case DEPEND_WAITS:
			s->targets[s->n_targets++] = p.target;
			break;
		default:
			break;
		}
	}
	return 0;
}
