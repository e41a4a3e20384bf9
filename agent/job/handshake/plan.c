/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.c - encode the plan of a job; see handshake/plan.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/handshake/env.h"
#include "agent/job/handshake/plan.h"
#include "common/cleanup.h"
#include "common/err.h"

struct bytes {
	char *at;
	size_t size, room;
	int failed; /* -errno of the first failure: checked once at the end */
};

/* The first failure sticks: later calls do nothing, and job_plan_encode() checks once. */
static void append_bytes(struct bytes *b, const void *data, size_t size)
{
	if (b->failed)
		return;
	if (b->size + size > PLAN_SIZE_MAX) {
		b->failed = -E2BIG;
		return;
	}
	if (b->size + size > b->room) {
		size_t room = 2 * (b->size + size) + 1024;
		char *more = realloc(b->at, room);

		if (!more) {
			b->failed = -ENOMEM;
			return;
		}
		b->at = more;
		b->room = room;
	}
	memcpy(b->at + b->size, data, size);
	b->size += size;
}

/* A head and its data; `field` is one of enum plan_field (agent/launch/plan.h). */
static void put_field(struct bytes *b, uint32_t field, const void *data, size_t size)
{
	struct plan_head head = { field, (uint32_t)size };

	append_bytes(b, &head, sizeof(head));
	append_bytes(b, data, size);
}

static void put_text(struct bytes *b, uint32_t field, const char *text)
{
	if (text)
		put_field(b, field, text, strlen(text) + 1);
}

/* One PLAN_ENV for each NAME=VALUE. -ENOMEM. */
static int put_env(struct bytes *b, const struct job_plan *p)
{
	_cleanup_(job_env_freep) char **env = job_env(p);

	for (char **e = env; e && *e; e++)
		put_text(b, PLAN_ENV, *e);
	return env ? 0 : -ENOMEM;
}

/* NULL: out of memory. */
static char *make_absolute(const char *dir, const char *path)
{
	char *text = NULL;

	if (path[0] == '/')
		return strdup(path);
	return asprintf(&text, "%s/%s", dir, path) < 0 ? NULL : text;
}

/* As PBS and SGE name them: NAME.oJOB and NAME.eJOB in the directory of the submission. */
static char *default_path(const struct request *q, char letter, int64_t job)
{
	char *text = NULL;

	return asprintf(&text, "%s/%s.%c%" PRId64, q->workdir, q->name[0] ? q->name : "job",
			letter, job) < 0
		       ? NULL
		       : text;
}

int job_plan_outputs(const struct request *q, int64_t job, char **ret_out, char **ret_err)
{
	_cleanup_free_ char *out = NULL, *err = NULL;

	out = q->out_path ? make_absolute(q->workdir, q->out_path) : default_path(q, 'o', job);
	if (!q->join)
		err = q->err_path ? make_absolute(q->workdir, q->err_path)
				  : default_path(q, 'e', job);
	if (!out || (!q->join && !err))
		return -ENOMEM;
	/* One file named twice is one file. */
	if (err && !strcmp(out, err)) {
		free(err);
		err = NULL;
	}
	*ret_out = TAKE_PTR(out);
	*ret_err = TAKE_PTR(err);
	return 0;
}

/* A job that streams gets its files as descriptors beside the plan (handshake.c: send_plan()). */
static int put_outputs(struct bytes *b, const struct job_plan *p)
{
	_cleanup_free_ char *out = NULL, *err = NULL;
	int r;

	if (p->request->stream) {
		put_field(b, PLAN_STREAM, "", 0);
		return 0;
	}
	r = job_plan_outputs(p->request, p->job, &out, &err);
	if (r < 0)
		return r;
	put_text(b, PLAN_OUT, out);
	put_text(b, PLAN_ERR, err);
	return 0;
}

/* A script runs by its path on the job's disk, which is its first argument too. -EINVAL: no command. */
static int put_command(struct bytes *b, const struct job_plan *p)
{
	const struct request *q = p->request;

	if (q->script && p->script_path) {
		put_text(b, PLAN_SCRIPT, p->script_path);
		put_text(b, PLAN_ARG, p->script_path);
	} else if (q->script || !q->argv || !q->argv[0] || !q->argv[0][0]) {
		return -EINVAL;
	}
	for (char **a = q->argv; a && *a; a++)
		put_text(b, PLAN_ARG, *a);
	return 0;
}

static int put_run(struct bytes *b, const struct job_plan *p)
{
	int r;

	put_text(b, PLAN_WORKDIR, p->request->workdir ? p->request->workdir : "/");
	r = put_command(b, p);
	if (!r)
		r = put_outputs(b, p);
	return r < 0 ? r : put_env(b, p);
}

/* The head is written first with size 0, and once more when the size is known. */
int job_plan_encode(const struct job_plan *p, char **ret, size_t *ret_size, struct err *err)
{
	struct bytes b = { 0 };
	struct plan_head head = { PLAN_PLAN, 0 };
	int r = 0;

	append_bytes(&b, &head, sizeof(head));
	if (p->is_sister)
		put_field(&b, PLAN_HOLD, "", 0);
	else
		r = put_run(&b, p);
	if (p->rlimit_as)
		put_field(&b, PLAN_RLIMIT_AS, &p->rlimit_as, sizeof(p->rlimit_as));
	if (p->deny)
		put_field(&b, PLAN_SECCOMP, &p->deny, sizeof(p->deny));
	if (!r)
		r = b.failed;
	if (r < 0) {
		free(b.at);
		return err_set(err, r, "cannot make the plan of the job: %s",
			       r == -EINVAL ? "nothing to run" : strerror(-r));
	}
	head.size = (uint32_t)(b.size - sizeof(head));
	memcpy(b.at, &head, sizeof(head));
	*ret = b.at;
	*ret_size = b.size;
	return 0;
}
