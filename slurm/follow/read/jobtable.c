/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobtable.c - loads slurmctld's jobs and measures what that takes of slurmctld's time; see jobtable.h. */
#include <errno.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "slurm/follow/read/jobtable.h"
#include "slurm/follow/read/pace.h"

struct jobtable {
	job_info_msg_t *jobs; /* NULL: slurmctld has not answered yet */
	int64_t clock_s;      /* slurmctld's clock minus ours */
	int64_t asked_ns;     /* CLOCK_MONOTONIC of the last answer */
	int64_t began_ns;     /* and of its question */
	int64_t rest_ns;      /* after it */
	struct pace pace;
	char *pid_file; /* slurmctld's, where it may run on this host; NULL: not known yet */
};

/* Readings of three clocks before a question. */
struct stopwatch {
	int64_t wall_ns, own_ns;
	int64_t slurmctld_ns; /* CPU time of all its threads; 0: it does not run on this host */
};

int jobtable_open(struct jobtable **ret, struct err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

struct jobtable *jobtable_close(struct jobtable *t)
{
	if (!t)
		return NULL;
	slurm_free_job_info_msg(t->jobs);
	free(t->pid_file);
	free(t);
	return NULL;
}

const job_info_msg_t *jobtable_jobs(const struct jobtable *t)
{
	return t->jobs;
}

int64_t jobtable_at_s(const struct jobtable *t)
{
	return time(NULL) - (clock_ns(CLOCK_MONOTONIC) - t->asked_ns) / S_NS + t->clock_s;
}

int64_t jobtable_asked_ns(const struct jobtable *t)
{
	return t->asked_ns;
}

int64_t jobtable_began_ns(const struct jobtable *t)
{
	return t->began_ns;
}

int64_t jobtable_rest_s(const struct jobtable *t)
{
	int64_t left_ns = t->asked_ns + t->rest_ns - clock_ns(CLOCK_MONOTONIC);

	return t->jobs && left_ns > 0 ? (left_ns + S_NS - 1) / S_NS : 0;
}

/* ---- what a question takes ---- */

/* The file's place is slurmctld's own configuration: asked for once. */
static void find_pid_file(struct jobtable *t)
{
	slurm_conf_t *conf = NULL;

	if (t->pid_file || slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
		return;
	t->pid_file = strdup(conf->slurmctld_pidfile ? conf->slurmctld_pidfile : "");
	slurm_free_ctl_conf(conf);
}

/* A process id that was left by one that is gone may be another program's. */
static bool is_slurmctld(int pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[32], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	return f && fgets(name, sizeof(name), f) && !strcmp(name, "slurmctld\n");
}

static int64_t read_slurmctld_clock(const char *pid_file)
{
	_cleanup_fclose_ FILE *f = pid_file && *pid_file ? fopen(pid_file, "re") : NULL;
	clockid_t clock;
	int pid = 0;

	if (!f || fscanf(f, "%d", &pid) != 1 || pid <= 0 || !is_slurmctld(pid) ||
	    clock_getcpuclockid(pid, &clock) != 0)
		return 0;
	return clock_ns(clock);
}

static struct stopwatch start_stopwatch(const struct jobtable *t)
{
	return (struct stopwatch){ .wall_ns = clock_ns(CLOCK_MONOTONIC),
				   .own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
				   .slurmctld_ns = read_slurmctld_clock(t->pid_file) };
}

/* At most: the time that was waited includes slurmctld's locks, and its CPU time that of its other threads. */
static int64_t read_cost_ns(const struct jobtable *t, const struct stopwatch *from)
{
	struct stopwatch to = start_stopwatch(t);
	int64_t waited_ns = to.wall_ns - from->wall_ns - (to.own_ns - from->own_ns);
	int64_t cpu_ns = to.slurmctld_ns - from->slurmctld_ns;

	if (from->slurmctld_ns && to.slurmctld_ns && cpu_ns > 0 && cpu_ns < waited_ns)
		return cpu_ns;
	return waited_ns > 0 ? waited_ns : 0;
}

static void note_rest(struct jobtable *t, const struct follow_config *c, int64_t cost_ns)
{
	const struct pace_limit limit = { c->load_limit_ms, c->live_max_s };
	bool had_more = t->rest_ns > c->live_s * S_NS, has_more;
	int64_t ms;

	pace_note(&t->pace, cost_ns, t->jobs->record_count);
	t->rest_ns = pace_rest_ns(&t->pace, t->jobs->record_count, &limit);
	ms = pace_cost_ns(&t->pace, t->jobs->record_count) / MS_NS;
	has_more = t->rest_ns > c->live_s * S_NS;
	log_line(LOG_DEBUG, "slurmctld: %u jobs in %lld ms of its time; %lld s of rest",
		 t->jobs->record_count, (long long)ms, (long long)(t->rest_ns / S_NS));
	if (has_more != had_more)
		log_line(
			LOG_NOTICE,
			"a question to slurmctld takes %lld ms of its time, with %u jobs: it is asked "
			"each %lld s (LiveInterval=%lld, LoadLimit=%lld ms a second)",
			(long long)ms, t->jobs->record_count,
			(long long)(has_more ? t->rest_ns / S_NS : c->live_s),
			(long long)c->live_s, (long long)c->load_limit_ms);
}

/* ---- questions ---- */

/* t->jobs becomes slurmctld's present answer, or stays where nothing has changed since. 1: it is another. */
static int load_jobs(struct jobtable *t, struct err *err)
{
	job_info_msg_t *jobs = NULL;
	time_t since = t->jobs ? t->jobs->last_update : 0;

	errno = 0;
	if (slurm_load_jobs(since, &jobs, SHOW_ALL | SHOW_LOCAL) == SLURM_SUCCESS) {
		slurm_free_job_info_msg(t->jobs);
		t->jobs = jobs;
		t->clock_s = jobs->last_update - time(NULL);
		return 1;
	}
	if (errno == SLURM_NO_CHANGE_IN_DATA && t->jobs)
		return 0;
	return err_set(err, -EHOSTUNREACH, "slurmctld does not answer: %s",
		       slurm_strerror(errno));
}

int jobtable_refresh(struct follow *f, int64_t max_age_s, struct err *err)
{
	struct jobtable *t = f->jobtable;
	int64_t age_ns = clock_ns(CLOCK_MONOTONIC) - t->asked_ns;
	struct stopwatch from;
	int r;

	if (t->jobs && (age_ns < max_age_s * S_NS || age_ns < t->rest_ns))
		return 0;
	find_pid_file(t);
	from = start_stopwatch(t);
	r = load_jobs(t, err);
	if (r < 0)
		return r;
	t->asked_ns = clock_ns(CLOCK_MONOTONIC);
	t->began_ns = from.wall_ns;
	if (r)
		note_rest(t, &f->config, read_cost_ns(t, &from));
	else
		t->rest_ns = 0;
	return 0;
}
