/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd_unit.c - writes the properties of a job's unit into a D-Bus message: those of
 * systemd.exec(5), systemd.resource-control(5), systemd.kill(5) and systemd.service(5). Each
 * returns >= 0, or -errno of sd-bus.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/enforce/manager/systemd_unit.h"
#include "agent/launch/supervise.h"
#include "common/cleanup.h"

struct flag {
	const char *name;
	int value;
};
/* No property here that systemd implements as a system call filter, which every system call of
 * the job would pass through: without privileges, and without a way to gain any, a job needs
 * none. */
static const struct flag flags[] = {
	{ "NoNewPrivileges", 1 },
	{ "ProtectControlGroups", 1 },
	/* What is left of shared memory and message queues goes with its last process, and
	 * /dev/mqueue is the job's own. */
	{ "PrivateIPC", 1 },
	{ "RemainAfterExit", 0 },
	/* The last step is root's, outside the job's view. Not by "privileged"
	 * in ExecStopPostEx=: systemd 252 writes that name into the unit's file, does not know
	 * it there, and at daemon-reload loses the step that writes the final record. */
	{ "PermissionsStartOnly", 1 },
	/* So that there may be a cgroup of the user's processes alone inside the unit's: the
	 * agent makes it, and takes the files back from the user (agent/job/phase/attach.c). */
	{ "Delegate", 1 },
	{ "IgnoreSIGPIPE", 0 },
	{ "SendSIGKILL", 1 },
	/* Counters of a job exist only where the controllers are on. */
	{ "CPUAccounting", 1 },
	{ "MemoryAccounting", 1 },
	{ "TasksAccounting", 1 },
	{ "IOAccounting", 1 },
	/* `systemctl isolate multi-user.target` must not end jobs. */
	{ "IgnoreOnIsolate", 1 },
};

struct word {
	const char *name, *value;
};
static const struct word words[] = {
	{ "Type", "exec" },
	{ "CollectMode", "inactive-or-failed" },
	{ "KillMode", "control-group" },
	/* systemd learns of an OOM kill up to 10 ms late, and with any other policy would then
	 * kill the writer of the final record. memory.oom.group is set before the user's program
	 * starts (agent/job/phase/attach.c), and again by manager/systemd.c after each change of
	 * properties, at which systemd clears it. */
	{ "OOMPolicy", "continue" },
	{ "DevicePolicy", "closed" },
	{ "StandardInput", "null" },
	{ "StandardOutput", "null" },
	{ "StandardError", "null" },
	/* A job does not see the processes of other users. */
	{ "ProtectProc", "invisible" },
};

/* Ways to have something started outside the job (user manager, cron, at), and systemd's private
 * socket. */
static const char *const hidden[] = { "-/run/user", "-/var/spool/cron", "-/var/spool/at",
				      "-/run/systemd/private" };

static int append_flags(sd_bus_message *m)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(flags); i++)
		r = sd_bus_message_append(m, "(sv)", flags[i].name, "b", flags[i].value);
	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(words); i++)
		r = sd_bus_message_append(m, "(sv)", words[i].name, "s", words[i].value);
	return r;
}

/* The set is a little-endian bit string without zero bytes at its end. */
int manager_unit_append_set(sd_bus_message *m, const char *name, const struct cpulist *set)
{
	unsigned char bits[CPULIST_MAX / 8] = { 0 };
	size_t n = 0;
	int r;

	for (int i = cpulist_next(set, -1); i >= 0; i = cpulist_next(set, i)) {
		bits[i / 8] |= (unsigned char)(1U << (i % 8));
		n = (size_t)i / 8 + 1;
	}
	r = sd_bus_message_open_container(m, 'r', "sv");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", name);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "ay");
	if (r >= 0)
		r = sd_bus_message_append_array(m, 'y', bits, n);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

/* Seconds for the writer of the final record on a busy node. systemd has one timeout for it and
 * for processes that the main one leaves: a short KillGrace must not cut the record off. */
#define FINAL_S 10

static int append_limits(sd_bus_message *m, const struct manager_spec *s)
{
	int r = manager_unit_append_set(m, "AllowedCPUs", &s->cpus);

	if (r >= 0)
		r = manager_unit_append_set(m, "AllowedMemoryNodes", &s->mem_nodes);
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)(sv)", "MemoryMax", "t",
					  (uint64_t)s->mem_bytes, "MemorySwapMax", "t",
					  UINT64_C(0), "TasksMax", "t", (uint64_t)s->pids);
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)", "LimitCORE", "t", UINT64_C(0),
					  "LimitCORESoft", "t", UINT64_C(0));
	if (r >= 0)
		r = sd_bus_message_append(
			m, "(sv)", "TimeoutStopUSec", "t",
			(uint64_t)(s->grace_s > FINAL_S ? s->grace_s : FINAL_S) * 1000000);
	return r;
}

