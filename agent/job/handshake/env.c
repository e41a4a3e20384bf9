/* SPDX-License-Identifier: GPL-2.0-or-later */
/* env.c - build the environment of a job's program; see handshake/env.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/handshake/env.h"
#include "agent/job/gpus/env.h"
#include "agent/job/handshake/hosts.h"

#define NODELIST_MAX                                                                           \
	100000 /* the kernel takes no variable of 128 KiB; the files have them all */

struct list {
	char **at;
	size_t n, room;
	bool failed; /* no memory: checked once at the end */
};

/* Becomes the owner of `text`. The list is NULL-terminated after each call. */
static void append_variable(struct list *l, char *text)
{
	if (l->n + 2 > l->room) {
		size_t room = 2 * l->room + 64;
		char **more = realloc(l->at, room * sizeof(*more));

		if (more) {
			l->at = more;
			l->room = room;
		}
	}
	if (!text || l->n + 2 > l->room) {
		free(text);
		l->failed = true;
		return;
	}
	l->at[l->n++] = text;
	l->at[l->n] = NULL;
}

static __attribute__((format(printf, 2, 3))) void add_formatted(struct list *l, const char *fmt,
								...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	append_variable(l, text);
}

char **job_env_free(char **env)
{
	for (char **e = env; e && *e; e++)
		free(*e);
	free(env);
	return NULL;
}

/* The value of the variable; NULL: the environment has none of this name. */
static const char *value_of(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* The PBS names are what scripts written for PBS read. */
static void add_job(struct list *l, const struct job_plan *p)
{
	add_formatted(l, "REEVE_JOB=%" PRId64, p->job);
	add_formatted(l, "PBS_JOBID=%" PRId64, p->job);
	if (p->jobfs) {
		add_formatted(l, "REEVE_JOBFS=%s", p->jobfs);
		add_formatted(l, "PBS_JOBFS=%s", p->jobfs);
		add_formatted(l, "TMPDIR=%s", p->jobfs);
	}
	add_formatted(l, "REEVE_NCPUS=%" PRId64, p->request->res.ncpus);
	add_formatted(l, "PBS_NCPUS=%" PRId64, p->request->res.ncpus);
	add_formatted(l, "REEVE_CPUS=%s", p->cpus);
	add_formatted(l, "REEVE_NODE=%s", p->node);
	add_formatted(l, "REEVE_ATTEMPT=%" PRId32, p->attempt);
}

/* A name without "=" is a variable that the program must not have: add_users() drops it. */
static void add_parts(struct list *l, const struct job_plan *p)
{
	static const char *const names[] = { "REEVE_NODES",    "REEVE_PART",
					     "REEVE_NODELIST", "REEVE_NCPUS_ALL",
					     "REEVE_NODEFILE", "PBS_NODEFILE" };
	const struct job_part *part = &p->request->part;
	_cleanup_free_ char *list = NULL;

	for (size_t i = 0; !part->n && i < ARRAY_LEN(names); i++)
		add_formatted(l, "%s", names[i]);
	if (!part->n)
		return;
	list = job_hosts_names(part);
	add_formatted(l, "REEVE_NODES=%" PRId32, part->n);
	add_formatted(l, "REEVE_PART=%" PRId32, part->index);
	add_formatted(l, "REEVE_NCPUS_ALL=%" PRId64, job_hosts_ncpus(part));
	if (!list)
		l->failed = true;
	else if (strlen(list) > NODELIST_MAX)
		add_formatted(l, "REEVE_NODELIST");
	else
		add_formatted(l, "REEVE_NODELIST=%s", list);
	add_formatted(l, p->dir ? "REEVE_NODEFILE=%s/" JOB_ENV_HOSTFILE : "REEVE_NODEFILE",
		      p->dir);
	add_formatted(l, p->dir ? "PBS_NODEFILE=%s/" JOB_ENV_NODEFILE : "PBS_NODEFILE", p->dir);
}

/* What an MPI must know to start its processes on the job's nodes, by the names that it reads:
 * Open MPI 4 (orterun(1), ompi_info: plm_rsh_agent is split at blanks), MPICH's Hydra (its
 * launcher's program takes no arguments, these come apart). */
struct offer {
	const char *name, *value;
	const char *same_as; /* value NULL: that of this one */
	bool on_one;	     /* to jobs on one node, too */
};
/* Without an ssh on the node Open MPI needs the name of another launch agent even where it uses none: else it ends
 * with "plm_rsh_agent: ssh : rsh ... could not be found". */
static const struct offer offers[] = {
	{ "OMPI_MCA_orte_default_hostfile", NULL, "REEVE_NODEFILE", false },
	{ "OMPI_MCA_plm_rsh_agent", "reeve exec --rsh", NULL, true },
	{ "HYDRA_HOST_FILE", NULL, "PBS_NODEFILE", false },
	{ "HYDRA_LAUNCHER", "rsh", NULL, false },
	{ "HYDRA_LAUNCHER_EXEC", "reeve", NULL, false },
	{ "HYDRA_LAUNCHER_EXTRA_ARGS", "exec --rsh", NULL, false },
};

/* What Reeve offers beside the variables in `env`; NULL: nothing, `env` is not that of such a job. */
static const char *value_of_offer(const struct offer *o, char *const *env)
{
	if (!value_of(env, o->on_one ? "REEVE_JOB" : "REEVE_NODEFILE"))
		return NULL;
	return o->value ? o->value : value_of(env, o->same_as);
}

/* Does `variable` have the value that Reeve offered to the job in which this one was submitted? */
static bool is_inherited(char *const *users, const char *variable)
{
	for (size_t i = 0; i < ARRAY_LEN(offers); i++) {
		const char *value = value_of_offer(&offers[i], users);
		size_t n = strlen(offers[i].name);

		if (value && !strncmp(variable, offers[i].name, n) && variable[n] == '=')
			return !strcmp(variable + n + 1, value);
	}
	return false;
}

/* The user's variables, but for those that Reeve sets itself, and those that Reeve once offered to
 * the job from which this one was submitted: they name that job's nodes. */
static void add_users(struct list *l, const struct job_plan *p, char *const *own)
{
	char *const *users = p->request->env;

	for (char *const *e = users; e && *e; e++)
		if (!gpus_env_has(own, *e) && !gpus_env_has(p->gpu_env, *e) &&
		    !is_inherited(users, *e))
			append_variable(l, strdup(*e));
	if (!value_of(l->at, "PATH"))
		add_formatted(l, "PATH=/usr/local/bin:/usr/bin:/bin");
}

/* Offers come after the user's variables: a value that the user chose wins. */
static void add_offers(struct list *l, char *const *own)
{
	for (size_t i = 0; i < ARRAY_LEN(offers); i++) {
		const char *value = value_of_offer(&offers[i], own);

		if (value && !value_of(l->at, offers[i].name))
			add_formatted(l, "%s=%s", offers[i].name, value);
	}
}

static void add_all(struct list *l, char *const *list)
{
	for (; list && *list; list++)
		if (strchr(*list, '='))
			append_variable(l, strdup(*list));
}

char **job_env(const struct job_plan *p)
{
	struct list own = { 0 }, all = { 0 }; /* own: what Reeve sets */

	add_job(&own, p);
	add_parts(&own, p);
	if (!own.failed) {
		add_users(&all, p, own.at);
		add_offers(&all, own.at);
		add_all(&all, own.at);
		add_all(&all, p->gpu_env);
	}
	job_env_free(own.at);
	if (!own.failed && !all.failed)
		return all.at;
	return job_env_free(all.at);
}
