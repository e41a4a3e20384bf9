/* SPDX-License-Identifier: GPL-2.0-or-later */
/* objects.c - makes and frees a configuration and the objects of its sections, with their
 * defaults; see config_impl.h. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "common/conf/log_level.h"
#include "common/err.h"
#include "common/time_units.h"
#include "controller/config/config_impl.h"

int config_set_text(char **to, const char *text, struct err *err)
{
	char *copy = strdup(text);

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*to);
	*to = copy;
	return 0;
}

/* A list of pointers to objects that begin with their name; objects never move. */
struct list {
	void ***objects;
	size_t *n, size;
};

/* Finds the object of that name, or adds it: then *ret_new is it, else NULL. */
static int find_or_add(struct list l, const char *name, void **ret, void **ret_new,
		       struct err *err)
{
	void **larger;

	*ret_new = NULL;
	for (size_t i = 0; i < *l.n; i++)
		if (!strcmp((const char *)(*l.objects)[i], name)) {
			*ret = (*l.objects)[i];
			return 0;
		}
	larger = realloc(*l.objects, (*l.n + 1) * sizeof(*larger));
	if (!larger)
		return err_set(err, -ENOMEM, "out of memory");
	*l.objects = larger;
	larger[*l.n] = calloc(1, l.size);
	if (!larger[*l.n])
		return err_set(err, -ENOMEM, "out of memory");
	strcpy(larger[*l.n], name);
	*ret = *ret_new = larger[(*l.n)++];
	return 0;
}

#define LIST(c, of) ((struct list){ (void ***)&(c)->of, &(c)->n_##of, sizeof(**(c)->of) })

static void clear_sides(struct charge_bundle bundle[_CHARGE_POOL_MAX])
{
	for (int p = 0; p < _CHARGE_POOL_MAX; p++)
		for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
			bundle[p].side[s] = (struct fraction){ 0, 1 };
}

int config_add_cluster(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	struct config_cluster *new;
	void *made = NULL;
	int r = request_check_name(name, err);

	if (r >= 0)
		r = find_or_add(LIST(c, clusters), name, ret_object, &made, err);
	if (r < 0 || !made)
		return r;
	new = made;
	new->memory_unit = CONFIG_UNIT_UNSTATED;
	snprintf(new->slurm_user, sizeof(new->slurm_user), "slurm");
	clear_sides(new->bundle);
	new->bundle[CHARGE_POOL_CPU].side[CHARGE_CORES] = (struct fraction){ 1, 1 };
	new->slurm_forgotten_s = DAY_S;
	return config_set_text(&new->queues, "normal", err);
}

/* "CLUSTER/NAME". */
static int add_node_type(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	const char *slash = strchr(name, '/');
	char cluster[REQUEST_NAME_MAX] = "";
	void *made = NULL;
	int r;

	if (slash && slash - name < REQUEST_NAME_MAX)
		memcpy(cluster, name, (size_t)(slash - name));
	if (!slash || !request_is_name(cluster) || !request_is_name(slash + 1))
		return err_set(err, -EINVAL, "write [NodeType CLUSTER/NAME]");
	r = find_or_add(LIST(c, node_types), name, ret_object, &made, err);
	if (r >= 0 && made)
		clear_sides(((struct config_node_type *)made)->bundle);
	return r;
}

static int add_gpu_model(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	void *made = NULL;
	int r = request_check_name(name, err);

	if (r >= 0)
		r = find_or_add(LIST(c, gpu_models), name, ret_object, &made, err);
	if (r >= 0 && made)
		((struct config_gpu_model *)made)->weight = (struct fraction){ 1, 1 };
	return r;
}

static int add_queue(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	void *made = NULL;
	int r = request_check_name(name, err);

	if (r >= 0)
		r = find_or_add(LIST(c, queues), name, ret_object, &made, err);
	if (r >= 0 && made)
		((struct config_queue *)made)->factor = (struct fraction){ 1, 1 };
	return r;
}

static int add_qos(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	void *made = NULL;
	struct config_qos *new;
	int r = request_check_name(name, err);

	if (r >= 0)
		r = find_or_add(LIST(c, qos), name, ret_object, &made, err);
	if (r < 0 || !made)
		return r;
	new = made;
	new->factor = (struct fraction){ 1, 1 };
	new->running_cores = new->running_gpus = new->running_memory_bytes = CONFIG_NO_LIMIT;
	new->running_jobs = new->queued_jobs = CONFIG_NO_LIMIT;
	return 0;
}

