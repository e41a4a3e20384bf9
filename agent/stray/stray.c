/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stray.c - looks for processes outside every job, in turns; see stray.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/job/job.h"
#include "agent/stray/rule.h"
#include "agent/stray/stray.h"
#include "common/log.h"
#include "common/time_units.h"

#define WATCH_AFTER_S 60
#define NOTE_MS 2000 /* between turns */
#define KILL_MS 500  /* with StrayProcesses = kill */
#define SOON_MS 20   /* after a turn that left something */
#define ACCURACY_US 50000
#define USERS_MAX 4096 /* watched */
#define SLICES_A_TURN 64
#define ENTRIES_A_TURN 512   /* of /proc: one stat(2) each */
#define PROCESSES_A_TURN 128 /* whose cgroup is read */
#define UNITS_LISTED 64	     /* of a user's slice: two for a login */
#define OTHER_AGE_S 10	     /* a daemon that acts as a user for so long */
#define UNITS_MAX 6	     /* named of one user */
#define NOTE_BEGIN "stray: "

struct watched {
	uint32_t uid;
	bool is_exempt;
	int64_t until_ns; /* CLOCK_BOOTTIME */
	char name[REQUEST_NAME_MAX];
	char units[UNITS_MAX][STRAY_UNIT_MAX]; /* that were named */
	unsigned n_units;
};

struct stray {
	struct node *node;
	sd_event_source *timer;
	struct watched *users;
	size_t n_users, next_user; /* next_user: whose slice is looked at next */
	DIR *proc;		   /* NULL: at its beginning */
	char own[MANAGER_PATH_MAX];
	unsigned n_left; /* processes that this turn may still look at */
	bool has_more;	 /* this turn killed as many of cron's as it may */
};

static bool is_killing(const struct stray *s)
{
	return s->node->conf->stray == CONFIG_STRAY_KILL;
}

/* ---- who is watched ---- */

static struct watched *find_watched(struct stray *s, uint32_t uid)
{
	for (size_t i = 0; i < s->n_users; i++)
		if (s->users[i].uid == uid)
			return &s->users[i];
	return NULL;
}

/* NULL: no memory, or too many. */
static struct watched *add_watched(struct stray *s, const struct request *q)
{
	struct watched *more;

	if (s->n_users >= USERS_MAX)
		return NULL;
	more = reallocarray(s->users, s->n_users + 1, sizeof(*more));
	if (!more)
		return NULL;
	s->users = more;
	more += s->n_users++;
	*more = (struct watched){ .uid = q->uid,
				  .is_exempt = users_is_stray_exempt(&s->node->users, q->uid) };
	snprintf(more->name, sizeof(more->name), "%s", q->user);
	return more;
}

/* Once nothing is named any more, the node's note goes. */
static void drop_watched(struct stray *s, size_t i)
{
	s->users[i] = s->users[--s->n_users];
	for (size_t k = 0; k < s->n_users; k++)
		if (s->users[k].n_units)
			return;
	node_unnote(s->node, NOTE_BEGIN);
}

static void update_watched(struct stray *s)
{
	int64_t now = node_now_ns();

	for (const struct job *j = s->node->jobs; j; j = j->next) {
		uint32_t uid = j->s.request.uid;
		struct watched *u;

		if (job_has_ended(j) || uid < s->node->users.min_uid)
			continue;
		u = find_watched(s, uid);
		if (!u)
			u = add_watched(s, &j->s.request);
		if (u)
			u->until_ns = now + WATCH_AFTER_S * S_NS;
	}
	for (size_t i = s->n_users; i-- > 0;)
		if (s->users[i].until_ns <= now)
			drop_watched(s, i);
}

/* ---- found processes ---- */

/* The record of the user's jobs names it, unless they have another note. */
static void note_jobs(struct stray *s, const struct watched *u, const char *unit)
{
	for (struct job *j = s->node->jobs; j; j = j->next)
		if (j->s.request.uid == u->uid && j->phase == PHASE_RUNNING && !j->s.note)
			job_note(j, "%s had processes outside every job on node %s: %s%s",
				 u->name, s->node->conf->node, unit,
				 is_killing(s) ? "; they were killed" : "");
}

/* One line a user and unit, however often something is found there. All users see the node's note, so it names none. */
static void name_stray(struct stray *s, struct watched *u, const char *unit)
{
	note_jobs(s, u, unit);
	for (unsigned i = 0; i < u->n_units; i++)
		if (!strcmp(u->units[i], unit))
			return;
	if (u->n_units == UNITS_MAX)
		return;
	strcpy(u->units[u->n_units++], unit);
	log_line(LOG_NOTICE,
		 NOTE_BEGIN "user %s (uid %" PRIu32 ") has processes outside every job: %s%s",
		 u->name, u->uid, unit, is_killing(s) ? "; they are killed" : "");
	node_note(s->node, NOTE_BEGIN
		  "users of jobs have processes outside every job; reeve admin doctor "
		  "names them to root");
}

