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
#include "agent/users.h"
#include "common/cleanup.h"
#include "common/conf/change.h"
#include "common/conf/log_level.h"
#include "common/err.h"
#include "common/engine.h"
#include "common/time_units.h"

static const char *const managers[] = { "auto", "systemd", "cgroup", NULL };
static const char *const tiers[] = { "auto", "1", "2", "3", NULL };
static const char *const jobfs[] = { "quota", "none", NULL };
static const char *const gpus[] = { "held", "unheld", "off", NULL };
static const char *const pids_actions[] = { "contain", "kill", NULL };
static const char *const stray_actions[] = { "ignore", "note", "kill", NULL };

#define AT(field) offsetof(struct agent_config, field)
#define TEXT(key, field, help, example, reload)                                                \
	{                                                                                      \
		"Agent", key, CONF_TEXT, AT(field), 0, 0, NULL, help, example, reload          \
	}
#define NUMBER(key, type, field, min, max, help, example, reload)                              \
	{                                                                                      \
		"Agent", key, type, AT(field), min, max, NULL, help, example, reload           \
	}
#define WORD(key, field, words, help, example, reload)                                         \
	{                                                                                      \
		"Agent", key, CONF_ENUM, AT(field), 0, 0, words, help, example, reload         \
	}

const struct conf_key agent_config_keys[] = {
	{ "Agent", "Node", CONF_NAME, AT(node), 0, 0, NULL,
	  "name of this node; default: the host's name", "n1", CONF_RESTART },
	{ "Agent", "NodeType", CONF_NAME, AT(node_type), 0, 0, NULL,
	  "which type of node this is: jobs ask for it, prices may depend on it", "t4-16",
	  CONF_LIVE },
	TEXT("Features", features_typed, "what jobs may ask of this node, by commas", "ib,nvme",
	     CONF_LIVE),
	TEXT("Controller", controller,
	     "URL of the controller; empty: none, jobs come from root", "http://head:8640",
	     CONF_RESTART),
	TEXT("ControllerUser", controller_user, "user whose answers are obeyed", "reeve",
	     CONF_RESTART),
	NUMBER("MinUid", CONF_COUNT, min_uid, 1, UINT32_MAX - 1,
	       "no job or step of a user below it is run", "1000", CONF_LIVE),
	NUMBER("MinGid", CONF_COUNT, min_gid, 1, UINT32_MAX - 1,
	       "nor of a primary group below it", "1000", CONF_LIVE),
	TEXT("RefusedUsers", refused_users,
	     "users whose jobs are not run here, names or numbers, by commas", "backup,4001",
	     CONF_LIVE),
	TEXT("RefusedGroups", refused_groups,
	     "nor those of members of these groups, primary or not", "docker,disk", CONF_LIVE),
	{ "Agent", "RequireUserCredential", CONF_BOOL, AT(require_user_credential), 0, 0, NULL,
	  "start only what its user signed (yes), or also what the controller alone says (no)",
	  "yes", CONF_LIVE },
	TEXT("FreeQueues", free_queues,
	     "queues without charge, to which the controller may move jobs that no grant covers",
	     "bonus", CONF_LIVE),
	NUMBER("MaxQueueAge", CONF_SECONDS, max_queue_age_s, 3600, 10 * 366 * DAY_S,
	       "what was signed longer ago is not started any more", "90d", CONF_LIVE),
	TEXT("MungeSocket", munge_socket, "munged's socket; default: munge's own", "",
	     CONF_RESTART),
	TEXT("CaFile", ca_file, "certificate authorities for https; default: the system's",
	     "/etc/reeve/ca.pem", CONF_RESTART),
	TEXT("ClientCertificate", client_certificate,
	     "file (PEM) with this node's certificate, where the controller asks for one",
	     "/etc/reeve/tls/node.pem", CONF_RESTART),
	TEXT("ClientKey", client_key, "file (PEM) with its key", "/etc/reeve/tls/node.key",
	     CONF_RESTART),
	TEXT("RunDirectory", run_dir, "launch socket, final records", "/run/reeve",
	     CONF_RESTART),
	TEXT("StateDirectory", state_dir, "the agent's database", "/var/lib/reeve",
	     CONF_RESTART),
	WORD("Jobfs", jobfs, jobfs,
	     "jobs' disk: held to what they request (quota), or neither held nor measured (none)",
	     "quota", CONF_RESTART),
	TEXT("JobfsDirectory", jobfs_dir,
	     "node-local disk of jobs, on a file system with "
	     "project quotas",
	     "/var/lib/reeve/jobfs", CONF_RESTART),
	TEXT("JobfsImage", jobfs_image,
	     "file system image to use where there are no project "
	     "quotas",
	     "/var/lib/reeve/jobfs.img", CONF_RESTART),
	NUMBER("JobfsImageSize", CONF_BYTES, jobfs_image_bytes, 0, 0, "its size", "100GB",
	       CONF_RESTART),
	NUMBER("ReservedJobfs", CONF_BYTES, jobfs_reserve_bytes, 0, 0,
	       "bytes of that disk never given to jobs", "10GB", CONF_RESTART),
	TEXT("PinDirectory", pin_dir, "where BPF programs and maps are kept",
	     "/sys/fs/bpf/reeve", CONF_RESTART),
	TEXT("LaunchProgram", launcher, "the launcher", "/usr/libexec/reeve/reeve-launch",
	     CONF_RESTART),
	TEXT("Slice", slice, "unit above all jobs", "reeve.slice", CONF_RESTART),
	TEXT("CgroupParent", cgroup_parent, "without systemd: cgroup above all jobs", "reeve",
	     CONF_RESTART),
	NUMBER("ReservedCores", CONF_COUNT, reserved_cores, 0, 1024,
	       "cores kept for the system", "1", CONF_RESTART),
	NUMBER("ReservedMemory", CONF_BYTES, reserved_memory_bytes, 0, 0,
	       "memory kept for the system", "2GB", CONF_RESTART),
	NUMBER("ReportInterval", CONF_SECONDS, report_interval_s, 1, 3600,
	       "between reports of a running job", "30s", CONF_LIVE),
	NUMBER("SampleInterval", CONF_SECONDS, sample_interval_s, 1, 3600,
	       "between measurements", "10s", CONF_LIVE),
	NUMBER("KillGrace", CONF_SECONDS, kill_grace_s, 1, 3600, "from TERM to KILL", "30s",
	       CONF_LIVE),
	NUMBER("OutputKeep", CONF_SECONDS, output_keep_s, 1, DAY_S,
	       "how long the end of a `reeve run` waits for its output to be taken", "10m",
	       CONF_LIVE),
	NUMBER("SpoolMax", CONF_BYTES, spool_max_bytes, 65536, INT64_MAX,
	       "reports kept while the controller is away", "64MiB", CONF_LIVE),
	NUMBER("PidsMax", CONF_COUNT, pids_max, 8, 4194304,
	       "processes and threads of a job that states none", "4096", CONF_LIVE),
	NUMBER("MaxProcesses", CONF_COUNT, max_processes, 64, PIDS_NODE_MAX,
	       "processes and threads of all jobs together; default: by memory and "
	       "kernel.pid_max",
	       "65536", CONF_RESTART),
	WORD("PidsAction", pids_action, pids_actions,
	     "at that bound: contain (fork fails) or kill", "contain", CONF_LIVE),
	WORD("StrayProcesses", stray, stray_actions,
	     "processes of jobs' users outside every job (lingering, cron, at, ssh without "
	     "pam_reeve): ignore, note (name them) or kill",
	     "note", CONF_LIVE),
	TEXT("StrayExemptGroups", stray_exempt_groups,
	     "not processes of members of these groups, as exempt= of pam_reeve", "admins",
	     CONF_LIVE),
	TEXT("StrayExemptUnits", stray_exempt_units,
	     "nor those in these units, which act for users on the node's behalf",
	     "jupyterhub.service", CONF_LIVE),
	NUMBER("MemFromVmemPercent", CONF_COUNT, mem_percent, 1, 1000,
	       "mem of a job that states vmem alone: this part of it", "101", CONF_LIVE),
	NUMBER("MemFromVmemPlus", CONF_BYTES, mem_plus_bytes, 0, 0, "and so much more", "32MiB",
	       CONF_LIVE),
	TEXT("MetricsListen", metrics_listen,
	     "where GET /metrics is answered: a socket's path, 127.0.0.1:PORT or [::1]:PORT; "
	     "not set: nowhere",
	     "/run/reeve/metrics.sock", CONF_RESTART),
	TEXT("MetricsGroup", metrics_group, "group that may open that socket, beside root",
	     "prometheus", CONF_RESTART),
	TEXT("MetricsToken", metrics_token,
	     "file with a token; of a port, clients that send it (Authorization: Bearer) get "
	     "series of single jobs too",
	     "/etc/reeve/metrics.token", CONF_LIVE),
	WORD("LogLevel", log_level, log_level_words,
	     "least severe lines that are logged: err, warning, notice, info or debug", "info",
	     CONF_LIVE),
	WORD("Gpus", gpus, gpus,
	     "GPUs for jobs: held (where each job can be kept to its own), unheld (everywhere) "
	     "or off",
	     "held", CONF_RESTART),
	TEXT("NvmlLibrary", nvml, "NVIDIA's library, where it is not found by itself",
	     "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", CONF_RESTART),
	TEXT("CudaLibrary", cuda,
	     "libcuda.so.1 that jobs use: probe what they allocate by it; not set: not",
	     "/usr/lib/x86_64-linux-gnu/libcuda.so.1", CONF_RESTART),
	{ "Agent", "GpuLaunchProfile", CONF_BOOL, AT(gpu_launch_profile), 0, 0, NULL,
	  "with CudaLibrary=: count each launch of GPU work of jobs; costs them a uprobe each",
	  "no", CONF_RESTART },
	WORD("Engine", engine, engine_words,
	     "who starts jobs: Reeve's controller, Slurm (docs/slurm.md) or PBS (docs/pbs.md)",
	     "reeve", CONF_RESTART),
	WORD("Manager", manager, managers, "who owns jobs: systemd or, without it, the agent",
	     "auto", CONF_RESTART),
	{ "Agent", "SwitchProfile", CONF_BOOL, AT(switch_profile), 0, 0, NULL,
	  "count each context switch of jobs; costs them about 0.1 us each", "no",
	  CONF_RESTART },
	WORD("VmemTier", vmem_tier, tiers, "best enforcement tier to try", "auto",
	     CONF_RESTART),
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
				    .log_level = LOG_LEVEL_INFO,
				    .spool_max_bytes = 64 << 20,
				    .pids_max = 4096,
				    .mem_percent = 101,
				    .stray = CONFIG_STRAY_NOTE,
				    .min_uid = 1000,
				    .min_gid = 1000,
				    .require_user_credential = true,
				    .max_queue_age_s = INT64_C(90) * DAY_S,
				    .mem_plus_bytes = 32 << 20 };
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(c->node, sizeof(c->node), "%.63s", host);
	if (set_text(&c->controller_user, "reeve") || set_text(&c->free_queues, "bonus") ||
	    set_text(&c->run_dir, "/run/reeve") || set_text(&c->state_dir, "/var/lib/reeve") ||
	    set_text(&c->jobfs_dir, "/var/lib/reeve/jobfs") ||
	    set_text(&c->pin_dir, "/sys/fs/bpf/reeve") ||
	    set_text(&c->launcher, "/usr/libexec/reeve/reeve-launch") ||
	    set_text(&c->slice, "reeve.slice") || set_text(&c->cgroup_parent, "reeve"))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* ---- values ---- */

