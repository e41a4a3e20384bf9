/* manager_cgroup.c - jobs on hosts whose first process is not systemd; see manager.h.
 *
 * cgroups are made with libcgroup, one level at a time (2.0.2 does not enable controllers on
 * the way down); a supervisor (reeve-launch --supervise) stands above each job and outlives
 * the agent. On a hybrid host the v2 hierarchy has no controllers: what it cannot hold is said.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <libcgroup.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/enforce/manager.h"
#include "common/cleanup.h"

struct done {
	struct done *next;
	struct manager_id id;
	enum manager_order order;
};

struct manager {
	struct manager_config c;
	char parent[MANAGER_PATH_MAX];
	bool is_hybrid; /* libcgroup would silently go to v1: then directories by hand */
	char status[1024];
	struct done *done; /* answers that are due */
	sd_event_source *defer;
};

static int on_defer(sd_event_source *s, void *userdata)
{
	struct manager *m = userdata;
	struct err none = { "" };
	struct done *d;

	(void)s;
	while ((d = m->done)) {
		m->done = d->next;
		m->c.on_done(m->c.ctx, d->id, d->order, 0, &none);
		free(d);
	}
	return 0;
}

/* Answers come from the event loop, as systemd's do. */
static int answer(struct manager *m, struct manager_id id, enum manager_order order,
		  struct err *err)
{
	struct done *d = calloc(1, sizeof(*d)), **at = &m->done;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	*d = (struct done){ .id = id, .order = order };
	while (*at)
		at = &(*at)->next;
	*at = d;
	return sd_event_source_set_enabled(m->defer, SD_EVENT_ONESHOT);
}

