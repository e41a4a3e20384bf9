/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host.c - see host.h. */
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/enforce/manager/cgroup/supervisor.h"
#include "common/cleanup.h"
#include "tests/node/manager/host.h"

/* A controller that is missing must be missing in the manager's status too: a skip without such
 * a line is a failure. */
const char *host_why_without(struct world *w, const char *file)
{
	static char words[256];
	const char *parent = w->ops->parent(w->m), *line = w->ops->status(w->m), *end;
	char path[MANAGER_PATH_MAX + 64];
	size_t n = strcspn(file, ".");

	snprintf(path, sizeof(path), "%s/%s", parent, file);
	if (access(path, F_OK) == 0)
		return "";
	for (; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		snprintf(words, sizeof(words), "%.*s", (int)(end - line), line);
		for (const char *at = words; (at = strchr(at, ' ')); at++)
			if (!strncmp(at + 1, file, n))
				return words;
	}
	ok(false, "%s is missing, and the status does not show it", file);
	return "the status does not say why";
}

const char *host_groups(struct world *w)
{
	static char text[2048];
	char list[1024] = "";
	gid_t groups[64] = { w->gid };
	struct passwd *pw = getpwuid(w->uid);
	int n = pw ? 64 : 1;

	if (pw && getgrouplist(pw->pw_name, w->gid, groups, &n) < 0)
		return "groups: too many";
	for (int i = 0; i < n; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %u", groups[i]);
	snprintf(text, sizeof(text), "groups%s of%s\n", list, list);
	return text;
}

bool host_leave(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

void host_note_lines(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		note("not held here: %.*s", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static void spec_of(struct world *w, struct manager_id id, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%" PRId64 "-%" PRId32, w->spec_dir, id.job, id.attempt);
}

static bool is_in_job(struct world *w, pid_t pid)
{
	struct manager_id id;

	return manager_find(w->ops->parent(w->m), pid, &id, NULL) == 0;
}

static void test_supervisor_killed(struct world *w)
{
	struct manager_id id = run(w, "sleep 1; echo ended; exit 2");
	struct final f = { 0 };
	char file[300];
	pid_t pid;

	spec_of(w, id, file, sizeof(file));
	pid = supervisor_find(file);
	ok(pid > 1 && !is_in_job(w, pid), "the supervisor (%d) is not in the job's cgroup",
	   pid);
	ok(kill(pid, SIGKILL) == 0 && says(w, id, "ended"),
	   "the supervisor is killed: the job goes on to its end");
	ok(until(w, 20, is_gone, id) && count_gone(w, id) == 1 && is_swept(w, id),
	   "its end is seen, nothing is left");
	ok(final_load(w->final_dir, id.job, id.attempt, &f, NULL) == 0 &&
		   !strcmp(f.code, "unknown") && f.usage.cpu_ns > 0,
	   "the record has the counters, and says that the status is not known (%s)", f.code);
	clear(w, id);
}

/* Frozen, its recorder could not run. */
static void test_supervisor_killed_frozen(struct world *w)
{
	struct manager_id id = run(w, "while :; do sleep 0.05; done");
	char file[300];

	spec_of(w, id, file, sizeof(file));
	w->ops->freeze(w->m, id, NULL);
	ok(answer_to(w, id, MANAGER_FREEZE) == 0 && kill(supervisor_find(file), SIGKILL) == 0,
	   "the supervisor of a frozen job is killed");
	ok(w->ops->signal(w->m, id, SIGKILL, NULL) == 0 && until(w, 20, is_gone, id) &&
		   has_record(w, id),
	   "the job can be killed, and is recorded");
	clear(w, id);
}

static void test_both_killed(struct world *w)
{
	struct manager_id id = run(w, "echo begun; sleep 0.5; exit 2");
	char file[300];

	says(w, id, "begun");
	spec_of(w, id, file, sizeof(file));
	manager_let_go(w);
	kill(supervisor_find(file), SIGKILL);
	for_ms(w, 1000);
	manager_start_up(w);
	ok(until(w, 20, is_gone, id) && has_record(w, id) && is_swept(w, id),
	   "supervisor killed, job ended, agent away: recorded when it comes back");
	clear(w, id);
}

static void test_half_started(struct world *w)
{
	struct manager_spec s = world_spec(w);
	struct supervisor_groups groups = { .at_ns = 0 };
	struct supervisor_spec spec = { &s, &w->config, job_path(w, s.id), &groups };
	char file[300];

	spec_of(w, s.id, file, sizeof(file));
	ok(mkdir(job_path(w, s.id), 0755) == 0 && supervisor_write_spec(file, &spec, NULL) == 0,
	   "an agent died before it started the supervisor");
	manager_let_go(w);
	manager_start_up(w);
	for_ms(w, 200);
	ok(is_swept(w, s.id) && access(file, F_OK) < 0 && !count_gone(w, s.id) &&
		   !has_record(w, s.id),
	   "nothing of it is left, and it does not count as an end");
	w->script = "echo begun; exit 1";
	ok(start(w, &s) && !answer_to(w, s.id, MANAGER_START) && let_through(w, s.id) &&
		   until(w, 20, is_gone, s.id),
	   "it can be started again");
	clear(w, s.id);
}

static void test_refusals(struct world *w)
{
	struct manager_spec s = world_spec(w);
	const char *launcher = w->config.launcher;

	s.uid = 0;
	ok(!start(w, &s) && is_swept(w, s.id), "a job of root is refused, nothing is left");
	s.uid = w->uid;
	manager_let_go(w);
	w->config.launcher = "/nowhere/reeve-launch";
	manager_start_up(w);
	ok(!start(w, &s) && is_swept(w, s.id), "without a launcher no job is started");
	manager_let_go(w);
	w->config.launcher = launcher;
	manager_start_up(w);
	ok(!count_gone(w, s.id), "and none was there to go");
}

void host_test_cgroup_alone(struct world *w)
{
	test_supervisor_killed(w);
	test_supervisor_killed_frozen(w);
	test_both_killed(w);
	test_half_started(w);
	test_refusals(w);
}