/* 300 leaves room for the names that are made below it (struct node has 512 bytes for each). */
static int check_path(const char *value, struct err *err)
{
	if (value[0] != '/' || strlen(value) > 300)
		return err_set(err, -EINVAL, "it is not an absolute path below 300 bytes");
	return 0;
}

static int check_file(const char *value, struct err *err)
{
	return value[0] == '/' ? 0 : err_set(err, -EINVAL, "it is not an absolute path");
}

static int check_slice(const char *value, struct err *err)
{
	size_t n = strlen(value);

	if (n < 7 || n > 100 || strcmp(value + n - 6, ".slice") || strchr(value, '/'))
		return err_set(err, -EINVAL, "it is not NAME.slice");
	return 0;
}

static int check_parent(const char *value, struct err *err)
{
	if (strstr(value, ".."))
		return err_set(err, -EINVAL, "it is not a directory below the cgroup mount");
	return 0;
}

static int check_features(const char *value, struct err *err)
{
	char features[FEATURES_MAX] = "";

	return features_parse(value, features, err);
}

static int check_ids(const struct agent_config *only, struct err *err)
{
	struct users users;
	int r = users_open(only, &users, err);

	if (!r)
		users_done(&users);
	return r;
}

static int check_users(const char *value, struct err *err)
{
	return check_ids(&(struct agent_config){ .refused_users = (char *)value }, err);
}

