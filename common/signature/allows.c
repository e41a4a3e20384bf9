/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allows.c - checks whether the statement that a user signed allows what a node is to run; see
 * signature.h. Each check_ function compares one aspect and refuses with its name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/signature/digest.h"

/* A part other than the first may have this much more walltime: it ends after the first
 * (docs/protocol.md). */
#define OUTLIVE_S 300

static int refuse_part(struct err *err, const char *what)
{
	return err_set(err, -EPERM, "%s is not what its user signed", what);
}

static bool is_same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* ---- array tasks ---- */

/* Which task of the array it is, from the variables that the controller adds at the end of its
 * environment (array.h): exactly those, or -EPERM. *ret_n_env is the number of entries that the
 * user signed. Array tasks have the numbers behind their array's: job = array + 1 + ordinal. */
static int find_array_task(const struct signature_job *s, const struct signature_given *g,
			   struct job_id *ret, size_t *ret_n_env, struct err *err)
{
	static const char mark[] = "REEVE_ARRAY_INDEX=";
	char *const *env = g->request->env;
	size_t n = digest_count(env);
	const char *text = n >= ARRAY_ENV ? env[n - ARRAY_ENV + ARRAY_ENV_INDEX] : "";
	struct job_id id;
	int64_t ordinal;

	*ret = (struct job_id){ g->job, JOB_ID_NO_INDEX };
	*ret_n_env = n;
	if (!s->asked.array.n)
		return 0;
	if (strncmp(text, mark, strlen(mark)))
		return refuse_part(err, "an array run as one job");
	id.index = strtoll(text + strlen(mark), NULL, 10);
	ordinal = array_ordinal(&s->asked.array, id.index);
	id.job = g->job - 1 - ordinal;
	if (ordinal < 0 || id.job < 1)
		return refuse_part(err, "this task of the array");
	for (int i = 0; i < ARRAY_ENV; i++) {
		char line[ARRAY_ENV_MAX];

		if (strcmp(env[n - ARRAY_ENV + (size_t)i], array_format_env(id, i, line)))
			return refuse_part(err, "its environment");
	}
	*ret = id;
	*ret_n_env = n - ARRAY_ENV;
	return 0;
}

/* ---- what runs ---- */

static int check_env(const struct signature_job *s, const struct request *q, size_t n,
		     struct err *err)
{
	char digest[SIGNATURE_DIGEST_MAX];

	digest_texts(q->env, n, digest);
	return strcmp(digest, s->env) ? refuse_part(err, "its environment") : 0;
}

/* An output file: as the user asked for, or as an array task has it (its number filled in). */
static int check_path(const char *asked, const char *given, const char *of_task,
		      struct err *err)
{
	return is_same(of_task ? of_task : asked, given) ? 0
							 : refuse_part(err, "an output file");
}

static int check_outputs(const struct request *a, const struct request *q, struct job_id id,
			 struct err *err)
{
	bool is_task = id.index != JOB_ID_NO_INDEX;
	_cleanup_free_ char *out = NULL, *errors = NULL;
	int r;

	if (q->stream != a->stream || q->join != a->join)
		return refuse_part(err, "where its output goes");
	if (is_task &&
	    (!(out = array_format_output(a->out_path, q->name, 'o', id)) ||
	     (!a->join && !(errors = array_format_output(a->err_path, q->name, 'e', id)))))
		return err_set(err, -ENOMEM, "out of memory");
	r = check_path(a->out_path, q->out_path, out, err);
	return r < 0 ? r : check_path(a->err_path, q->err_path, errors, err);
}

/* What part 0 runs; of a job on one node that is the whole job. */
static int check_command(const struct signature_job *s, const struct request *q,
			 struct job_id id, struct err *err)
{
	char digest[SIGNATURE_DIGEST_MAX];

	digest_command(q->script, q->argv, digest);
	if (strcmp(digest, s->command))
		return refuse_part(err, q->script ? "its script, or the script's arguments,"
						  : "its command");
	return check_outputs(&s->asked, q, id, err);
}

