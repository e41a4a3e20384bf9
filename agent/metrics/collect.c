/* SPDX-License-Identifier: GPL-2.0-or-later */
/* collect.c - reads what the metrics show of node, jobs and agent; see metrics/collect.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "agent/job/job.h"
#include "agent/job/phase/start.h"
#include "agent/metrics/collect.h"
#include "common/clock.h"
#include "common/engine.h"
#include "common/version.h"

/* ---- the agent ---- */

static int64_t read_rss(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	long long pages;

	return f && fscanf(f, "%*s %lld", &pages) == 1 ? pages * sysconf(_SC_PAGESIZE)
						       : METRICS_ABSENT;
}

static int64_t cpu_time_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return METRICS_ABSENT;
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * S_NS +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void read_agent(const struct node *n, int64_t *v)
{
	v[METRICS_AGENT_RSS] = read_rss();
	v[METRICS_AGENT_CPU_NS] = cpu_time_ns();
	v[METRICS_AGENT_START_NS] = n->counts.started_ns;
	v[METRICS_SAMPLINGS] = n->counts.samplings;
	v[METRICS_SAMPLING_NS] = n->counts.sampling_ns;
	v[METRICS_STORE_FAILING] = n->is_store_failing;
}

static void read_links(struct node *n, int64_t *v)
{
	struct uplink_status up;
	struct spool_status s;

	if (n->uplink) {
		uplink_get_status(n->uplink, &up);
		v[METRICS_CONTROLLER_UP] = up.up;
		v[METRICS_EXCHANGES] = up.exchanges;
		v[METRICS_EXCHANGES_FAILED] = up.failed;
		if (up.last_ok_ns)
			v[METRICS_EXCHANGE_AGE_NS] = node_now_ns() - up.last_ok_ns;
	}
	if (spool_get_status(n->spool, &s, NULL) < 0)
		return;
	v[METRICS_SPOOL_REPORTS] = s.reports + s.unsaved;
	v[METRICS_SPOOL_FINAL] = s.final;
	v[METRICS_SPOOL_BYTES] = s.bytes;
	v[METRICS_SPOOL_MAX] = s.max_bytes;
	v[METRICS_REPORT_LAG_NS] = s.oldest_ns ? node_realtime_ns() - s.oldest_ns : 0;
	if (v[METRICS_REPORT_LAG_NS] < 0) /* the clock was set back */
		v[METRICS_REPORT_LAG_NS] = 0;
}

/* ---- the node ---- */

static void read_capacity(struct node *n, int64_t *v)
{
	_cleanup_free_ struct admit_allocation *held = NULL;
	struct admit_node node = { .capacity = n->capacity };
	const struct admit_capacity *all = &n->capacity;
	struct admit_capacity left;

	v[METRICS_CORES] = all->ncpus;
	v[METRICS_MEMORY] = all->mem_bytes;
	v[METRICS_JOBFS] = all->jobfs_bytes;
	v[METRICS_GPUS] = all->ngpus;
	v[METRICS_GPUS_DRAINED] = __builtin_popcountll(n->gpus_drained);
	v[METRICS_TIER] = node_tier(n);
	v[METRICS_NOTES] = n->n_notes;
	v[METRICS_CPU_NS] = n->counts.cpu_ns;
	if (job_list_allocations(n, NULL, &held, &node.n_allocations) < 0)
		return;
	node.allocations = held;
	admit_free(&node, &left);
	v[METRICS_CORES_HELD] = all->ncpus - left.ncpus;
	v[METRICS_MEMORY_HELD] = all->mem_bytes - left.mem_bytes;
	v[METRICS_JOBFS_HELD] = all->jobfs_bytes - left.jobfs_bytes;
	v[METRICS_GPUS_HELD] = all->ngpus - left.ngpus;
}

/* ---- jobs ---- */

static int64_t value_of(const struct usage *u, const int64_t *field)
{
	return usage_has(u, field) ? *field : METRICS_ABSENT;
}

static int64_t requested_of(int64_t amount)
{
	return amount > 0 ? amount : METRICS_ABSENT;
}