static int check_groups(const char *value, struct err *err)
{
	return check_ids(&(struct agent_config){ .refused_groups = (char *)value }, err);
}

static int check_exempt(const char *value, struct err *err)
{
	return check_ids(&(struct agent_config){ .stray_exempt_groups = (char *)value }, err);
}

/* What the type of a key does not check: names that go into paths and units, and lists. */
static const struct {
	const char *key;
	int (*check)(const char *value, struct err *err);
} checks[] = {
	{ "RunDirectory", check_path },	   { "StateDirectory", check_path },
	{ "JobfsDirectory", check_path },  { "PinDirectory", check_path },
	{ "LaunchProgram", check_path },   { "MetricsToken", check_file },
	{ "Slice", check_slice },	   { "CgroupParent", check_parent },
	{ "Features", check_features },	   { "RefusedUsers", check_users },
	{ "RefusedGroups", check_groups }, { "StrayExemptGroups", check_exempt },
};

/* conf_reader.taken */
static int check_statement(void *target, const struct conf_place *place, struct err *err)
{
	struct metrics_address address;
	const struct conf_key *k = place->key;
	struct err why = { "" };
	int r = 0;

	(void)target;
	if (!k)
		return 0;
	if (!strcmp(k->key, "MetricsListen"))
		return metrics_address_parse(place->value, &address, err);
	for (size_t i = 0; i < ARRAY_LEN(checks) && !r; i++)
		if (!strcmp(checks[i].key, k->key))
			r = checks[i].check(place->value, &why);
	return r < 0 ? err_set(err, r, "%s = %.80s: %s; for example: %s", k->key, place->value,
			       why.text, k->example)
		     : 0;
}