/* Other parts than the first run nothing by themselves. */
static int check_sister(const struct request *q, struct err *err)
{
	if (q->script || q->argv || q->out_path || q->err_path || q->stream || q->join)
		return refuse_part(err, "a command of a part other than the first");
	return 0;
}

static bool has_name(const char *list, const char *name)
{
	const size_t n = strlen(name);

	for (; list && *list; list += strcspn(list, ", ")) {
		list += strspn(list, ", ");
		if (strcspn(list, ", ") == n && !strncmp(list, name, n))
			return n > 0;
	}
	return false;
}

/* A job that no grant covers is moved to a queue without charge. */
static int check_queue(const struct signature_job *s, const struct signature_given *g,
		       struct err *err)
{
	const char *asked = s->asked.queue, *given = g->request->queue;

	if (!*asked || !strcmp(asked, given) || has_name(g->free_queues, given))
		return 0;
	return refuse_part(err, "its queue");
}

static int check_names(const struct request *a, const struct request *q, struct err *err)
{
	if (!is_same(a->workdir, q->workdir))
		return refuse_part(err, "its working directory");
	if (strcmp(*a->name ? a->name : "job", q->name))
		return refuse_part(err, "its name");
	if (*a->account && strcmp(a->account, q->account))
		return refuse_part(err, "the account that is charged");
	if (*a->cluster && strcmp(a->cluster, q->cluster))
		return refuse_part(err, "its cluster");
	if (*a->qos && strcmp(a->qos, q->qos))
		return refuse_part(err, "its QOS");
	if (a->vmem_policy != q->vmem_policy)
		return refuse_part(err, "what exceeding vmem does");
	return 0;
}

/* ---- amounts ---- */

struct amount_of_chunk {
	size_t whole, chunk;
};
static const struct amount_of_chunk of_chunks[] = {
	{ offsetof(struct resources, ncpus), offsetof(struct select_chunk, ncpus) },
	{ offsetof(struct resources, vmem_bytes), offsetof(struct select_chunk, vmem_bytes) },
	{ offsetof(struct resources, mem_bytes), offsetof(struct select_chunk, mem_bytes) },
	{ offsetof(struct resources, jobfs_bytes), offsetof(struct select_chunk, jobfs_bytes) },
	{ offsetof(struct resources, ngpus), offsetof(struct select_chunk, ngpus) },
};

static int64_t amount_at(const void *of, size_t offset)
{
	return *(const int64_t *)(const void *)((const char *)of + offset);
}

/* Over all chunks; 0: one of them leaves the amount to the site. Clamped at INT64_MAX. */
static int64_t total_of(const struct select *s, size_t offset)
{
	int64_t sum = 0, one;

	for (int32_t i = 0; i < s->n; i++) {
		int64_t n = amount_at(&s->of[i], offset);

		if (!n)
			return 0;
		if (__builtin_mul_overflow(n, s->of[i].n, &one) ||
		    __builtin_add_overflow(sum, one, &sum))
			return INT64_MAX;
	}
	return sum;
}

/* The most that the user asked for; 0: the user left the amount to the site. */
static int64_t bound_of(const struct request *a, size_t offset)
{
	int64_t stated = amount_at(&a->res, offset);

	for (size_t i = 0; !stated && a->select.n && i < ARRAY_LEN(of_chunks); i++)
		if (of_chunks[i].whole == offset)
			stated = total_of(&a->select, of_chunks[i].chunk);
	return stated;
}

static int check_amounts(const struct request *a, const struct request *q, struct err *err)
{
	for (const struct resource_def *d = request_resources; d->name; d++) {
		int64_t bound = bound_of(a, d->offset), given = amount_at(&q->res, d->offset);

		if (bound && q->part.index > 0 && d->kind == RESOURCE_SECONDS)
			bound += OUTLIVE_S;
		/* Splitting into equal chunks rounds up: at most one byte more a chunk. */
		if (bound && d->kind == RESOURCE_BYTES && bound < INT64_MAX - SELECT_CHUNKS_MAX)
			bound += SELECT_CHUNKS_MAX;
		if (bound && given > bound)
			return err_set(err, -EPERM,
				       "its %s, %lld, is more than the %lld that its user "
				       "signed",
				       d->name, (long long)given, (long long)bound);
	}
	return 0;
}

