/* config.c - see config.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "common/conf/conf.h"
#include "common/err.h"
#include "controller/config/config.h"

#define MAIN(type, key, field, help, example)                                                  \
	{                                                                                      \
		"Controller", key, type, offsetof(struct config, field), 0, 0, NULL, help,     \
			example                                                                \
	}
#define CLUSTER(type, key, field, help, example)                                               \
	{                                                                                      \
		"Cluster", key, type, offsetof(struct config_cluster, field), 0, 0, NULL,      \
			help, example                                                          \
	}

static const char *const accept_words[] = { "listed", "any", NULL };

static const struct conf_key keys[] = {
	MAIN(CONF_TEXT, "Listen", listen, "address and port to listen on", "0.0.0.0:8640"),
	MAIN(CONF_TEXT, "Database", database, "the ledger",
	     "/var/lib/reeve-controller/ledger.db"),
	MAIN(CONF_TEXT, "MungeSocket", munge_socket, "munged's socket; not set: its default",
	     "/run/munge/munge.socket.2"),
	MAIN(CONF_TEXT, "Operators", operators, "users who see and may stop everything",
	     "root,ops"),
	{ "Controller", "AcceptNodes", CONF_ENUM, offsetof(struct config, accept_nodes), 0, 0,
	  accept_words,
	  "listed: only [Node NAME] sections; any: whoever has the munge key and is root",
	  "listed" },
	{ "Controller", "NodeLost", CONF_SECONDS, offsetof(struct config, node_lost_s), 5,
	  86400, NULL, "silence after which a node counts as lost", "2:00" },
	{ "Controller", "MaxConnections", CONF_COUNT, offsetof(struct config, max_connections),
	  8, 100000, NULL, "connections at once", "4096" },
	{ "Controller", "RequestTimeout", CONF_SECONDS,
	  offsetof(struct config, request_timeout_s), 1, 600, NULL,
	  "time in which a request must have arrived", "30" },
	CLUSTER(CONF_TEXT, "BundleCores", bundle_cores, "cores in one core-equivalent", "1"),
	CLUSTER(CONF_BYTES, "BundleMemory", bundle_memory_bytes,
		"memory in one core-equivalent", "4GB"),
	CLUSTER(CONF_TEXT, "GpuBundleGpus", gpu_bundle_gpus, "GPUs in one GPU-equivalent", "1"),
	CLUSTER(CONF_TEXT, "GpuBundleCores", gpu_bundle_cores, "cores in one GPU-equivalent",
		"3.5"),
	CLUSTER(CONF_BYTES, "GpuBundleMemory", gpu_bundle_memory_bytes,
		"memory in one GPU-equivalent", "22500MB"),
	CLUSTER(CONF_RESOURCES, "DefaultResources", defaults,
		"for what a request does not state", "jobfs=100MB,walltime=1:00:00"),
	CLUSTER(CONF_RESOURCES, "MaxResources", max, "upper bounds of one request",
		"ncpus=512,walltime=2-0:00:00"),
	{ "Cluster", "MemFromVmem", CONF_COUNT, offsetof(struct config_cluster, mem_from_vmem),
	  0, 100, NULL, "mem not stated is this percent of vmem; 0: the node's own rule",
	  "100" },
	CLUSTER(CONF_TEXT, "Queues", queues, "queues; the first is the default", "normal"),
	{ "Account", "Users", CONF_TEXT, offsetof(struct config_account, users), 0, 0, NULL,
	  "who may charge the account", "alice,bob" },
	{ "Account", "Clusters", CONF_TEXT, offsetof(struct config_account, clusters), 0, 0,
	  NULL, "where; not set: on all clusters", "main" },
	{ "Node", "Address", CONF_TEXT, offsetof(struct config_node, address), 0, 0, NULL,
	  "address that the node's munged gives; not set: not checked", "10.0.0.7" },
	{ "Node", "Cluster", CONF_NAME, offsetof(struct config_node, cluster), 0, 0, NULL,
	  "the node's cluster; not set: the first", "main" },
	{ 0 },
};

static int set_text(char **to, const char *text, struct err *err)
{
	char *copy = strdup(text);

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*to);
	*to = copy;
	return 0;
}

/* A new zeroed object at the end of a list of pointers; objects never move. */
static int append(void ***list, size_t *n, size_t size, void **ret, struct err *err)
{
	void **larger = realloc(*list, (*n + 1) * sizeof(*larger));

	if (!larger)
		return err_set(err, -ENOMEM, "out of memory");
	*list = larger;
	larger[*n] = calloc(1, size);
	if (!larger[*n])
		return err_set(err, -ENOMEM, "out of memory");
	*ret = larger[(*n)++];
	return 0;
}