bool stray_describe(const struct stray *s, size_t i, char buf[static STRAY_TEXT_MAX])
{
	for (size_t k = 0; k < s->n_users; k++) {
		const struct watched *u = &s->users[k];
		int n;

		if (!u->n_units || i-- > 0)
			continue;
		n = snprintf(buf, STRAY_TEXT_MAX,
			     NOTE_BEGIN "user %s (uid %" PRIu32
					") has processes outside every job:",
			     u->name, u->uid);
		for (unsigned m = 0; m < u->n_units && n < STRAY_TEXT_MAX; m++)
			n += snprintf(buf + n, (size_t)(STRAY_TEXT_MAX - n), " %s",
				      u->units[m]);
		if (is_killing(s) && n < STRAY_TEXT_MAX)
			snprintf(buf + n, (size_t)(STRAY_TEXT_MAX - n), "; they are killed");
		return true;
	}
	return false;
}

/* ---- slices of users ---- */

/* A unit of the user's, with processes. user-runtime-dir@ makes the user's directory, as root. */
static bool has_user_unit(const char *slice, const struct dirent *e)
{
	char path[MANAGER_PATH_MAX + 256];

	if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
	    !strncmp(e->d_name, "user-runtime-dir@", 17))
		return false;
	snprintf(path, sizeof(path), "%s/%s", slice, e->d_name);
	return manager_is_populated(path);
}

/* Units of a user's slice are made by systemd for root: a user cannot add any, but in user@UID.service. Are there some? */
static bool name_units(struct stray *s, struct watched *u, const char *slice)
{
	_cleanup_closedir_ DIR *d = opendir(slice);
	char unit[STRAY_UNIT_MAX];
	struct dirent *e;
	int n = 0;

	while (d && n < UNITS_LISTED && (e = readdir(d))) {
		if (!has_user_unit(slice, e))
			continue;
		stray_unit(e->d_name, unit);
		name_stray(s, u, unit);
		n++;
	}
	return n > 0;
}

/* All of it at once, whatever forks there. The slice has no processes of jobs. */
static void kill_slice(const struct watched *u, const char *slice)
{
	char path[MANAGER_PATH_MAX + 32];
	_cleanup_close_ int fd = -1;
	int r;

	snprintf(path, sizeof(path), "%s/cgroup.kill", slice);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : manager_kill_all(slice, fd);
	if (r < 0 && r != -ENOENT)
		log_line(LOG_WARNING, "stray processes of uid %" PRIu32 ": %s: %s", u->uid,
			 path, strerror(-r));
}

static void look_at_slice(struct stray *s, struct watched *u)
{
	char slice[MANAGER_PATH_MAX];

	snprintf(slice, sizeof(slice), "%s/user.slice/user-%" PRIu32 ".slice", manager_mount(),
		 u->uid);
	if (u->is_exempt || !manager_is_populated(slice))
		return;
	if (name_units(s, u, slice) && is_killing(s))
		kill_slice(u, slice);
}

static void look_at_slices(struct stray *s)
{
	size_t n = s->n_users < SLICES_A_TURN ? s->n_users : SLICES_A_TURN;

	for (size_t i = 0; i < n; i++) {
		s->next_user = s->next_user < s->n_users ? s->next_user : 0;
		look_at_slice(s, &s->users[s->next_user++]);
	}
}

/* ---- single processes ---- */

/* Seconds since it began. 0: it is gone. */
static int64_t age_s(int32_t pid)
{
	char dir[32], text[1024];
	unsigned long long ticks;
	const char *end;

	snprintf(dir, sizeof(dir), "/proc/%" PRId32, pid);
	if (manager_read(dir, "stat", text, sizeof(text), NULL) < 0)
		return 0;
	end = strrchr(text, ')'); /* the command may contain anything */
	/* proc(5): the 22nd field; the third is the first after the command. */
	if (!end || sscanf(end + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d"
			   " %*d %*d %*d %llu",
			   &ticks) != 1)
		return 0;
	return node_now_ns() / S_NS - (int64_t)(ticks / (unsigned long)sysconf(_SC_CLK_TCK));
}

