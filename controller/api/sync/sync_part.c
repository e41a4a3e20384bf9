/* sync_part.c - see sync_part.h. */
#include <string.h>
#include "controller/api/jobs/array_task.h"
#include "controller/api/sync/sync_part.h"

/* The clock of the job is that of its first part: others outlive it. */
#define OUTLIVE_S 300

static int set_amount(json_t *res, const char *key, int64_t n)
{
	if (n)
		return json_object_set_new(res, key, json_integer(n));
	json_object_del(res, key);
	return 0;
}

static int set_share(json_t *res, const struct store_desired *g)
{
	const struct store_part *p = &g->share;
	int64_t walltime_s = json_integer_value(json_object_get(res, "walltime_s"));

	if (!p->ngpus)
		json_object_del(res, "gpu_model");
	if (set_amount(res, "ncpus", p->ncpus) < 0 ||
	    set_amount(res, "vmem_bytes", p->vmem_bytes) < 0 ||
	    set_amount(res, "mem_bytes", p->mem_bytes) < 0 ||
	    set_amount(res, "jobfs_bytes", p->jobfs_bytes) < 0 ||
	    set_amount(res, "ngpus", p->ngpus) < 0)
		return -1;
	return g->part.index ? set_amount(res, "walltime_s", walltime_s + OUTLIVE_S) : 0;
}

json_t *sync_part_request(const struct store_desired *g)
{
	static const char *const of_all[] = { "select", "scatter", "after" };
	static const char *const of_first[] = { "script",   "argv", "out_path",
						"err_path", "join", "stream" };
	_cleanup_json_ json_t *request = array_task_request(g);
	json_t *part;

	if (!request || !g->part.n)
		return TAKE_PTR(request);
	for (size_t i = 0; i < ARRAY_LEN(of_all); i++)
		json_object_del(request, of_all[i]);
	for (size_t i = 0; g->part.index && i < ARRAY_LEN(of_first); i++)
		json_object_del(request, of_first[i]);
	part = json_pack("{s:i,s:i,s:s}", "index", (int)g->part.index, "n", (int)g->part.n,
			 "hosts", g->part.hosts);
	if (json_object_set_new(request, "part", part) < 0 ||
	    set_share(json_object_get(request, "resources"), g) < 0)
		return NULL;
	return TAKE_PTR(request);
}