/* Chunks that lie on one node are one part. Without chunks the site may split the request, into parts of a core or more. */
static int check_parts(const struct request *a, const struct request *q, struct err *err)
{
	const int64_t n = q->part.n ? q->part.n : 1, chunks = select_chunks(&a->select);
	int64_t most = chunks;

	if (!a->select.n)
		most = a->res.ncpus ? a->res.ncpus : SELECT_CHUNKS_MAX;
	if (q->part.index < 0 || q->part.index >= n)
		return refuse_part(err, "which part of it is here");
	if (n > most || (a->select.n && a->select.is_scattered && n < chunks))
		return err_set(err, -EPERM,
			       "the number of its nodes, %lld, is not what its user signed",
			       (long long)n);
	return 0;
}

/* A second attempt only where the user agreed to be requeued, and not without end. */
static int check_attempt(const struct request *a, int32_t attempt, struct err *err)
{
	if (attempt <= 1 || (a->requeue && attempt <= SIGNATURE_ATTEMPTS_MAX))
		return 0;
	return err_set(err, -EPERM, "attempt %d of it is not what its user signed%s", attempt,
		       a->requeue ? "" : ": it was not to be queued again (-r y)");
}

int signature_allows_job(const struct signature_job *s, const struct signature_given *g,
			 int64_t *ret_base, struct err *err)
{
	const struct request *q = g->request;
	struct job_id id;
	size_t n_env;
	int r = find_array_task(s, g, &id, &n_env, err);

	if (r < 0)
		return r;
	r = check_env(s, q, n_env, err);
	if (r < 0)
		return r;
	r = q->part.index > 0 ? check_sister(q, err) : check_command(s, q, id, err);
	if (r < 0)
		return r;
	r = check_names(&s->asked, q, err);
	if (r < 0)
		return r;
	r = check_queue(s, g, err);
	if (r < 0)
		return r;
	r = check_parts(&s->asked, q, err);
	if (r < 0)
		return r;
	r = check_amounts(&s->asked, q, err);
	if (r < 0)
		return r;
	r = check_attempt(&s->asked, g->attempt, err);
	if (r < 0)
		return r;
	*ret_base = id.job;
	return 0;
}

/* ---- steps ---- */

static int check_terminal(const struct sync_terminal *a, const struct sync_terminal *g,
			  struct err *err)
{
	if (a->console == SYNC_CONSOLE_NONE && g->console != SYNC_CONSOLE_NONE)
		return err_set(err, -EPERM,
			       "its terminal (--pty, --stdin) is not what its user signed; a "
			       "reeve command that is older than this agent does not sign it: "
			       "upgrade reeve on the machine where it was typed");
	if (a->console != g->console)
		return refuse_part(err, "its terminal (--pty, --stdin)");
	if (a->is_main != g->is_main)
		return refuse_part(err, "whether its job ends with it");
	if (a->on_hangup != g->on_hangup)
		return refuse_part(err, "what becomes of it when its terminal is lost");
	if (a->rows != g->rows || a->cols != g->cols)
		return refuse_part(err, "the size of its terminal");
	return 0;
}

int signature_allows_step(const struct signature_step *s, const struct signature_given_step *g,
			  struct err *err)
{
	char digest[SIGNATURE_DIGEST_MAX];
	const char *dir = g->workdir ? g->workdir : g->job_workdir;
	char **node = s->nodes;

	if (s->job != g->job)
		return refuse_part(err, "the job that it is started in");
	while (node && *node && strcmp(*node, g->node))
		node++;
	if (!node || !*node)
		return refuse_part(err, "the node that it is started on");
	digest_command(NULL, g->argv, digest);
	if (strcmp(digest, s->command))
		return refuse_part(err, "its command");
	digest_texts(g->env, digest_count(g->env), digest);
	if ((*s->env != '\0') != (g->env != NULL) || (g->env && strcmp(digest, s->env)))
		return refuse_part(err, "its environment");
	if (!is_same(s->workdir ? s->workdir : g->job_workdir, dir))
		return refuse_part(err, "its working directory");
	return check_terminal(&s->terminal, &g->terminal, err);
}