/* Beside "DevicePolicy=closed". */
static int append_devices(sd_bus_message *m, const struct manager_spec *s)
{
	int r = sd_bus_message_open_container(m, 'r', "sv");

	if (r >= 0)
		r = sd_bus_message_append(m, "s", "DeviceAllow");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "a(ss)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(ss)");
	for (size_t i = 0; r >= 0 && s->devices[i]; i++)
		r = sd_bus_message_append(m, "(ss)", s->devices[i], "rw");
	for (int i = 0; r >= 0 && i < 3; i++)
		r = sd_bus_message_close_container(m);
	return r;
}

/* New tmpfs mounts: empty ones over the agent's own directories, one of the job's size at
 * /dev/shm, a small one for lock files. */
static int append_mounts(sd_bus_message *m, const struct manager_unit *u)
{
	char size[64];
	int r = sd_bus_message_open_container(m, 'r', "sv");

	if (r >= 0)
		r = sd_bus_message_append(m, "s", "TemporaryFileSystem");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "a(ss)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(ss)");
	for (int i = 0; r >= 0 && i < MANAGER_HIDDEN_MAX && u->config->hidden[i]; i++)
		r = sd_bus_message_append(m, "(ss)", u->config->hidden[i], "ro,mode=0755");
	snprintf(size, sizeof(size), "mode=1777,size=%" PRId64, u->spec->shm_bytes);
	if (r >= 0 && u->spec->shm_bytes > 0)
		r = sd_bus_message_append(m, "(ss)", "/dev/shm", size);
	if (r >= 0 && access(SUPERVISE_LOCKS, F_OK) == 0) /* systemd would make it */
		r = sd_bus_message_append(m, "(ss)", SUPERVISE_LOCKS, SUPERVISE_LOCKS_OPTIONS);
	for (int i = 0; r >= 0 && i < 3; i++)
		r = sd_bus_message_close_container(m);
	return r;
}

static int append_view(sd_bus_message *m, const struct manager_unit *u)
{
	const char *disk = u->spec->jobfs_dir;
	char tmp[MANAGER_PATH_MAX], var_tmp[MANAGER_PATH_MAX];
	int r;

	r = sd_bus_message_append(m, "(sv)", "InaccessiblePaths", "as", ARRAY_LEN(hidden),
				  hidden[0], hidden[1], hidden[2], hidden[3]);
	if (r >= 0)
		r = append_mounts(m, u);
	if (r < 0 || !disk)
		return r;
	snprintf(tmp, sizeof(tmp), "%s/tmp", disk);
	snprintf(var_tmp, sizeof(var_tmp), "%s/vartmp", disk);
	r = sd_bus_message_append(m, "(sv)", "BindPaths", "a(ssbt)", 2, tmp, "/tmp", 0,
				  UINT64_C(0), var_tmp, "/var/tmp", 0, UINT64_C(0));
	if (r >= 0 && manager_is_hidden(u->config, u->spec))
		r = sd_bus_message_append(m, "(sv)", "BindPaths", "a(ssbt)", 1, disk, disk, 0,
					  UINT64_C(0));
	return r;
}

/* The writer of the final record. Root's, in the host's mount namespace (PermissionsStartOnly): it
 * writes where no job may. */
