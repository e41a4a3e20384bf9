/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config - reeve-slurm.conf: which cluster of Slurm is followed, and where the controller is. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/conf/conf.h"
#include "common/model/request.h"

struct err;

#define FOLLOW_SUBMIT_SOCKET "/run/reeve-slurm/submit.sock"
#define FOLLOW_CONFIG_FILE "/etc/reeve/reeve-slurm.conf"

struct follow_config {
	char cluster
		[REQUEST_NAME_MAX]; /* its name for Reeve: [Cluster NAME] of controller.conf */
	char *slurm_cluster;	    /* ClusterName= of slurm.conf; NULL: as `cluster` */
	char *slurm_conf;	    /* NULL: where libslurm finds it */
	char *controller, *controller_user; /* URL; the user who alone can read what is sent */
	char *munge_socket, *ca_file;	    /* NULL: the defaults */
	char *client_certificate, *client_key; /* of https; NULL: none */
	char *since_typed;		       /* a day; NULL: from the first exchange on */
	int64_t since_s;		       /* real time; 0: not stated */
	int64_t live_s, live_max_s, progress_s, accounting_s, overlap_s, window_s; /* seconds */
	int64_t load_limit_ms; /* of slurmctld's time in each second */
	int64_t batch;	       /* jobs of one exchange */
	int64_t timeout_s;
	bool sets_priority; /* SiteFactor of pending jobs: priority.h */
	int64_t priority_s, priority_updates;
	char *submit_socket; /* of reeve-slurm-submit (slurm/submit/) */
	int64_t submit_limit_ms;
};

extern const struct conf_key follow_config_keys[];

/* Reads and checks the file. *ret needs follow_config_done() after 0. -EINVAL, -ENOENT ...: the
 * message names file, line, key and remedy. */
int follow_config_load(const char *path, struct follow_config *ret, struct err *err);
void follow_config_done(struct follow_config *c);
/* What Slurm calls the cluster. */
const char *follow_config_slurm_cluster(const struct follow_config *c);