static int write_value(const char *dir, const char *file, const char *text, struct err *err)
{
	char path[MANAGER_PATH_MAX + 64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return err_set(err, -errno, "write '%s' to %s: %m", text, path);
	return 0;
}

static int has_file(const char *dir, const char *file)
{
	char path[MANAGER_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return access(path, F_OK) == 0;
}

static int make_by_hand(const char *path, struct err *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make %s: %m", path);
	return 0;
}

/* One level below a cgroup that exists, with all controllers that there are. */
static int make_cgroup(struct manager *m, const char *path, struct err *err)
{
	static const char *const controllers[] = { "cpuset", "cpu", "io", "memory", "pids" };
	const char *below = path + strlen(manager_mount()) + 1;
	struct cgroup *cg;
	char list[256] = "", above[MANAGER_PATH_MAX];
	int r;

	if (m->is_hybrid)
		return make_by_hand(path, err);
	if (access(path, F_OK) == 0)
		return 0;
	cg = cgroup_new_cgroup(below);
	if (!cg)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(above, sizeof(above), "%s", path);
	*strrchr(above, '/') = '\0';
	manager_read(above, "cgroup.controllers", list, sizeof(list), NULL);
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (strstr(list, controllers[i]))
			cgroup_add_controller(cg, controllers[i]);
	r = cgroup_create_cgroup(cg, 1);
	cgroup_free(&cg);
	if (r && access(path, F_OK) < 0)
		return err_set(err, -EIO, "make cgroup %s: %s", path, cgroup_strerror(r));
	return 0;
}

static int set_limit(const char *path, const char *file, int64_t value, struct err *err)
{
	char text[24];

	/* Absent where the host gives no such controller: named in status and in the job. */
	if (!has_file(path, file))
		return 0;
	snprintf(text, sizeof(text), "%" PRId64, value);
	return write_value(path, file, text, err);
}

static int set_set(const char *path, const char *file, const struct cpulist *set,
		   struct err *err)
{
	char text[CPULIST_TEXT_MAX];

	if (!has_file(path, file))
		return 0;
	return write_value(path, file, cpulist_format(set, text, sizeof(text)), err);
}

static int set_limits(const char *path, const struct manager_spec *s, struct err *err)
{
	int r = set_set(path, "cpuset.mems", &s->mem_nodes, err);

	if (!r)
		r = set_set(path, "cpuset.cpus", &s->cpus, err);
	if (!r)
		r = set_limit(path, "memory.max", s->mem_bytes, err);
	if (!r)
		r = set_limit(path, "memory.swap.max", 0, err);
	if (!r)
		r = set_limit(path, "memory.oom.group", 1, err);
	return r ? r : set_limit(path, "pids.max", s->pids, err);
}

static void write_groups(FILE *f, const struct manager_spec *s)
{
	struct passwd *pw = getpwuid(s->uid);
	gid_t groups[256];
	int n = 256;

	if (!pw || getgrouplist(pw->pw_name, s->gid, groups, &n) < 0)
		return;
	for (int i = 0; i < n; i++)
		fprintf(f, "group %u\n", groups[i]);
}

static const char *spec_path(const struct manager *m, struct manager_id id, char *buf,
			     size_t size)
{
	snprintf(buf, size, "%s/%" PRId64 "-%" PRId32, m->c.spec_dir, id.job, id.attempt);
	return buf;
}

static int write_spec(struct manager *m, const struct manager_spec *s, const char *cgroup,
		      struct err *err)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[600];

	f = fopen(spec_path(m, s->id, path, sizeof(path)), "we");
	if (!f)
		return err_set(err, -errno, "write %s: %m", path);
	fprintf(f, "job %" PRId64 "\nattempt %" PRId32 "\nuid %" PRIu32 "\ngid %" PRIu32 "\n",
		s->id.job, s->id.attempt, s->uid, s->gid);
	fprintf(f,
		"cgroup %s\nsocket %s\nfinal %s\ngrace_s %" PRId64 "\nshm_bytes %" PRId64 "\n",
		cgroup, m->c.socket, m->c.final_dir, s->grace_s, s->shm_bytes);
	if (s->jobfs_dir)
		fprintf(f, "tmp %s/tmp\nvar_tmp %s/vartmp\n", s->jobfs_dir, s->jobfs_dir);
	write_groups(f, s);
	if (fflush(f) || ferror(f))
		return err_set(err, -EIO, "write %s: %m", path);
	return 0;
}

/* Twice forked, so that it belongs to nobody and outlives the agent. */
static int spawn_supervisor(struct manager *m, struct manager_id id, struct err *err)
{
	char path[600];
	sigset_t none;
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return err_set(err, -errno, "fork: %m");
	if (pid == 0) {
		setsid();
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (fork() == 0)
			execl(m->c.launcher, "reeve-launch", "--supervise",
			      spec_path(m, id, path, sizeof(path)), (char *)NULL);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int start(struct manager *m, const struct manager_spec *s, struct err *err)
{
	char path[MANAGER_PATH_MAX];
	int r;

	manager_path(m->parent, s->id, path);
	if (access(m->c.launcher, X_OK) < 0)
		return err_set(err, -errno, "%s: %m", m->c.launcher);
	r = make_cgroup(m, path, err);
	if (!r)
		r = set_limits(path, s, err);
	if (!r)
		r = write_spec(m, s, path, err);
	if (!r)
		r = spawn_supervisor(m, s->id, err);
	return r ? r : answer(m, s->id, MANAGER_START, err);
}

static int set_cpus(struct manager *m, struct manager_id id, const struct cpulist *cpus,
		    const struct cpulist *nodes, struct err *err)
{
	char path[MANAGER_PATH_MAX];
	int r;

	manager_path(m->parent, id, path);
	r = set_set(path, "cpuset.mems", nodes, err);
	if (!r)
		r = set_set(path, "cpuset.cpus", cpus, err);
	return r ? r : answer(m, id, MANAGER_SET_CPUS, err);
}

static int set_frozen(struct manager *m, struct manager_id id, enum manager_order order,
		      struct err *err)
{
	char path[MANAGER_PATH_MAX];
	int r;

	manager_path(m->parent, id, path);
	r = write_value(path, "cgroup.freeze", order == MANAGER_FREEZE ? "1" : "0", err);
	return r ? r : answer(m, id, order, err);
}

static int freeze(struct manager *m, struct manager_id id, struct err *err)
{
	return set_frozen(m, id, MANAGER_FREEZE, err);
}

static int thaw(struct manager *m, struct manager_id id, struct err *err)
{
	return set_frozen(m, id, MANAGER_THAW, err);
}

static void signal_procs(const char *dir, int sig)
{
	char path[MANAGER_PATH_MAX + 64];
	_cleanup_fclose_ FILE *f = NULL;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		kill(pid, sig);
}

static int signal_job(struct manager *m, struct manager_id id, int sig, struct err *err)
{
	char path[MANAGER_PATH_MAX], work[MANAGER_PATH_MAX + 8];

	manager_path(m->parent, id, path);
	if (sig == SIGKILL && has_file(path, "cgroup.kill"))
		return write_value(path, "cgroup.kill", "1", err);
	snprintf(work, sizeof(work), "%s/work", path);
	signal_procs(path, sig);
	signal_procs(work, sig);
	return 0;
}

/* libcgroup reports a success as ENOENT here: what counts is that it is gone. */
static int forget(struct manager *m, struct manager_id id, struct err *err)
{
	char path[MANAGER_PATH_MAX], spec[600], work[MANAGER_PATH_MAX + 8];

	manager_path(m->parent, id, path);
	unlink(spec_path(m, id, spec, sizeof(spec)));
	snprintf(work, sizeof(work), "%s/work", path);
	rmdir(work);
	if (!m->is_hybrid) {
		struct cgroup *cg = cgroup_new_cgroup(path + strlen(manager_mount()) + 1);

		if (cg && cgroup_get_cgroup(cg) == 0)
			cgroup_delete_cgroup_ext(cg, CGFLAG_DELETE_RECURSIVE |
							     CGFLAG_DELETE_IGNORE_MIGRATION);
		cgroup_free(&cg);
	}
	if (rmdir(path) < 0 && errno != ENOENT)
		return err_set(err, -errno, "remove %s: %m", path);
	return 0;
}

static int bound(struct manager *m, const struct cpulist *cpus, int64_t mem_bytes,
		 struct err *err)
{
	int r = set_set(m->parent, "cpuset.cpus", cpus, err);

	return r || mem_bytes <= 0 ? r : set_limit(m->parent, "memory.max", mem_bytes, err);
}

static const char *parent(const struct manager *m)
{
	return m->parent;
}

static const char *status(const struct manager *m)
{
	return m->status;
}

static void add_status(struct manager *m, const char *line)
{
	size_t n = strlen(m->status);

	snprintf(m->status + n, sizeof(m->status) - n, "%s%s", n ? "\n" : "", line);
}

static void look_what_is_missing(struct manager *m)
{
	static const struct {
		const char *file, *words;
	} needs[] = {
		{ "cpuset.cpus", "no cpuset controller: jobs are not held to their cores" },
		{ "memory.max", "no memory controller: mem is not held, only vmem" },
		{ "pids.max", "no pids controller: the number of processes is not bounded" },
		{ "cgroup.freeze", "cgroups cannot be frozen: jobs cannot be suspended" },
		{ "cgroup.kill", "no cgroup.kill (before Linux 5.14): ends are not atomic" },
	};

	for (size_t i = 0; i < ARRAY_LEN(needs); i++)
		if (!has_file(m->parent, needs[i].file))
			add_status(m, needs[i].words);
	add_status(m, "device files are fenced by their modes alone");
	add_status(m, "processes of other users are visible to jobs");
}

/* Every level of the parent's path, from the mount down. */
static int make_parent(struct manager *m, struct err *err)
{
	char path[MANAGER_PATH_MAX + 2], *end;
	int r = 0;

	snprintf(path, sizeof(path), "%s/", m->parent);
	for (end = path + strlen(manager_mount()) + 1; !r && (end = strchr(end, '/')); end++) {
		*end = '\0';
		r = make_cgroup(m, path, err);
		if (!r && !m->is_hybrid) /* so that its children have what it has */
			for (const char *c = "cpuset\0cpu\0io\0memory\0pids\0"; *c;
			     c += strlen(c) + 1) {
				char on[16];

				snprintf(on, sizeof(on), "+%s", c);
				write_value(path, "cgroup.subtree_control", on, NULL);
			}
		*end = '/';
	}
	return r;
}

static struct manager *manager_close(struct manager *m)
{
	struct done *d;

	if (!m)
		return NULL;
	while ((d = m->done)) {
		m->done = d->next;
		free(d);
	}
	sd_event_source_disable_unref(m->defer);
	free(m);
	return NULL;
}

static int manager_open(const struct manager_config *c, struct manager **ret, struct err *err)
{
	struct manager *m = calloc(1, sizeof(*m));
	int r = 0;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->c = *c;
	m->is_hybrid = strcmp(manager_mount(), "/sys/fs/cgroup") != 0;
	snprintf(m->parent, sizeof(m->parent), "%s/%s", manager_mount(), c->parent);
	if (!has_file(manager_mount(), "cgroup.procs"))
		r = err_set(err, -EOPNOTSUPP,
			    "no cgroup v2 at /sys/fs/cgroup; mount it: "
			    "mount -t cgroup2 none /sys/fs/cgroup");
	if (!r && !m->is_hybrid && (r = cgroup_init()) != 0)
		r = err_set(err, -EIO, "libcgroup: %s", cgroup_strerror(r));
	if (!r)
		r = make_parent(m, err);
	if (!r)
		r = sd_event_add_defer(c->event, &m->defer, on_defer, m);
	if (r >= 0)
		r = sd_event_source_set_enabled(m->defer, SD_EVENT_OFF);
	if (r < 0) {
		manager_close(m);
		return err_prefix(err, r, "cgroup manager");
	}
	look_what_is_missing(m);
	*ret = m;
	return 0;
}

const struct manager_ops manager_cgroup = {
	.name = "cgroup",
	.open = manager_open,
	.close = manager_close,
	.start = start,
	.set_cpus = set_cpus,
	.freeze = freeze,
	.thaw = thaw,
	.signal = signal_job,
	.forget = forget,
	.bound = bound,
	.parent = parent,
	.status = status,
};