static int append_stop_post(sd_bus_message *m, const struct manager_unit *u)
{
	char job[24], attempt[16];

	snprintf(job, sizeof(job), "%" PRId64, u->spec->id.job);
	snprintf(attempt, sizeof(attempt), "%" PRId32, u->spec->id.attempt);
	return sd_bus_message_append(m, "(sv)", "ExecStopPost", "a(sasb)", 1,
				     u->config->launcher, 5, u->config->launcher, "--final",
				     u->config->final_dir, job, attempt, 0);
}

static int append_identity(sd_bus_message *m, const struct manager_unit *u)
{
	char user[16], group[16], text[96];

	snprintf(user, sizeof(user), "%" PRIu32, u->spec->uid);
	snprintf(group, sizeof(group), "%" PRIu32, u->spec->gid);
	snprintf(text, sizeof(text), "Reeve job %" PRId64 ", attempt %" PRId32, u->spec->id.job,
		 u->spec->id.attempt);
	return sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)", "Description", "s", text,
				     "Slice", "s", u->slice, "User", "s", user, "Group", "s",
				     group, "ExecStart", "a(sasb)", 1, u->config->launcher, 2,
				     u->config->launcher, u->config->socket, 0);
}

/* At a shutdown systemd stops what is ordered after this unit before it. An agent that still ran then would take the signal that ends the job
 * for its own end. */
static int append_order(sd_bus_message *m, const char *agent)
{
	return agent ? sd_bus_message_append(m, "(sv)", "Before", "as", 1, agent) : 0;
}

int manager_unit_append(sd_bus_message *m, const struct manager_unit *u)
{
	int r = sd_bus_message_open_container(m, 'a', "(sv)");

	if (r >= 0)
		r = append_identity(m, u);
	if (r >= 0)
		r = append_order(m, u->agent);
	if (r >= 0)
		r = append_flags(m);
	if (r >= 0)
		r = append_limits(m, u->spec);
	if (r >= 0 && u->spec->devices)
		r = append_devices(m, u->spec);
	if (r >= 0)
		r = append_view(m, u);
	if (r >= 0)
		r = append_stop_post(m, u);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

/* No limits: cores, memory and the end of the processes are those of the program that has made them. Delegated, since the agent makes "work" in it. */
int manager_unit_append_scope(sd_bus_message *m, const struct manager_unit *u)
{
	char text[96];
	int r = sd_bus_message_open_container(m, 'a', "(sv)");

	snprintf(text, sizeof(text), "Job %" PRId64 ", attempt %" PRId32 ", held by Reeve",
		 u->spec->id.job, u->spec->id.attempt);
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)", "Description", "s", text,
					  "Slice", "s", u->slice, "CollectMode", "s",
					  "inactive-or-failed", "PIDs", "au", 1,
					  (uint32_t)u->spec->pid);
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)", "Delegate", "b", 1,
					  "CPUAccounting", "b", 1, "MemoryAccounting", "b", 1,
					  "TasksAccounting", "b", 1, "IOAccounting", "b", 1,
					  "TasksMax", "t", UINT64_MAX);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_command(sd_bus_message *m, const char *const *argv)
{
	int r = sd_bus_message_open_container(m, 'r', "sv");

	if (r >= 0)
		r = sd_bus_message_append(m, "s", "ExecStart");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "a(sasb)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sasb)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'r', "sasb");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", argv[0]);
	if (r >= 0)
		r = sd_bus_message_append_strv(m, (char **)argv);
	if (r >= 0)
		r = sd_bus_message_append(m, "b", 0);
	for (int i = 0; r >= 0 && i < 4; i++)
		r = sd_bus_message_close_container(m);
	return r;
}

int manager_unit_append_helper(sd_bus_message *m, const char *name, const char *const *argv,
			       const char *agent)
{
	int r = sd_bus_message_open_container(m, 'a', "(sv)");

	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
					  name, "IgnoreOnIsolate", "b", 1, "Type", "s", "exec",
					  "CollectMode", "s", "inactive-or-failed", "KillMode",
					  "s", "process", "StandardInput", "s", "null",
					  "OOMScoreAdjust", "i", -900);
	if (r >= 0)
		r = append_order(m, agent);
	if (r >= 0)
		r = append_command(m, argv);
	return r < 0 ? r : sd_bus_message_close_container(m);
}
