/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - the keys of agent.conf; see config.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/admit/pids.h"
#include "agent/config.h"
#include "agent/metrics/address.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/engine.h"
#include "common/time_units.h"

static const char *const managers[] = { "auto", "systemd", "cgroup", NULL };
static const char *const tiers[] = { "auto", "1", "2", "3", NULL };
static const char *const jobfs[] = { "quota", "none", NULL };
static const char *const gpus[] = { "held", "unheld", "off", NULL };
static const char *const pids_actions[] = { "contain", "kill", NULL };

#define AT(field) offsetof(struct agent_config, field)
#define TEXT(key, field, help, example)                                                        \
	{                                                                                      \
		"Agent", key, CONF_TEXT, AT(field), 0, 0, NULL, help, example                  \
	}
#define NUMBER(key, type, field, min, max, help, example)                                      \
	{                                                                                      \
		"Agent", key, type, AT(field), min, max, NULL, help, example                   \
	}
#define WORD(key, field, words, help, example)                                                 \
	{                                                                                      \
		"Agent", key, CONF_ENUM, AT(field), 0, 0, words, help, example                 \
	}

const struct conf_key agent_config_keys[] = {
	{ "Agent", "Node", CONF_NAME, AT(node), 0, 0, NULL,
	  "name of this node; default: the host's name", "n1" },
	{ "Agent", "NodeType", CONF_NAME, AT(node_type), 0, 0, NULL,
	  "which type of node this is: jobs ask for it, prices may depend on it", "t4-16" },
	TEXT("Features", features_typed, "what jobs may ask of this node, by commas",
	     "ib,nvme"),
	TEXT("Controller", controller,
	     "URL of the controller; empty: none, jobs come from root", "http://head:8640"),
	TEXT("ControllerUser", controller_user, "user whose answers are obeyed", "reeve"),
	NUMBER("MinUid", CONF_COUNT, min_uid, 1, UINT32_MAX - 1,
	       "no job or step of a user below it is run", "1000"),
	NUMBER("MinGid", CONF_COUNT, min_gid, 1, UINT32_MAX - 1,
	       "nor of a primary group below it", "1000"),
	TEXT("RefusedUsers", refused_users,
	     "users whose jobs are not run here, names or numbers, by commas", "backup,4001"),
	TEXT("RefusedGroups", refused_groups,
	     "nor those of members of these groups, primary or not", "docker,disk"),
	{ "Agent", "RequireUserCredential", CONF_BOOL, AT(require_user_credential), 0, 0, NULL,
	  "start only what its user signed (yes), or also what the controller alone says (no)",
	  "yes" },
	NUMBER("MaxQueueAge", CONF_SECONDS, max_queue_age_s, 3600, 10 * 366 * DAY_S,
	       "what was signed longer ago is not started any more", "90d"),
	TEXT("MungeSocket", munge_socket, "munged's socket; default: munge's own", ""),
	TEXT("CaFile", ca_file, "certificate authorities for https; default: the system's",
	     "/etc/reeve/ca.pem"),
	TEXT("ClientCertificate", client_certificate,
	     "file (PEM) with this node's certificate, where the controller asks for one",
	     "/etc/reeve/tls/node.pem"),
	TEXT("ClientKey", client_key, "file (PEM) with its key", "/etc/reeve/tls/node.key"),
	TEXT("RunDirectory", run_dir, "launch socket, final records", "/run/reeve"),
	TEXT("StateDirectory", state_dir, "the agent's database", "/var/lib/reeve"),
	WORD("Jobfs", jobfs, jobfs,
	     "jobs' disk: held to what they request (quota), or neither held nor measured (none)",
	     "quota"),
	TEXT("JobfsDirectory", jobfs_dir,
	     "node-local disk of jobs, on a file system with "
	     "project quotas",
	     "/var/lib/reeve/jobfs"),
	TEXT("JobfsImage", jobfs_image,
	     "file system image to use where there are no project "
	     "quotas",
	     "/var/lib/reeve/jobfs.img"),
	NUMBER("JobfsImageSize", CONF_BYTES, jobfs_image_bytes, 0, 0, "its size", "100GB"),
	NUMBER("ReservedJobfs", CONF_BYTES, jobfs_reserve_bytes, 0, 0,
	       "bytes of that disk never given to jobs", "10GB"),
	TEXT("PinDirectory", pin_dir, "where BPF programs and maps are kept",
	     "/sys/fs/bpf/reeve"),
	TEXT("LaunchProgram", launcher, "the launcher", "/usr/libexec/reeve/reeve-launch"),
	TEXT("Slice", slice, "unit above all jobs", "reeve.slice"),
	TEXT("CgroupParent", cgroup_parent, "without systemd: cgroup above all jobs", "reeve"),
	NUMBER("ReservedCores", CONF_COUNT, reserved_cores, 0, 1024,
	       "cores kept for the system", "1"),
	NUMBER("ReservedMemory", CONF_BYTES, reserved_memory_bytes, 0, 0,
	       "memory kept for the system", "2GB"),
	NUMBER("ReportInterval", CONF_SECONDS, report_interval_s, 1, 3600,
	       "between reports of a running job", "30s"),
	NUMBER("SampleInterval", CONF_SECONDS, sample_interval_s, 1, 3600,
	       "between measurements", "10s"),
	NUMBER("KillGrace", CONF_SECONDS, kill_grace_s, 1, 3600, "from TERM to KILL", "30s"),
	NUMBER("OutputKeep", CONF_SECONDS, output_keep_s, 1, DAY_S,
	       "how long the end of a `reeve run` waits for its output to be taken", "10m"),
	NUMBER("SpoolMax", CONF_BYTES, spool_max_bytes, 65536, INT64_MAX,
	       "reports kept while the controller is away", "64MiB"),
	NUMBER("PidsMax", CONF_COUNT, pids_max, 8, 4194304,
	       "processes and threads of a job that states none", "4096"),
	NUMBER("MaxProcesses", CONF_COUNT, max_processes, 64, PIDS_NODE_MAX,
	       "processes and threads of all jobs together; default: by memory and "
	       "kernel.pid_max",
	       "65536"),
	WORD("PidsAction", pids_action, pids_actions,
	     "at that bound: contain (fork fails) or kill", "contain"),
	NUMBER("MemFromVmemPercent", CONF_COUNT, mem_percent, 1, 1000,
	       "mem of a job that states vmem alone: this part of it", "101"),
	NUMBER("MemFromVmemPlus", CONF_BYTES, mem_plus_bytes, 0, 0, "and so much more",
	       "32MiB"),
	TEXT("MetricsListen", metrics_listen,
	     "where GET /metrics is answered: a socket's path, 127.0.0.1:PORT or [::1]:PORT; "
	     "not set: nowhere",
	     "/run/reeve/metrics.sock"),
	TEXT("MetricsGroup", metrics_group, "group that may open that socket, beside root",
	     "prometheus"),
	TEXT("MetricsToken", metrics_token,
	     "file with a token; of a port, clients that send it (Authorization: Bearer) get "
	     "series of single jobs too",
	     "/etc/reeve/metrics.token"),
	WORD("Gpus", gpus, gpus,
	     "GPUs for jobs: held (where each job can be kept to its own), unheld (everywhere) "
	     "or off",
	     "held"),
	TEXT("NvmlLibrary", nvml, "NVIDIA's library, where it is not found by itself",
	     "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"),
	TEXT("CudaLibrary", cuda,
	     "libcuda.so.1 that jobs use: probe what they allocate by it; not set: not",
	     "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
	{ "Agent", "GpuLaunchProfile", CONF_BOOL, AT(gpu_launch_profile), 0, 0, NULL,
	  "with CudaLibrary=: count each launch of GPU work of jobs; costs them a uprobe each",
	  "no" },
	WORD("Engine", engine, engine_words,
	     "who starts jobs: Reeve's controller, Slurm (docs/slurm.md) or PBS (docs/pbs.md)",
	     "reeve"),
	WORD("Manager", manager, managers, "who owns jobs: systemd or, without it, the agent",
	     "auto"),
	{ "Agent", "SwitchProfile", CONF_BOOL, AT(switch_profile), 0, 0, NULL,
	  "count each context switch of jobs; costs them about 0.1 us each", "no" },
	WORD("VmemTier", vmem_tier, tiers, "best enforcement tier to try", "auto"),
	{ 0 },
};

/* Texts are on the heap, defaults too: conf_load() frees what it replaces. */
static int set_text(char **to, const char *value)
{
	*to = strdup(value);
	return *to ? 0 : -ENOMEM;
}

static int set_defaults(struct agent_config *c, struct err *err)
{
	char host[256] = "";

	*c = (struct agent_config){ .jobfs_image_bytes = INT64_C(4) << 30,
				    .report_interval_s = 30,
				    .sample_interval_s = 10,
				    .kill_grace_s = 30,
				    .output_keep_s = 600,
				    .spool_max_bytes = 64 << 20,
				    .pids_max = 4096,
				    .mem_percent = 101,
				    .min_uid = 1000,
				    .min_gid = 1000,
				    .require_user_credential = true,
				    .max_queue_age_s = INT64_C(90) * DAY_S,
				    .mem_plus_bytes = 32 << 20 };
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(c->node, sizeof(c->node), "%.63s", host);
	if (set_text(&c->controller_user, "reeve") || set_text(&c->run_dir, "/run/reeve") ||
	    set_text(&c->state_dir, "/var/lib/reeve") ||
	    set_text(&c->jobfs_dir, "/var/lib/reeve/jobfs") ||
	    set_text(&c->pin_dir, "/sys/fs/bpf/reeve") ||
	    set_text(&c->launcher, "/usr/libexec/reeve/reeve-launch") ||
	    set_text(&c->slice, "reeve.slice") || set_text(&c->cgroup_parent, "reeve"))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* 300 leaves room for the names that are made below it (struct node has 512 bytes for each). */
static int check_path(const char *key, const char *path, struct err *err)
{
	if (path[0] != '/' || strlen(path) > 300)
		return err_set(err, -EINVAL, "%s=%s is not an absolute path below 300 bytes",
			       key, path);
	return 0;
}

static int read_features(struct agent_config *c, struct err *err)
{
	const char *typed = c->features_typed;
	int r = typed && *typed ? features_parse(typed, c->features, err) : 0;

	return r < 0 ? err_prefix(err, r, "Features=%.80s", typed) : 0;
}

/* What the table of keys cannot check of one key: names that go into paths and units. */
static int check_config(const struct agent_config *c, struct err *err)
{
	size_t n = strlen(c->slice);
	int r;

	if (!request_is_name(c->node))
		return err_set(err, -EINVAL, "'%s' is no name for a node; set Node= in [Agent]",
			       c->node);
	r = check_path("RunDirectory", c->run_dir, err);
	if (!r)
		r = check_path("StateDirectory", c->state_dir, err);
	if (!r)
		r = check_path("JobfsDirectory", c->jobfs_dir, err);
	if (!r)
		r = check_path("PinDirectory", c->pin_dir, err);
	if (!r)
		r = check_path("LaunchProgram", c->launcher, err);
	if (r < 0)
		return r;
	if (n < 7 || n > 100 || strcmp(c->slice + n - 6, ".slice") || strchr(c->slice, '/'))
		return err_set(err, -EINVAL, "Slice=%s is not NAME.slice", c->slice);
	if (!c->cgroup_parent[0] || strstr(c->cgroup_parent, ".."))
		return err_set(err, -EINVAL,
			       "CgroupParent=%s is not a directory below the "
			       "cgroup mount",
			       c->cgroup_parent);
	if (c->jobfs == CONFIG_JOBFS_NONE && c->jobfs_image && *c->jobfs_image)
		return err_set(err, -EINVAL,
			       "JobfsImage=%s holds jobs to their jobfs, Jobfs=none does not: "
			       "remove one of them",
			       c->jobfs_image);
	return 0;
}

/* What can be checked of one key alone, so that the error names file and line. */
static int check_statement(void *target, const struct conf_place *place, struct err *err)
{
	struct metrics_address address;
	const char *key = place->key ? place->key->key : "";

	(void)target;
	if (!strcmp(key, "MetricsListen"))
		return metrics_address_parse(place->value, &address, err);
	if (!strcmp(key, "MetricsToken") && place->value[0] != '/')
		return err_set(err, -EINVAL,
			       "MetricsToken = %.80s: it is not an absolute path; for example: "
			       "/etc/reeve/metrics.token",
			       place->value);
	return 0;
}

int agent_config_load(const char *path, struct agent_config *ret, struct err *err)
{
	struct agent_config c;
	const struct conf_reader reader = { .keys = agent_config_keys,
					    .target = &c,
					    .taken = check_statement };
	int r = set_defaults(&c, err);

	if (!r)
		r = conf_read(path, &reader, err);
	if (!r)
		r = read_features(&c, err);
	if (!r)
		r = check_config(&c, err);
	if (r < 0) {
		agent_config_done(&c);
		return r;
	}
	/* "Controller =" switches off one of an earlier file: NULL is the only form of "none". */
	if (c.controller && !*c.controller) {
		free(c.controller);
		c.controller = NULL;
	}
	*ret = c;
	return 0;
}

void agent_config_done(struct agent_config *c)
{
	conf_done(agent_config_keys, NULL, c);
}