static int add_account(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	void *made;
	int r = request_check_name(name, err);

	if (r == 0 && !strcmp(name, "root"))
		r = err_set(err, -EINVAL,
			    "root is what all accounts stand below; choose another name");
	return r < 0 ? r : find_or_add(LIST(c, accounts), name, ret_object, &made, err);
}

static int add_node(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	void *made;
	int r = request_check_name(name, err);

	return r < 0 ? r : find_or_add(LIST(c, nodes), name, ret_object, &made, err);
}

const struct conf_section config_sections[] = {
	{ "Cluster", config_add_cluster },
	{ "NodeType", add_node_type },
	{ "GpuModel", add_gpu_model },
	{ "Queue", add_queue },
	{ "Qos", add_qos },
	{ "Account", add_account },
	{ "Node", add_node },
	{ 0 },
};

int config_new(struct config **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->node_lost_s = 120;
	c->cycle_slice_ms = 50;
	c->max_requeues = 3;
	c->max_suspend_s = DAY_S;
	c->lead_lease_s = 15;
	c->max_connections = 4096;
	c->web = true;
	c->require_client_certificate = true;
	c->max_array_size = 10000;
	c->max_queued_per_user = 100000;
	c->max_stored_per_user = 1000000000;
	c->keep_output_s = 14 * DAY_S;
	c->keep_events_s = 90 * DAY_S;
	c->request_timeout_s = 30;
	c->log_level = LOG_LEVEL_INFO;
	c->policy.year_start_month = 4;
	c->policy.year_start_day = 1;
	c->policy.usage_half_life_s = 7 * DAY_S;
	c->policy.late_after_s = DAY_S;
	c->policy.max_age_s = 7 * DAY_S;
	c->policy.gpu_idle_min = 10;
	c->hooks = (struct config_hooks){ .at_once = 4,
					  .time_limit_s = 30,
					  .queue_max = 1000,
					  .retry_after_s = 30,
					  .percents = { 80, 100 },
					  .n_percents = 2 };
	c->hooks.event_set = 1U << CONFIG_HOOK_JOB_STARTED | 1U << CONFIG_HOOK_JOB_KILLED |
			     1U << CONFIG_HOOK_JOB_ENDED | 1U << CONFIG_HOOK_GPU_IDLE |
			     1U << CONFIG_HOOK_GPU_BUSY | 1U << CONFIG_HOOK_NODE_LOST;
	r = config_set_text(&c->listen, "0.0.0.0:8640", err);
	if (r >= 0)
		r = config_set_text(&c->database, "/var/lib/reeve-controller/ledger.db", err);
	if (r >= 0)
		r = config_set_text(&c->operators, "root", err);
	if (r >= 0)
		r = config_set_text(&c->web_user_header, "X-Remote-User", err);
	if (r >= 0)
		r = config_set_text(&c->policy.time_zone, "UTC", err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

#define LIST_AT(section, of)                                                                   \
	{                                                                                      \
		section, offsetof(struct config, of), offsetof(struct config, n_##of)          \
	}

const struct config_list config_lists[] = {
	LIST_AT("Cluster", clusters),
	LIST_AT("NodeType", node_types),
	LIST_AT("GpuModel", gpu_models),
	LIST_AT("Queue", queues),
	LIST_AT("Qos", qos),
	LIST_AT("Account", accounts),
	LIST_AT("Node", nodes),
	{ 0 },
};

static void free_list(struct config *c, const struct config_list *l)
{
	void **objects = *(void ***)(void *)((char *)c + l->objects);
	size_t n = *(size_t *)(void *)((char *)c + l->n);

	for (size_t i = 0; i < n; i++) {
		conf_done(config_keys, l->section, objects[i]);
		free(objects[i]);
	}
	free(objects);
}

struct config *config_free(struct config *c)
{
	if (!c)
		return NULL;
	for (const struct config_list *l = config_lists; l->section; l++)
		free_list(c, l);
	conf_done(config_keys, "Controller", c);
	conf_done(config_keys, "Policy", c);
	conf_done(config_keys, "Hooks", c);
	config_places_free(c->places);
	free(c);
	return NULL;
}
