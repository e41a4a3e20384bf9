/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config - the keys of agent.conf that say where the agent has its files and its controller. The command may include nothing of the agent, so
 * the few keys stand here again; whether the file is right the agent itself says (reeve-agent --check). */
#pragma once
#include "cli/admin/doctor/judge/services.h"
#include "common/model/request.h"

struct err;

#define GATHER_AGENT_CONFIG "/etc/reeve/agent.conf"

struct gather_config {
	char node[REQUEST_NAME_MAX];
	char *controller, *controller_user, *munge_socket;
	char *ca_file, *client_certificate, *client_key;
	char *run_dir, *state_dir, *jobfs_dir, *pin_dir, *launcher, *slice, *metrics_token;
	char *jobfs_image, *stray_exempt_groups;
	int64_t spool_max_bytes, min_uid;
	int jobfs, engine, stray; /* indices of the words in config.c */
};
/* Other keys, and faults, are passed over. -ENOENT, -EACCES: the file cannot be read. The caller calls gather_config_done(), also after an
 * error. */
int gather_config_load(const char *path, struct gather_config *ret, struct err *err);
void gather_config_done(struct gather_config *c);
bool gather_config_is_unlimited(const struct gather_config *c); /* Jobfs = none */
bool gather_config_is_killing(const struct gather_config *c);	/* StrayProcesses = kill */
bool gather_config_is_foreign(const struct gather_config *c); /* Slurm or PBS starts the jobs */

/* Runs `PROGRAM --config PATH --check` of a daemon. */
void gather_config_check(const char *program, struct judge_config *ret);
