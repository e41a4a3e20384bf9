/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history_price.c - prices a job of a history, GPU model by GPU model; see history_price.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/pricing/history_price.h"
#include "controller/pricing/price.h"

/* `list`: names with commas and spaces between them, as Queues= has them. */
static bool is_in_list(const char *list, const char *name)
{
	size_t n = strlen(name), size;

	for (; n && list && *list; list += size + (list[size] == ',')) {
		list += strspn(list, " ");
		size = strcspn(list, ",");
		if (size >= n && !strncmp(list, name, n) && strspn(list + n, " ") == size - n)
			return true;
	}
	return false;
}

static void price_by_cores(const struct history_job *j, struct history_price *ret)
{
	*ret = (struct history_price){ .pool = CHARGE_POOL_CPU };
	ret->terms.ncpus = j->ncpus;
	ret->terms.ngpus = j->ngpus;
	ret->terms.rate = (struct fraction){ j->ncpus, 1 };
	ret->terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
}

/* `all` x n / of, rounded up. */
static int64_t part_of(int64_t all, int64_t n, int64_t of)
{
	return (int64_t)(((__int128)all * n + of - 1) / of);
}

/* Prices the part of the job that goes with its GPUs of one model; gpus NULL: the whole job. */
static int price_part(const struct config *config, const struct history_job *j,
		      const struct gpus_of *gpus, struct tariff_price *ret, struct err *err)
{
	struct price_query q = { .pick = { .cluster = j->cluster, .node_type = j->node_type },
				 .nodes = j->nodes,
				 .res = { .ncpus = j->ncpus,
					  .ngpus = j->ngpus,
					  .mem_bytes = j->mem_bytes < 0 ? 0 : j->mem_bytes } };
	const struct config_cluster *cl = config_cluster(config, j->cluster);

	if (cl && is_in_list(cl->queues, j->queue))
		q.pick.queue = j->queue;
	if (config_qos(config, config_qos_or_default(config, j->qos)))
		q.pick.qos = config_qos_or_default(config, j->qos);
	if (gpus) {
		q.res.ngpus = gpus->n;
		q.res.ncpus = part_of(j->ncpus, gpus->n, j->ngpus);
		q.res.mem_bytes = part_of(q.res.mem_bytes, gpus->n, j->ngpus);
		snprintf(q.res.gpu_model, sizeof(q.res.gpu_model), "%s", gpus->model);
	}
	if (gpus && gpus->n != j->ngpus)
		q.nodes = 0; /* the record does not say which nodes have which model */
	return price_find(config, &q, ret, err);
}

int history_price(const struct config *config, const struct history_job *j,
		  struct history_price *ret, struct err *err)
{
	const struct config_cluster *cl = config ? config_cluster(config, j->cluster) : NULL;
	int32_t n = j->gpus.n ? j->gpus.n : 1;
	struct fraction rate = { 0, 1 };
	struct tariff_price p;
	int r = 0;

	price_by_cores(j, ret);
	if (!config)
		return 0;
	if (!cl)
		return err_set(err, -EINVAL, "the profile has no cluster '%s'", j->cluster);
	for (int32_t i = 0; i < n && r >= 0; i++) {
		r = price_part(config, j, j->gpus.n ? &j->gpus.of[i] : NULL, &p, err);
		if (r >= 0 && fraction_add(rate, p.rate, &rate) < 0)
			r = err_set(err, -ERANGE, "its rate is beyond what can be charged");
	}
	if (r < 0)
		return r;
	ret->has_queue = is_in_list(cl->queues, j->queue);
	ret->is_by_queue = cl->queues && *cl->queues;
	ret->has_qos = config_qos(config, j->qos) != NULL;
	ret->pool = p.pool;
	ret->terms.bundle = p.terms;
	ret->terms.rate = rate;
	return 0;
}