/* ---- all of it ---- */

/* What the keys mean together. */
static int check_config(const struct agent_config *c, struct err *err)
{
	if (!request_is_name(c->node))
		return err_set(err, -EINVAL, "'%s' is no name for a node; set Node= in [Agent]",
			       c->node);
	if (c->jobfs == CONFIG_JOBFS_NONE && c->jobfs_image && *c->jobfs_image)
		return err_set(err, -EINVAL,
			       "JobfsImage=%s holds jobs to their jobfs, Jobfs=none does not: "
			       "remove one of them",
			       c->jobfs_image);
	return 0;
}

/* The words of the first fault, and how many there were. */
struct reading {
	const struct agent_config_faults *to;
	int n_faults;
};

static void count_fault(void *ctx, const struct conf_fault *fault)
{
	struct reading *reading = ctx;

	reading->n_faults++;
	reading->to->tell(reading->to->ctx, fault);
}

/* A fault of no single line. */
static void note_fault(struct reading *reading, const char *path, struct err *why)
{
	const struct conf_fault fault = { path, 0, why->text };

	err_prefix(why, 0, "%s", path);
	count_fault(reading, &fault);
}

int agent_config_check(const char *path, const struct agent_config_faults *to,
		       struct agent_config *ret, struct err *err)
{
	struct reading reading = { to, 0 };
	struct agent_config c;
	const struct conf_reader reader = { .keys = agent_config_keys,
					    .target = &c,
					    .taken = check_statement,
					    .fault = count_fault,
					    .ctx = &reading };
	struct err why = { "" };
	int r = set_defaults(&c, err);

	if (!r)
		r = conf_read(path, &reader, err);
	if (!r && check_config(&c, &why) < 0)
		note_fault(&reading, path, &why);
	if (r < 0 || reading.n_faults) {
		agent_config_done(&c);
		return r < 0 ? r : reading.n_faults;
	}
	if (c.features_typed)
		(void)features_parse(c.features_typed, c.features, err); /* it was checked */
	*ret = c;
	return 0;
}

static void keep_first_fault(void *ctx, const struct conf_fault *fault)
{
	struct err *first = ctx;

	if (!*first->text)
		err_set(first, 0, "%s", fault->text);
}

int agent_config_load(const char *path, struct agent_config *ret, struct err *err)
{
	struct err first = { "" };
	int r = agent_config_check(
		path, &(struct agent_config_faults){ keep_first_fault, &first }, ret, err);

	return r > 0 ? err_set(err, -EINVAL, "%s", first.text) : r;
}

void agent_config_reload(struct agent_config *now, struct agent_config *fresh,
			 struct conf_changes *to)
{
	const struct conf_pair all = { "Agent", "", now, fresh };
	struct agent_config kept;

	conf_compare(agent_config_keys, &all, to);
	conf_swap_restart(agent_config_keys, &all);
	kept = *now;
	*now = *fresh;
	*fresh = kept;
}

void agent_config_done(struct agent_config *c)
{
	conf_done(agent_config_keys, NULL, c);
}
