/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.c - see kernel.h. */
#include <inttypes.h>
#include <string.h>
#include "cli/admin/doctor/judge/kernel.h"

#define OLDEST_MAJOR 5 /* docs/operation.md */
#define OLDEST_MINOR 14

static bool is_word_in(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += n)
		if ((p == words || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
			return true;
	return false;
}

void judge_kernel(struct judge_report *r, const struct judge_kernel *k)
{
	size_t before = r->n;

	if (!k->major)
		judge_add(r, "kernel", JUDGE_UNCHECKED, "the kernel does not say its version");
	else if (k->major < OLDEST_MAJOR ||
		 (k->major == OLDEST_MAJOR && k->minor < OLDEST_MINOR)) {
		judge_add(r, "kernel", JUDGE_FAIL, "Linux %d.%d is older than %d.%d", k->major,
			  k->minor, OLDEST_MAJOR, OLDEST_MINOR);
		judge_remedy(r, "boot a newer kernel");
	}
	if (!k->has_btf) {
		judge_add(r, "kernel", JUDGE_FAIL,
			  "the kernel has no type information (/sys/kernel/btf/vmlinux): vmem "
			  "and the guards cannot use BPF");
		judge_remedy(r, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	}
	if (!k->has_bpffs) {
		judge_add(r, "kernel", JUDGE_WARN,
			  "/sys/fs/bpf is no BPF file system: limits in the kernel end with "
			  "the agent");
		judge_remedy(r, "mount -t bpf bpf /sys/fs/bpf");
	}
	if (!strcmp(k->lockdown, "confidentiality")) {
		judge_add(r, "kernel", JUDGE_FAIL,
			  "the kernel's lockdown is 'confidentiality': BPF programs may not "
			  "read kernel memory, so no job can be counted by them");
		judge_remedy(r, "boot with lockdown=integrity");
	}
	if (r->n == before)
		judge_add(r, "kernel", JUDGE_OK, "Linux %d.%d with BTF and a BPF file system",
			  k->major, k->minor);
}

/* ---- the agent ---- */

void judge_agent(struct judge_report *r, const struct judge_agent *a, bool has_bus)
{
	if (!*a->why) {
		judge_add(r, "agent", JUDGE_OK, "the agent answers on the system bus");
	} else if (!has_bus) {
		judge_add(r, "agent", JUDGE_UNCHECKED,
			  "there is no system bus here, on which the agent could be asked what "
			  "it enforces");
		judge_remedy(r, "reeve nodes");
	} else {
		judge_add(r, "agent", JUDGE_FAIL, "the agent does not answer: %s", a->why);
		judge_remedy(r,
			     "systemctl restart reeve-agent; journalctl -u reeve-agent -n 50");
	}
}

/* Does the note say why a limit is enforced in a weaker way? */
static bool is_of_tier(const char *note)
{
	static const char *const begins[] = { "vmem:", "events:", "guard:" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(note, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static const char *describe_tier(int tier)
{
	return tier == 1   ? "the kernel refuses what exceeds vmem"
	       : tier == 2 ? "a job that exceeds vmem is killed within milliseconds"
			   : "vmem is polled from /proc, without BPF";
}

void judge_tier(struct judge_report *r, const struct judge_agent *a)
{
	bool is_explained = false;

	if (*a->why) {
		judge_add(r, "tier", JUDGE_UNCHECKED,
			  "which limits are enforced is not known: the agent does not answer");
		return;
	}
	for (size_t i = 0; i < a->n_notes; i++) {
		bool is_of = is_of_tier(a->notes[i]);

		is_explained |= is_of;
		judge_add(r, is_of ? "tier" : "note", JUDGE_WARN, "%s", a->notes[i]);
	}
	judge_add(r, "tier", a->tier == 1 ? JUDGE_OK : JUDGE_WARN, "tier %d: %s", a->tier,
		  describe_tier(a->tier));
	if (a->tier != 1)
		judge_remedy(r, is_explained ? "see the notes above; docs/enforcement.md"
					     : "remove VmemTier= from agent.conf and restart "
					       "reeve-agent");
}

void judge_uplink(struct judge_report *r, const struct judge_agent *a)
{
	if (*a->why) {
		judge_add(
			r, "uplink", JUDGE_UNCHECKED,
			"whether the agent reaches the controller is not known: the agent does "
			"not answer");
	} else if (!*a->controller) {
		judge_add(r, "uplink", JUDGE_WARN,
			  "the agent has no controller: jobs come from root alone");
		judge_remedy(r, "set Controller= in /etc/reeve/agent.conf; systemctl restart "
				"reeve-agent");
	} else if (!a->is_up) {
		judge_add(r, "uplink", JUDGE_FAIL, "the agent does not reach %s: %s",
			  a->controller, *a->link_why ? a->link_why : "no exchange yet");
		judge_remedy(r, "curl -s %s/metrics | head; systemctl reload reeve-agent",
			     a->controller);
	} else {
		judge_add(r, "uplink", JUDGE_OK, "the agent exchanges with %s", a->controller);
	}
	if (*a->why)
		return;
	if (!a->has_spool) {
		judge_add(r, "spool", JUDGE_UNCHECKED, "the agent cannot read its spool");
		judge_remedy(r, "journalctl -u reeve-agent -p err -n 20");
		return;
	}
	if (a->spool_bytes > a->spool_max_bytes / 2) {
		judge_add(r, "spool", JUDGE_WARN,
			  "%" PRId64 " of %" PRId64 " bytes of reports wait for the controller",
			  a->spool_bytes, a->spool_max_bytes);
		judge_remedy(r, "let the agent reach its controller, or raise SpoolMax= in "
				"agent.conf");
	} else {
		judge_add(r, "spool", JUDGE_OK,
			  "%" PRId64 " of %" PRId64 " bytes of reports wait for the controller",
			  a->spool_bytes, a->spool_max_bytes);
	}
}

/* ---- cgroups ---- */

/* Controllers that jobs are held by; "io" is only measured. */
static const struct {
	const char *name, *loses;
	enum judge_state state;
} controllers[] = {
	{ "cpuset", "jobs are not held to their cores", JUDGE_FAIL },
	{ "cpu", "the CPU time of jobs is not counted", JUDGE_FAIL },
	{ "memory", "jobs are not held to their memory", JUDGE_FAIL },
	{ "pids", "jobs are not held to their number of processes", JUDGE_FAIL },
	{ "io", "reads and writes of jobs are not counted", JUDGE_WARN },
};

static void judge_controllers(struct judge_report *r, const struct judge_cgroup *c)
{
	for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++) {
		const char *name = controllers[i].name;

		if (!is_word_in(c->controllers, name)) {
			judge_add(r, "cgroup", controllers[i].state,
				  "%s has no controller %s: %s", c->mount, name,
				  controllers[i].loses);
			judge_remedy(r, strcmp(name, "memory")
						? "boot without cgroup_disable= and without "
						  "version 1 mounts of it"
						: "boot with cgroup_enable=memory");
		} else if (*c->slice && !is_word_in(c->slice_controllers, name) &&
			   strcmp(name, "cpuset") != 0) {
			/* systemd passes cpuset on with the first unit that has AllowedCPUs=. */
			judge_add(r, "cgroup", controllers[i].state,
				  "%s has no controller %s: %s", c->slice, name,
				  controllers[i].loses);
			judge_remedy(r,
				     "systemctl revert reeve.slice; systemctl daemon-reload; "
				     "systemctl restart reeve-agent");
		}
	}
}

void judge_cgroup(struct judge_report *r, const struct judge_cgroup *c)
{
	size_t before = r->n;

	if (!c->is_v2) {
		judge_add(r, "cgroup", JUDGE_FAIL, "%s is no cgroup version 2 mount%s",
			  c->mount, c->is_hybrid ? ": version 1 controllers are mounted" : "");
		judge_remedy(r, "boot with systemd.unified_cgroup_hierarchy=1");
		return;
	}
	judge_controllers(r, c);
	if (r->n == before)
		judge_add(r, "cgroup", JUDGE_OK, "cgroup version 2 with %s%s%s", c->controllers,
			  *c->slice ? "; jobs are below " : "", c->slice);
}

/* ---- project quotas ---- */

static void suggest_quota(struct judge_report *r, const struct judge_quota *q)
{
	const char *device = *q->device ? q->device : "DEVICE";

	if (!strcmp(q->type, "xfs"))
		judge_remedy(
			r, "add pquota to its mount options in /etc/fstab; umount %s; mount %s",
			q->dir, q->dir);
	else if (!strcmp(q->type, "ext4"))
		judge_remedy(r,
			     "umount %s; tune2fs -O quota,project -Q prjquota %s; add prjquota "
			     "to its mount options in /etc/fstab; mount %s",
			     q->dir, device, q->dir);
	else
		judge_remedy(
			r,
			"mkfs.ext4 -O quota,project DEVICE; mount -o prjquota DEVICE %s; or "
			"set JobfsImage= in agent.conf",
			q->dir);
}

void judge_quota(struct judge_report *r, const struct judge_quota *q)
{
	if (q->is_none) {
		judge_add(r, "quota", JUDGE_WARN,
			  "Jobfs = none: jobs may fill %s, and what they use is not measured",
			  q->dir);
		judge_remedy(r,
			     "give %s a file system with project quotas and remove Jobfs= "
			     "from agent.conf",
			     q->dir);
	} else if (*q->why) {
		judge_add(r, "quota", JUDGE_UNCHECKED, "project quotas were not tested: %s",
			  q->why);
	} else if (!q->was_set) {
		judge_add(r, "quota", JUDGE_FAIL,
			  "%s (%s) takes no project and limit: %s; jobs are not held to their "
			  "jobfs",
			  q->dir, *q->type ? q->type : "unknown file system", q->words);
		suggest_quota(r, q);
	} else if (!q->was_stopped) {
		judge_add(r, "quota", JUDGE_FAIL,
			  "%s (%s): a file of a project with a limit of %" PRId64
			  " bytes grew to %" PRId64 ": project quotas are not enforced",
			  q->dir, q->type, q->limit_bytes, q->written_bytes);
		suggest_quota(r, q);
	} else {
		judge_add(r, "quota", JUDGE_OK,
			  "%s (%s): a file was stopped at the limit of its project, %" PRId64
			  " bytes",
			  q->dir, *q->type ? q->type : "unknown", q->limit_bytes);
	}
}