static int check_name(const char *name, struct err *err)
{
	if (request_is_name(name))
		return 0;
	return err_set(err, -EINVAL,
		       "'%.64s' is not a name: 1 to 63 of letters, digits and . _ + -", name);
}

static int add_cluster(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	struct config_cluster *new = NULL;
	int r = check_name(name, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n_clusters; i++)
		if (!strcmp(c->clusters[i]->name, name)) {
			*ret_object = c->clusters[i];
			return 0;
		}
	r = append((void ***)&c->clusters, &c->n_clusters, sizeof(*new), (void **)&new, err);
	if (r < 0)
		return r;
	snprintf(new->name, sizeof(new->name), "%s", name);
	new->bundle_memory_bytes = 4000000000;
	r = set_text(&new->bundle_cores, "1", err);
	if (r >= 0)
		r = set_text(&new->queues, "normal", err);
	*ret_object = new;
	return r;
}

static int add_account(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	struct config_account *new = NULL;
	int r = check_name(name, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n_accounts; i++)
		if (!strcmp(c->accounts[i]->name, name)) {
			*ret_object = c->accounts[i];
			return 0;
		}
	r = append((void ***)&c->accounts, &c->n_accounts, sizeof(*new), (void **)&new, err);
	if (r < 0)
		return r;
	snprintf(new->name, sizeof(new->name), "%s", name);
	*ret_object = new;
	return 0;
}

static int add_node(void *target, const char *name, void **ret_object, struct err *err)
{
	struct config *c = target;
	struct config_node *new = NULL;
	int r = check_name(name, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n_nodes; i++)
		if (!strcmp(c->nodes[i]->name, name)) {
			*ret_object = c->nodes[i];
			return 0;
		}
	r = append((void ***)&c->nodes, &c->n_nodes, sizeof(*new), (void **)&new, err);
	if (r < 0)
		return r;
	snprintf(new->name, sizeof(new->name), "%s", name);
	*ret_object = new;
	return 0;
}

static const struct conf_section sections[] = {
	{ "Cluster", add_cluster },
	{ "Account", add_account },
	{ "Node", add_node },
	{ 0 },
};

static int set_side(const char *text, struct charge_bundle *b, enum charge_side side,
		    struct err *err)
{
	return text ? fraction_parse(text, &b->side[side], err) : 0;
}

static int fill_bundles(struct config_cluster *cl, struct err *err)
{
	struct charge_bundle *cpu = &cl->bundle[CHARGE_POOL_CPU],
			     *gpu = &cl->bundle[CHARGE_POOL_GPU];
	int r;

	for (int p = 0; p < _CHARGE_POOL_MAX; p++)
		for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
			cl->bundle[p].side[s] = (struct fraction){ 0, 1 };
	r = set_side(cl->bundle_cores, cpu, CHARGE_CORES, err);
	if (r >= 0)
		r = set_side(cl->gpu_bundle_gpus, gpu, CHARGE_GPUS, err);
	if (r >= 0)
		r = set_side(cl->gpu_bundle_cores, gpu, CHARGE_CORES, err);
	if (r < 0)
		return err_prefix(err, r, "[Cluster %s]", cl->name);
	if (cl->bundle_memory_bytes)
		cpu->side[CHARGE_MEMORY] = (struct fraction){ cl->bundle_memory_bytes, 1 };
	if (cl->gpu_bundle_memory_bytes)
		gpu->side[CHARGE_MEMORY] = (struct fraction){ cl->gpu_bundle_memory_bytes, 1 };
	return 0;
}