static void read_request(const struct job *j, int64_t running_ns, int64_t *v)
{
	const struct resources *res = &j->s.request.res;

	v[METRICS_JOB_CORES] = requested_of(res->ncpus);
	v[METRICS_JOB_CPU_REQUESTED_NS] = METRICS_ABSENT;
	if (__builtin_mul_overflow(running_ns, res->ncpus, &v[METRICS_JOB_CPU_REQUESTED_NS]))
		v[METRICS_JOB_CPU_REQUESTED_NS] = INT64_MAX;
	v[METRICS_JOB_MEM_REQUESTED] =
		requested_of(j->s.mem_max_bytes ? j->s.mem_max_bytes : res->mem_bytes);
	v[METRICS_JOB_VMEM_REQUESTED] = requested_of(res->vmem_bytes);
	v[METRICS_JOB_JOBFS_REQUESTED] = requested_of(res->jobfs_bytes);
	v[METRICS_JOB_GPUS] = res->ngpus;
	v[METRICS_JOB_RUNNING_NS] = running_ns;
	if (__builtin_mul_overflow(res->walltime_s, S_NS, &v[METRICS_JOB_WALLTIME_NS]) ||
	    res->walltime_s <= 0)
		v[METRICS_JOB_WALLTIME_NS] = METRICS_ABSENT;
}

static void read_usage(const struct usage *u, int64_t *v)
{
	v[METRICS_JOB_CPU_NS] = value_of(u, &u->cpu_ns);
	v[METRICS_JOB_MEM] = value_of(u, &u->mem_bytes);
	v[METRICS_JOB_MEM_PEAK] = value_of(u, &u->mem_peak_bytes);
	v[METRICS_JOB_RSS] = value_of(u, &u->rss_bytes);
	v[METRICS_JOB_VMEM] = value_of(u, &u->vmem_bytes);
	v[METRICS_JOB_VMEM_PEAK] = value_of(u, &u->vmem_peak_bytes);
	v[METRICS_JOB_JOBFS] = value_of(u, &u->jobfs_bytes);
	v[METRICS_JOB_GPU_BUSY_NS] = value_of(u, &u->gpu_busy_ns);
}

static int64_t running_of(const struct job *j)
{
	return j->clock.start_ns ? clock_running_ns(&j->clock, node_now_ns())
				 : j->s.clock.running_ns;
}

static void add_used(int64_t *sum, int64_t value)
{
	if (value > 0 && __builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static void add_usage(const struct usage *u, int64_t *v)
{
	add_used(&v[METRICS_MEMORY_USED], value_of(u, &u->mem_bytes));
	add_used(&v[METRICS_VMEM_USED], value_of(u, &u->vmem_bytes));
	add_used(&v[METRICS_JOBFS_USED], value_of(u, &u->jobfs_bytes));
}

/* Jobs that have not ended: their sums into the view, and of the first ones series of their own into `list`. */
static void read_jobs(struct node *n, struct metrics_view *view, struct metrics_job *list,
		      size_t room)
{
	struct usage u;

	view->jobs = list;
	for (struct job *j = n->jobs; j; j = j->next) {
		struct metrics_job *to = &list[view->n_jobs];

		view->states[job_state(j)]++;
		if (job_has_ended(j))
			continue;
		state_usage_get(&j->s, &u);
		add_usage(&u, view->value);
		if (view->n_jobs == room) {
			view->value[METRICS_JOBS_UNLISTED] += room > 0;
			continue;
		}
		view->n_jobs++;
		to->job = j->s.job;
		to->attempt = j->s.attempt;
		to->user = j->s.request.user;
		to->account = j->s.request.account;
		read_request(j, running_of(j), to->value);
		read_usage(&u, to->value);
	}
}

static void fill_view(struct node *n, struct metrics_view *v)
{
	*v = (struct metrics_view){ .node = n->conf->node,
				    .node_type = n->conf->node_type,
				    .engine = engine_words[n->conf->engine],
				    .version = REEVE_VERSION };
	for (int i = 0; i < _METRICS_NODE_MAX; i++)
		v->value[i] = METRICS_ABSENT;
	v->value[METRICS_MEMORY_USED] = v->value[METRICS_VMEM_USED] = 0;
	v->value[METRICS_JOBFS_USED] = v->value[METRICS_JOBS_UNLISTED] = 0;
	memcpy(v->ended, n->counts.ended, sizeof(v->ended));
	memcpy(v->killed, n->counts.killed, sizeof(v->killed));
	read_agent(n, v->value);
	read_links(n, v->value);
	read_capacity(n, v->value);
}

int metrics_collect(struct node *n, struct metrics_form form, char **ret, size_t *ret_size)
{
	size_t room = !form.has_jobs		     ? 0
		      : n->n_jobs < METRICS_JOBS_MAX ? n->n_jobs
						     : METRICS_JOBS_MAX;
	_cleanup_free_ struct metrics_job *list = calloc(room + 1, sizeof(*list));
	struct metrics_text t = { NULL, form.is_openmetrics };
	struct metrics_view view;
	char *text = NULL;

	if (!list)
		return -ENOMEM;
	fill_view(n, &view);
	read_jobs(n, &view, list, room);
	t.f = open_memstream(&text, ret_size);
	if (!t.f)
		return -ENOMEM;
	metrics_page_write(&view, &t);
	if (fclose(t.f) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}
