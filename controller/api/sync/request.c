/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c - decodes a stored request, narrows it to one array task and one node, and encodes
 * it; see request.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/api/sync/request.h"

/* The walltime of a job is that of its first part: the others must outlive it. */
#define OUTLIVE_S 300 /* s */

static int out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* ---- array tasks ---- */

static int append_env(struct request *q, struct job_id id, struct err *err)
{
	size_t n = 0;
	char **env;

	while (q->env && q->env[n])
		n++;
	env = realloc(q->env, (n + ARRAY_ENV + 1) * sizeof(*env));
	if (!env)
		return out_of_memory(err);
	q->env = env;
	for (int i = 0; i < ARRAY_ENV; i++) {
		char line[ARRAY_ENV_MAX];

		env[n] = strdup(array_format_env(id, i, line));
		if (!env[n])
			return out_of_memory(err);
		env[++n] = NULL;
	}
	return 0;
}

static int name_output(struct request *q, char **path, char letter, struct job_id id)
{
	char *own = array_format_output(*path, *q->name ? q->name : "job", letter, id);

	if (!own)
		return -ENOMEM;
	free(*path);
	*path = own;
	return 0;
}

static int narrow_to_task(struct request *q, struct job_id id, struct err *err)
{
	int r;

	q->array = (struct array){ .n = 0 };
	r = append_env(q, id, err);
	if (r < 0)
		return r;
	if (name_output(q, &q->out_path, 'o', id) < 0 ||
	    (!q->join && name_output(q, &q->err_path, 'e', id) < 0))
		return out_of_memory(err);
	return 0;
}

/* ---- parts ---- */

/* A part other than the first: what runs in it is started by the first part (mpirun, reeve
 * exec). */
static void clear_command(struct request *q)
{
	for (char **a = q->argv; a && *a; a++)
		free(*a);
	free(q->argv);
	free(q->script);
	q->argv = NULL;
	q->script = NULL;
	free(q->out_path);
	free(q->err_path);
	q->out_path = q->err_path = NULL;
	q->join = q->stream = false;
	if (q->res.walltime_s)
		q->res.walltime_s += OUTLIVE_S;
}

static int narrow_to_part(struct request *q, const struct store_desired *g, struct err *err)
{
	const struct store_part *p = &g->share;

	q->select = (struct select){ .n = 0 };
	after_list_done(&q->after);
	q->res.ncpus = p->ncpus;
	q->res.vmem_bytes = p->vmem_bytes;
	q->res.mem_bytes = p->mem_bytes;
	q->res.jobfs_bytes = p->jobfs_bytes;
	q->res.ngpus = p->ngpus;
	if (!p->ngpus)
		*q->res.gpu_model = '\0';
	if (g->part.index)
		clear_command(q);
	q->part = (struct job_part){ g->part.index, g->part.n, strdup(g->part.hosts) };
	return q->part.hosts ? 0 : out_of_memory(err);
}

/* ---- both ---- */

static int narrow_request(struct request *q, const struct store_desired *g, struct err *err)
{
	int r = g->array.job ? narrow_to_task(q, g->array, err) : 0;

	if (r >= 0 && g->part.n)
		r = narrow_to_part(q, g, err);
	return r;
}

int sync_request_encode(const struct store_desired *g, const char *request, json_t **ret,
			struct err *err)
{
	json_error_t why;
	_cleanup_json_ json_t *stored = wire_load(request, 0, &why);
	_cleanup_(request_done) struct request q;
	int r;

	request_init(&q);
	if (!stored && json_error_code(&why) == json_error_out_of_memory)
		return out_of_memory(err);
	r = wire_decode_request(stored, "request", &q, err);
	if (r >= 0)
		r = narrow_request(&q, g, err);
	if (r == -ENOMEM)
		return r;
	/* A damaged request must not block the node's other jobs: the node gets these words,
	 * refuses them as a request, and reports that the job has failed. */
	if (r < 0)
		log_job(LOG_ERR, g->job, "request", "its stored request cannot be read: %s",
			err->text);
	*ret = r < 0 ? json_string("damaged in the ledger") : wire_encode_request(&q);
	return *ret ? 0 : out_of_memory(err);
}
