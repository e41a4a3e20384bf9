/* config - controller.conf: who may do what, what a cluster's equivalents are. */
#pragma once
#include <stdbool.h>
#include "common/cleanup.h"
#include "common/model/request.h"
#include "controller/policy/charge.h"

struct err;

struct config_cluster {
	char name[REQUEST_NAME_MAX];
	char *bundle_cores, *gpu_bundle_gpus, *gpu_bundle_cores; /* exact decimals, as typed */
	int64_t bundle_memory_bytes, gpu_bundle_memory_bytes;
	struct charge_bundle bundle[_CHARGE_POOL_MAX]; /* from the texts above */
	struct resources defaults, max;
	int64_t mem_from_vmem; /* percent; 0: the node's rule */
	char *queues;	       /* names by commas; the first is the default */
};

struct config_account {
	char name[REQUEST_NAME_MAX];
	char *users, *clusters; /* names by commas; no clusters: all of them */
};

struct config_node {
	char name[REQUEST_NAME_MAX];
	char *address; /* where its credentials are made; NULL: anywhere */
	char cluster[REQUEST_NAME_MAX];
};

enum config_accept { CONFIG_ACCEPT_LISTED, CONFIG_ACCEPT_ANY };

struct config {
	char *listen, *database, *munge_socket, *operators;
	int accept_nodes; /* enum config_accept */
	int64_t node_lost_s, max_connections, request_timeout_s;
	struct config_cluster **clusters;
	struct config_account **accounts;
	struct config_node **nodes;
	size_t n_clusters, n_accounts, n_nodes;
};

/* Reads, fills in and checks everything; errors name file, line, key and remedy. */
int config_load(const char *path, struct config **ret, struct err *err);
/* The same from memory. */
int config_parse(const char *text, size_t size, struct config **ret, struct err *err);
struct config *config_free(struct config *c);
DEFINE_CLEANUP(struct config *, config_free)

/* NULL when there is none. `name` "": the first, where that is a default. */
const struct config_cluster *config_cluster(const struct config *c, const char *name);
const struct config_account *config_account(const struct config *c, const char *name);
const struct config_node *config_node(const struct config *c, const char *name);

bool config_is_operator(const struct config *c, const char *user);
bool config_is_member(const struct config_account *a, const char *user);
bool config_allows_cluster(const struct config_account *a, const char *cluster);
bool config_has_queue(const struct config_cluster *c, const char *queue);
/* The first queue of the list. */
void config_default_queue(const struct config_cluster *c, char ret[static REQUEST_NAME_MAX]);
/* Accounts of a user as "a, b"; how many. */
size_t config_accounts_of(const struct config *c, const char *user, char *buf, size_t size);
