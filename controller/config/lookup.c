/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lookup.c - finds objects of a configuration by name; see config.h. Lists are short, and
 * searched one by one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/engine.h"
#include "common/err.h"
#include "common/nearest.h"
#include "common/time_units.h"
#include "controller/config/config_impl.h"

const struct config_cluster *config_cluster(const struct config *c, const char *name)
{
	if (!*name)
		return c->clusters[0];
	for (size_t i = 0; i < c->n_clusters; i++)
		if (!strcmp(c->clusters[i]->name, name))
			return c->clusters[i];
	return NULL;
}

const struct config_account *config_account(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_accounts; i++)
		if (!strcmp(c->accounts[i]->name, name))
			return c->accounts[i];
	return NULL;
}

const struct config_node *config_node(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (!strcmp(c->nodes[i]->name, name))
			return c->nodes[i];
	return NULL;
}

const struct config_queue *config_queue(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_queues; i++)
		if (!strcmp(c->queues[i]->name, name))
			return c->queues[i];
	return NULL;
}

const struct config_qos *config_qos(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_qos; i++)
		if (!strcmp(c->qos[i]->name, name))
			return c->qos[i];
	return NULL;
}

static int refuse_qos(const struct config *c, const char *name, struct err *err)
{
	struct nearest near;
	char list[256] = "";

	if (c->n_qos == 0)
		return err_set(err, -EINVAL, "there is no QOS '%.64s': this site has none",
			       name);
	nearest_init(&near, name);
	for (size_t i = 0; i < c->n_qos; i++) {
		size_t n = strlen(list);

		nearest_offer(&near, c->qos[i]->name);
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", c->qos[i]->name);
	}
	if (nearest_word(&near))
		return err_set(err, -EINVAL, "there is no QOS '%.64s'; did you mean '%s'?",
			       name, nearest_word(&near));
	return err_set(err, -EINVAL, "there is no QOS '%.64s'; there are: %s", name, list);
}

int config_find_qos(const struct config *c, const char *name, const struct config_qos **ret,
		    struct err *err)
{
	*ret = config_qos(c, name);
	return *ret ? 0 : refuse_qos(c, name, err);
}

const char *config_qos_or_default(const struct config *c, const char *named)
{
	return *named ? named : c->policy.default_qos;
}

const struct config_node_type *config_node_type(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_node_types; i++)
		if (!strcasecmp(c->node_types[i]->name, name))
			return c->node_types[i];
	return NULL;
}

const struct config_gpu_model *config_gpu_model(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_gpu_models; i++)
		if (!strcasecmp(c->gpu_models[i]->name, name))
			return c->gpu_models[i];
	return NULL;
}

static bool is_in_cluster(const struct config_node_type *t, const struct config_cluster *cl)
{
	size_t n = strlen(cl->name);

	return !strncmp(t->name, cl->name, n) && t->name[n] == '/';
}

static bool has_gres_name(const struct config_node_type *t, const char *name)
{
	const char *list = t->gres_names;
	char item[REQUEST_NAME_MAX];

	while (list && (list = config_next_name(list, item)))
		if (!strcasecmp(item, name))
			return true;
	return false;
}

bool config_gres(const struct config *c, const struct config_cluster *cl, const char *name,
		 struct config_gres *ret)
{
	struct config_gres found = { .type = NULL };

	for (size_t i = 0; i < c->n_node_types; i++) {
		const struct config_node_type *t = c->node_types[i];
		size_t n = strlen(found.models);

		if (!is_in_cluster(t, cl) || !has_gres_name(t, name))
			continue;
		found.has_types |= found.type != NULL;
		if (!found.type || strcasecmp(found.type->gpu_model, t->gpu_model) != 0)
			snprintf(found.models + n, sizeof(found.models) - n, "%s%s",
				 n ? ", " : "", t->gpu_model);
		found.has_models |=
			found.type && strcasecmp(found.type->gpu_model, t->gpu_model) != 0;
		found.type = found.type ? found.type : t;
	}
	if (found.type)
		*ret = found;
	return found.type != NULL;
}

const char *config_next_name(const char *list, char ret[static REQUEST_NAME_MAX])
{
	size_t n;

	list += strspn(list, ", \t");
	n = strcspn(list, ", \t");
	if (n == 0)
		return NULL;
	snprintf(ret, REQUEST_NAME_MAX, "%.*s", (int)n, list);
	return list + n;
}

static bool has_name(const char *list, const char *name)
{
	char item[REQUEST_NAME_MAX];

	while (list && (list = config_next_name(list, item)))
		if (!strcmp(item, name))
			return true;
	return false;
}

int64_t config_gpu_idle_ns(const struct config *c)
{
	return c->policy.gpu_idle_min * MIN_NS;
}

bool config_is_operator(const struct config *c, const char *user)
{
	return has_name(c->operators, user);
}

bool config_is_slurm_user(const struct config *c, const struct config_cluster *cl,
			  const char *user)
{
	for (size_t i = 0; i < c->n_clusters; i++) {
		const struct config_cluster *one = c->clusters[i];

		if ((!cl || one == cl) && one->engine == ENGINE_SLURM &&
		    (!strcmp(user, "root") || !strcmp(user, one->slurm_user)))
			return true;
	}
	return false;
}

bool config_is_member(const struct config_account *a, const char *user)
{
	return has_name(a->users, user);
}

bool config_qos_allows_user(const struct config_qos *q, const char *user)
{
	return !q->allow_users || has_name(q->allow_users, user);
}

bool config_qos_allows_account(const struct config_qos *q, const char *account)
{
	return !q->allow_accounts || has_name(q->allow_accounts, account);
}

bool config_allows_cluster(const struct config_account *a, const char *cluster)
{
	return !a->clusters || has_name(a->clusters, cluster);
}

bool config_has_queue(const struct config_cluster *c, const char *queue)
{
	return has_name(c->queues, queue);
}

void config_default_queue(const struct config_cluster *c, char ret[static REQUEST_NAME_MAX])
{
	ret[0] = '\0';
	config_next_name(c->queues, ret);
}

bool config_bonus_queue(const struct config *c, const char *cluster,
			char ret[static REQUEST_NAME_MAX])
{
	const struct config_cluster *cl = config_cluster(c, cluster);
	const char *rest = cl ? cl->queues : "";

	while ((rest = config_next_name(rest, ret))) {
		const struct config_queue *q = config_queue(c, ret);

		if (q && q->factor.num == 0)
			return true;
	}
	return false;
}

size_t config_accounts_of(const struct config *c, const char *user, char *buf, size_t size)
{
	size_t n = 0, used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < c->n_accounts; i++) {
		if (!config_is_member(c->accounts[i], user))
			continue;
		if (used < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", n ? ", " : "",
						 c->accounts[i]->name);
		n++;
	}
	return n;
}
