/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.h - /etc/reeve/agent.conf as a typed table; see units/agent.conf for all keys. */
#pragma once
#include <stdint.h>
#include "common/conf/conf.h"
#include "common/model/request.h"

struct conf_changes;
struct err;

enum config_manager { CONFIG_MANAGER_AUTO, CONFIG_MANAGER_SYSTEMD, CONFIG_MANAGER_CGROUP };
enum config_gpus {
	CONFIG_GPUS_HELD,   /* given to jobs where they can be held */
	CONFIG_GPUS_UNHELD, /* given to jobs also where every job can open every GPU */
	CONFIG_GPUS_OFF,
};
enum config_jobfs {
	CONFIG_JOBFS_QUOTA, /* each job is held to what it requests */
	CONFIG_JOBFS_NONE,  /* neither held nor measured */
};
enum config_pids { CONFIG_PIDS_CONTAIN, CONFIG_PIDS_KILL };
enum config_stray { CONFIG_STRAY_IGNORE, CONFIG_STRAY_NOTE, CONFIG_STRAY_KILL };

struct agent_config {
	char node[REQUEST_NAME_MAX];	  /* default: the host's name */
	char node_type[REQUEST_NAME_MAX]; /* "": not told */
	char *features_typed;		  /* as in the file; NULL: none */
	char features[FEATURES_MAX];	  /* features.h */
	char *controller;		  /* URL; NULL: none, orders come over D-Bus alone */
	char *controller_user;
	char *munge_socket; /* NULL: munge's default */
	char *ca_file, *client_certificate,
		*client_key; /* of https; NULL: the system's, none */
	int64_t min_uid, min_gid;
	bool require_user_credential; /* job/signed.h */
	int64_t max_queue_age_s;
	char *free_queues; /* by commas: queues that the controller may choose for a job signed for another */
	char *refused_users, *refused_groups; /* as typed; NULL: none; users.h */
	char *run_dir, *state_dir, *jobfs_dir, *pin_dir;
	char *jobfs_image;
	int jobfs; /* enum config_jobfs */
	int64_t jobfs_image_bytes, jobfs_reserve_bytes;
	char *launcher;
	char *slice;	     /* systemd: the unit above all jobs */
	char *cgroup_parent; /* without systemd: directory below the cgroup mount */
	int64_t reserved_cores, reserved_memory_bytes;
	int64_t report_interval_s, sample_interval_s, kill_grace_s;
	int64_t output_keep_s; /* how long the end waits for `reeve run` output to be taken */
	int64_t spool_max_bytes;
	int64_t pids_max;      /* of a job that states none */
	int64_t max_processes; /* of all jobs together; 0: as agent/admit/pids.h finds it */
	int64_t mem_percent, mem_plus_bytes;
	char *metrics_listen;		     /* as typed; NULL: off; metrics/address.h */
	char *metrics_group, *metrics_token; /* NULL: none */
	char *nvml;			     /* library; NULL: the driver's own */
	char *cuda; /* libcuda.so.1 whose allocations are probed; NULL: none */
	char *stray_exempt_groups, *stray_exempt_units; /* as typed; NULL: none */
	int engine, manager, vmem_tier, pids_action, gpus;
	int stray;     /* enum config_stray */
	int log_level; /* enum log_level */
	bool switch_profile;
	bool gpu_launch_profile;
};

extern const struct conf_key agent_config_keys[];

/* Defaults, then FILE and FILE.d/, then a check of what the keys mean together. A missing FILE
 * is an error. The caller owns *ret after success. */
int agent_config_load(const char *path, struct agent_config *ret, struct err *err);
/* The same, but reports every fault. Returns how many there were; 0: *ret is the configuration. < 0: it
 * could not be read at all. */
struct agent_config_faults {
	void (*tell)(void *ctx, const struct conf_fault *fault);
	void *ctx;
};
int agent_config_check(const char *path, const struct agent_config_faults *to,
		       struct agent_config *ret, struct err *err);
/* Tells what differs in `fresh`, and takes over what may change while the agent runs (CONF_LIVE). *fresh
 * gets the values that are no longer in force: agent_config_done() once no module has them. Pure. */
void agent_config_reload(struct agent_config *now, struct agent_config *fresh,
			 struct conf_changes *to);
void agent_config_done(struct agent_config *c);
