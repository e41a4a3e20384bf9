/* map - other names for the accounts, users, clusters, GPU models, partitions and QOS of
 * an imported file: a table with the columns kind (account, user, cluster, gpu, partition or
 * qos), from and to. A GPU model may be followed by the type of its nodes: "t4-16/NODETYPE". */
#pragma once
#include "common/cleanup.h"
#include "controller/history/history.h"

struct err;
struct import_map;

/* -EINVAL with FILE:LINE: an unknown kind, a name twice, a name that is none. */
int import_map_load(const char *path, struct import_map **ret, struct err *err);
struct import_map *import_map_free(struct import_map *m);
DEFINE_CLEANUP(struct import_map *, import_map_free)

/* Names that the table does not have stay. */
void import_map_apply(const struct import_map *m, struct history_job *j);

/* Are its names UTF-8, as documents have to be? */
bool import_map_is_text(const struct history_job *j);
