/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node.c - what is checked on a compute node; see doctor.h. */
#include <stdio.h>
#include <string.h>
#include "cli/admin/doctor/doctor.h"
#include "cli/admin/doctor/gather/access.h"
#include "cli/admin/doctor/gather/database.h"
#include "cli/admin/doctor/gather/files.h"
#include "cli/admin/doctor/gather/machine.h"
#include "cli/admin/doctor/gather/quota.h"

#define CHECK_LIMIT_S 30
#define OTHERS_WRITE 022
#define OTHERS_ANYTHING 077
#define OTHERS_READ_LIST 066 /* they may pass through */
#define MIB ((int64_t)1 << 20)

static void check_daemon(struct doctor *d, struct judge_agent *agent)
{
	struct judge_unit unit;

	gather_unit("reeve-agent.service", &unit);
	judge_unit(d->report, &unit);
	gather_agent(agent);
	judge_agent(d->report, agent, gather_has_bus());
	judge_tier(d->report, agent);
}

static void check_kernel(struct doctor *d)
{
	struct judge_quota quota = { .dir = d->agent.jobfs_dir,
				     .is_none = gather_config_is_unlimited(&d->agent) };
	struct judge_kernel kernel;
	struct judge_cgroup cgroup;

	gather_kernel(&kernel);
	judge_kernel(d->report, &kernel);
	gather_cgroup(d->agent.slice, &cgroup);
	judge_cgroup(d->report, &cgroup);
	gather_quota(&quota);
	judge_quota(d->report, &quota);
}

static void check_access(struct doctor *d)
{
	static const char *const cron[] = { "/usr/sbin/cron", "/usr/sbin/crond",
					    "/usr/sbin/fcron", NULL };
	static const char *const at[] = { "/usr/bin/at", NULL };
	struct judge_later later[] = { { .name = "cron", .allow = "/etc/cron.allow" },
				       { .name = "at", .allow = "/etc/at.allow" } };
	struct judge_sshd sshd;
	struct judge_users users;
	struct judge_polkit polkit;
	struct gather_users how = { .root = d->root, .min_uid = d->agent.min_uid };

	gather_sshd(d->root, &sshd);
	how.exempt = sshd.exempt;
	gather_users(&how, &users);
	judge_users(d->report, &users);
	gather_polkit(d->root, &polkit);
	judge_polkit(d->report, &polkit);
	judge_sshd(d->report, &sshd);
	judge_stray(d->report,
		    &(struct judge_stray){ .is_killing = gather_config_is_killing(&d->agent),
					   .exempt = sshd.exempt,
					   .stray_exempt = d->agent.stray_exempt_groups });
	gather_later(d->root, cron, &later[0]);
	judge_later(d->report, &later[0]);
	gather_later(d->root, at, &later[1]);
	judge_later(d->report, &later[1]);
}

/* Adds a path of root's. */
static void add_path(struct judge_path *paths, size_t *n, enum judge_path_kind kind,
		     const char *path, uint32_t forbidden)
{
	paths[*n] = doctor_path(kind, path, forbidden);
	paths[*n].owner = 0;
	++*n;
}

static void add_below(struct judge_path *paths, size_t *n, const char *dir, const char *name)
{
	char path[JUDGE_PATH_MAX];

	snprintf(path, sizeof(path), "%.400s/%s", dir, name);
	add_path(paths, n, JUDGE_PATH_FILE, path, OTHERS_ANYTHING);
	paths[*n - 1].may_lack = true;
}

static void check_modes(struct doctor *d)
{
	const struct gather_config *c = &d->agent;
	char dir[JUDGE_PATH_MAX];
	struct judge_path p[16];
	size_t n = 0;

	snprintf(dir, sizeof(dir), "%.500s", d->agent_path);
	add_path(p, &n, JUDGE_PATH_FILE, dir, OTHERS_WRITE);
	if (strrchr(dir + 1, '/'))
		*strrchr(dir, '/') = '\0';
	add_path(p, &n, JUDGE_PATH_DIRECTORY, dir, OTHERS_WRITE);
	/* Jobs of Slurm and PBS reach their disk through it. */
	add_path(p, &n, JUDGE_PATH_DIRECTORY, c->state_dir,
		 gather_config_is_foreign(c) ? OTHERS_READ_LIST : OTHERS_ANYTHING);
	add_below(p, &n, c->state_dir, "agent.db");
	add_below(p, &n, c->state_dir, "agent.db-wal");
	add_path(p, &n, JUDGE_PATH_DIRECTORY, c->run_dir, OTHERS_WRITE);
	add_path(p, &n, JUDGE_PATH_FILE, c->launcher, OTHERS_WRITE);
	add_path(p, &n, JUDGE_PATH_DIRECTORY, c->jobfs_dir, OTHERS_WRITE);
	add_path(p, &n, JUDGE_PATH_DIRECTORY, c->pin_dir, OTHERS_ANYTHING);
	p[n - 1].may_lack = true; /* there are no pins where there is no BPF */
	if (c->metrics_token)
		add_path(p, &n, JUDGE_PATH_FILE, c->metrics_token, 007);
	if (!c->munge_socket) {
		p[n] = doctor_path(JUDGE_PATH_FILE, "/etc/munge/munge.key", OTHERS_ANYTHING);
		n++;
	}
	for (size_t i = 0; i < n; i++)
		gather_path(&p[i]);
	judge_paths(d->report, p, n);
}

static void check_store(struct doctor *d, const struct judge_agent *agent)
{
	struct judge_database store = { .check = "store" };
	struct judge_disk disk = { .check = "disk-spool", .what = "the agent's database" };
	int64_t used = agent->has_spool ? agent->spool_bytes : 0;

	snprintf(store.place, sizeof(store.place), "%.400s/agent.db", d->agent.state_dir);
	gather_database(CHECK_LIMIT_S, &store);
	judge_database(d->report, &store);
	snprintf(disk.path, sizeof(disk.path), "%s", d->agent.state_dir);
	/* The spool may still grow by so much, and the database's log with it. */
	disk.need_bytes = 16 * MIB + d->agent.spool_max_bytes - used;
	disk.wish_bytes = 2 * disk.need_bytes;
	snprintf(disk.remedy, sizeof(disk.remedy),
		 "du -xh --max-depth=2 %.200s | sort -h | tail", d->agent.state_dir);
	gather_disk(&disk);
	judge_disk(d->report, &disk);
}

void doctor_node(struct doctor *d)
{
	struct judge_registered registered = { .node = d->agent.node };
	struct judge_agent agent;

	check_daemon(d, &agent);
	check_kernel(d);
	judge_uplink(d->report, &agent);
	gather_registered(&d->link, &registered);
	judge_registered(d->report, &registered);
	check_access(d);
	check_modes(d);
	check_store(d, &agent);
}
