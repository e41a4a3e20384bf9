/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map - renames accounts, users, clusters, GPU models, partitions and QOS of an imported file, by
 * a CSV file with the columns kind (account, user, cluster, gpu, partition or qos), from and to. A GPU model may be followed by the type of its nodes: "t4-16/NODETYPE". */
#pragma once
#include "common/cleanup.h"
#include "controller/history/history.h"

struct err;
struct import_map;

/* -EINVAL with FILE:LINE: an unknown kind, a name twice, or a bad name. */
int import_map_load(const char *path, struct import_map **ret, struct err *err);
struct import_map *import_map_free(struct import_map *m);
DEFINE_CLEANUP(struct import_map *, import_map_free)

/* Renames the names of a job that the table has. */
void import_map_apply(const struct import_map *m, struct history_job *j);

/* Can a ledger have the job's names? False: *ret_bad is one that is not UTF-8, which JSON needs, or has
 * blanks. Partition and QOS are only described by their text, which is made UTF-8. */
bool import_map_check(struct history_job *j, char ret_bad[static REQUEST_NAME_MAX]);