static bool is_stray(const struct stray *s, uint32_t uid, int32_t pid, struct stray_place *ret)
{
	const struct node *n = s->node;
	const struct stray_node node = { .mount = manager_mount(),
					 .jobs = n->ops->parent(n->manager),
					 .own = s->own,
					 .exempt = n->conf->stray_exempt_units,
					 .min_uid = n->users.min_uid };
	char path[4300];

	if (manager_cgroup_of(pid, path, sizeof(path), NULL) < 0)
		return false;
	*ret = stray_rule(&node, uid, path);
	if (ret->kind != STRAY_OTHER)
		return ret->kind != STRAY_NONE;
	return age_s(pid) >= OTHER_AGE_S &&
	       !(ret->owner && users_is_stray_exempt(&n->users, ret->owner));
}

/* The owner of the directory is the effective uid, also of a process that cannot be dumped. */
static bool read_uid(int32_t pid, uint32_t *ret)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%" PRId32, pid);
	if (stat(path, &st) < 0)
		return false;
	*ret = st.st_uid;
	return true;
}

/* The pidfd is opened first: facts of the id that are read afterwards hold for the process behind it, or that is gone. */
static void look_at_process(struct stray *s, int32_t pid)
{
	_cleanup_close_ int fd = -1;
	struct stray_place place;
	struct watched *u;
	uint32_t uid;

	if (!read_uid(pid, &uid) || !(u = find_watched(s, uid)) || u->is_exempt)
		return;
	s->n_left--;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 || !read_uid(pid, &uid) || uid != u->uid || !is_stray(s, uid, pid, &place))
		return;
	name_stray(s, u, place.unit);
	if (is_killing(s) && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 &&
	    errno != ESRCH)
		log_line(LOG_WARNING, "stray process %" PRId32 " of uid %" PRIu32 ": %m", pid,
			 uid);
}

/* What cron, at and sshd have started is looked at in each turn, from the beginning: those that were killed are gone. */
static void look_at_later(struct stray *s)
{
	for (const char *const *unit = stray_later_units; *unit && s->n_left; unit++) {
		_cleanup_fclose_ FILE *f = NULL;
		char path[MANAGER_PATH_MAX];
		int32_t pid;

		snprintf(path, sizeof(path), "%s/system.slice/%s/cgroup.procs", manager_mount(),
			 *unit);
		f = fopen(path, "re");
		for (int i = 0;
		     f && i < ENTRIES_A_TURN && s->n_left && fscanf(f, "%" SCNd32, &pid) == 1;
		     i++)
			look_at_process(s, pid);
	}
	s->has_more = is_killing(s) && !s->n_left;
}

static void look_at_proc(struct stray *s)
{
	struct dirent *e;

	if (!s->proc)
		s->proc = opendir("/proc");
	for (int i = 0; s->proc && i < ENTRIES_A_TURN && s->n_left; i++) {
		e = readdir(s->proc);
		if (e && e->d_name[0] >= '1' && e->d_name[0] <= '9')
			look_at_process(s, (int32_t)atoi(e->d_name));
		if (!e) {
			closedir(s->proc);
			s->proc = NULL;
		}
	}
}

/* ---- turns ---- */

static void forget_watched(struct stray *s)
{
	while (s->n_users)
		drop_watched(s, s->n_users - 1);
}

static int on_turn(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct stray *s = userdata;
	unsigned delay_ms = is_killing(s) ? KILL_MS : NOTE_MS;
	int r;

	(void)usec;
	if (s->node->conf->stray == CONFIG_STRAY_IGNORE)
		forget_watched(s);
	else
		update_watched(s);
	s->n_left = PROCESSES_A_TURN;
	s->has_more = false;
	if (s->n_users) {
		look_at_slices(s);
		look_at_later(s);
		look_at_proc(s);
	}
	if (s->has_more)
		delay_ms = SOON_MS;
	r = sd_event_source_set_time_relative(source, delay_ms * UINT64_C(1000));
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int stray_open(struct node *n, struct stray **ret, struct err *err)
{
	struct stray *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->node = n;
	if (manager_cgroup_of(getpid(), s->own, sizeof(s->own), err) < 0)
		s->own[0] = '\0';
	r = sd_event_add_time_relative(n->event, &s->timer, CLOCK_BOOTTIME, 0, ACCURACY_US,
				       on_turn, s);
	if (r < 0) {
		stray_close(s);
		return err_set(err, r, "event loop: %s", strerror(-r));
	}
	*ret = s;
	return 0;
}

struct stray *stray_close(struct stray *s)
{
	if (!s)
		return NULL;
	sd_event_source_disable_unref(s->timer);
	if (s->proc)
		closedir(s->proc);
	free(s->users);
	free(s);
	return NULL;
}

void stray_reload(struct stray *s)
{
	forget_watched(s);
}