static int check_names(const char *list, const char *what, struct err *err)
{
	char name[REQUEST_NAME_MAX];

	while (*list) {
		size_t n = strcspn(list, ",");
		size_t left = strspn(list, " \t"), right = n;

		while (right > left && strchr(" \t", list[right - 1]))
			right--;
		if (left >= right || right - left >= sizeof(name))
			return err_set(err, -EINVAL,
				       "%s: an empty or too long name in the list", what);
		memcpy(name, list + left, right - left);
		name[right - left] = '\0';
		if (!request_is_name(name))
			return err_set(err, -EINVAL, "%s: '%s' is not a name", what, name);
		list += n + (list[n] == ',');
	}
	return 0;
}

static int check_lists(const struct config *c, struct err *err)
{
	char what[REQUEST_NAME_MAX + 32];
	int r = check_names(c->operators, "Operators=", err);

	for (size_t i = 0; i < c->n_clusters && r >= 0; i++) {
		snprintf(what, sizeof(what), "[Cluster %s] Queues=", c->clusters[i]->name);
		r = check_names(c->clusters[i]->queues, what, err);
		if (r >= 0 && !*c->clusters[i]->queues)
			r = err_set(err, -EINVAL, "%s: name at least one", what);
	}
	for (size_t i = 0; i < c->n_accounts && r >= 0; i++) {
		const struct config_account *a = c->accounts[i];

		snprintf(what, sizeof(what), "[Account %s] Users=", a->name);
		r = check_names(a->users ? a->users : "", what, err);
	}
	return r;
}

static int check_nodes(struct config *c, struct err *err)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		const struct config_node *n = c->nodes[i];

		if (!config_cluster(c, n->cluster))
			return err_set(err, -EINVAL, "[Node %s] Cluster=%s: no such cluster",
				       n->name, n->cluster);
	}
	return 0;
}

static int finish(struct config *c, struct err *err)
{
	void *object;
	int r = c->n_clusters ? 0 : add_cluster(c, "main", &object, err);

	for (size_t i = 0; i < c->n_clusters && r >= 0; i++)
		r = fill_bundles(c->clusters[i], err);
	if (r >= 0)
		r = check_lists(c, err);
	if (r >= 0)
		r = check_nodes(c, err);
	return r;
}

static int new_config(struct config **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->node_lost_s = 120;
	c->max_connections = 4096;
	c->request_timeout_s = 30;
	r = set_text(&c->listen, "0.0.0.0:8640", err);
	if (r >= 0)
		r = set_text(&c->database, "/var/lib/reeve-controller/ledger.db", err);
	if (r >= 0)
		r = set_text(&c->operators, "root", err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

int config_load(const char *path, struct config **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *c = NULL;
	int r = new_config(&c, err);

	if (r >= 0)
		r = conf_load(path, keys, sections, c, err);
	if (r < 0)
		return r;
	r = finish(c, err);
	if (r < 0)
		return err_prefix(err, r, "%s", path);
	*ret = TAKE_PTR(c);
	return 0;
}

int config_parse(const char *text, size_t size, struct config **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *c = NULL;
	int r = new_config(&c, err);

	if (r >= 0)
		r = conf_parse(text, size, "controller.conf", keys, sections, c, err);
	if (r >= 0)
		r = finish(c, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

static void free_list(const char *section, void **objects, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		conf_done(keys, section, objects[i]);
		free(objects[i]);
	}
	free(objects);
}

struct config *config_free(struct config *c)
{
	if (!c)
		return NULL;
	free_list("Cluster", (void **)c->clusters, c->n_clusters);
	free_list("Account", (void **)c->accounts, c->n_accounts);
	free_list("Node", (void **)c->nodes, c->n_nodes);
	conf_done(keys, "Controller", c);
	free(c);
	return NULL;
}

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

/* Lists were checked at load: names by commas, blanks around them. */
static bool has_name(const char *list, const char *name)
{
	size_t size = strlen(name);

	while (size && list && *list) {
		size_t n = strcspn(list, ","), skip = strspn(list, " \t");
		size_t own = strcspn(list + skip, ", \t");

		if (own == size && !strncmp(list + skip, name, size))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

bool config_is_operator(const struct config *c, const char *user)
{
	return has_name(c->operators, user);
}

bool config_is_member(const struct config_account *a, const char *user)
{
	return has_name(a->users, user);
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
	const char *from = c->queues + strspn(c->queues, " \t");

	snprintf(ret, REQUEST_NAME_MAX, "%.*s", (int)strcspn(from, ", \t"), from);
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
