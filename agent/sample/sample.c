/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.c - measures jobs: by BPF first, from files what BPF does not give here; the status
 * lists what neither gives. See sample.h. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "agent/sample/files.h"
#include "agent/sample/sample.h"
#include "agent/sample/scan.h"
#include "common/cleanup.h"
#include "common/clock.h"

struct entry {
	struct sample_job job;
	char *path;
	struct files *files; /* NULL: none is needed, or not yet opened */
	uint32_t slot;	     /* of the scan */
	uint32_t wanted;     /* enum sample_have bits from the files */
	bool is_settled;     /* `wanted` is decided */
};

struct sampler {
	struct scan *scan; /* NULL: tier 3 */
	struct entry **jobs;
	size_t n_jobs, n_room;
	uint32_t tasks_every, countdown;
	bool has_walked; /* over the tasks */
	char *root;
	char why[512]; /* why there is no scan */
	char status[4096];
};

static const struct {
	const char *name;
	const char *lost; /* its words in the status when it is missing; NULL: left out there */
} bits[SAMPLE_N_HAVE] = {
	{ "cpu", "on-cpu time" },
	{ "cpu-split", "user and system time" },
	{ "cores", "on-cpu time per core" },
	{ "run-delay", "run-queue delay" },
	{ "cpu-pressure", NULL }, /* measured only in place of the run delay */
	{ "mem", "memory in use" },
	{ "mem-peak", "peak of memory in use" },
	{ "mem-parts", "anonymous, file and shared memory" },
	{ "mem-kernel", NULL },
	{ "swap", "swap in use" },
	{ "rss", "resident memory" },
	{ "faults", "page faults" },
	{ "tasks", "number of tasks" },
	{ "tasks-peak", "exact peak of tasks (the highest sampled is given)" },
	{ "procs", "number of processes" },
	{ "io", "block I/O bytes" },
};

int sample_open(const struct sample_config *config, struct sampler **ret, struct err *err)
{
	_cleanup_(sample_closep) struct sampler *s = calloc(1, sizeof(*s));
	struct err why = { "switched off by configuration" };
	struct stat st;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	if (stat(config->root, &st) < 0)
		return err_set(err, -errno, "cgroup root %s: %m", config->root);
	s->root = strdup(config->root);
	if (!s->root)
		return err_set(err, -ENOMEM, "out of memory");
	s->tasks_every = config->tasks_every ? config->tasks_every : 1;
	s->n_room = config->max_jobs ? config->max_jobs : 1024;
	s->jobs = calloc(s->n_room, sizeof(*s->jobs));
	if (!s->jobs)
		return err_set(err, -ENOMEM, "out of memory");
	if (!config->files_only && scan_open(config, &s->scan, &why) < 0)
		s->scan = NULL;
	if (!s->scan)
		snprintf(s->why, sizeof(s->why), "%s", why.text);
	*ret = TAKE_PTR(s);
	return 0;
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	files_close(e->files);
	free(e->path);
	free(e);
}
DEFINE_CLEANUP(struct entry *, entry_free)

struct sampler *sample_close(struct sampler *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_jobs; i++)
		entry_free(s->jobs[i]);
	scan_close(s->scan);
	free(s->jobs);
	free(s->root);
	free(s);
	return NULL;
}

static struct entry *find_entry(const struct sampler *s, uint64_t cgroup_id)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i]->job.cgroup_id == cgroup_id)
			return s->jobs[i];
	return NULL;
}

int sample_add(struct sampler *s, const struct sample_job *job, struct err *err)
{
	_cleanup_(entry_freep) struct entry *e = NULL;
	int r;

	if (find_entry(s, job->cgroup_id))
		return err_set(err, -EEXIST, "job %lld: already sampled", (long long)job->job);
	if (s->n_jobs == s->n_room)
		return err_set(err, -ENOSPC, "job %lld: too many jobs", (long long)job->job);
	if (access(job->path, F_OK) < 0)
		return err_set(err, -errno, "job %lld: cgroup %s: %m", (long long)job->job,
			       job->path);
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->job = *job;
	e->job.path = e->path = strdup(job->path);
	if (!e->path)
		return err_set(err, -ENOMEM, "out of memory");
	r = s->scan ? scan_add(s->scan, job, &e->slot, err) : 0;
	if (r < 0)
		return r;
	s->jobs[s->n_jobs++] = TAKE_PTR(e);
	return 0;
}

void sample_remove(struct sampler *s, uint64_t cgroup_id)
{
	if (s->scan)
		scan_remove(s->scan, cgroup_id);
	for (size_t i = 0; i < s->n_jobs; i++) {
		if (s->jobs[i]->job.cgroup_id != cgroup_id)
			continue;
		entry_free(s->jobs[i]);
		s->n_jobs--;
		memmove(&s->jobs[i], &s->jobs[i + 1], (s->n_jobs - i) * sizeof(struct entry *));
		return;
	}
}

unsigned sample_prune(struct sampler *s)
{
	return s->scan ? scan_prune(s->scan) : 0;
}

/* Opens the files for what the first BPF pass over this job has not given. A job whose run delay
 * is measured needs no pressure file. */
static void open_missing_files(struct entry *e, uint32_t have)
{
	uint32_t want = FILES_CAN & ~have;

	if (have & SAMPLE_RUN_DELAY)
		want &= ~(uint32_t)SAMPLE_CPU_PRESSURE;
	e->is_settled = true;
	e->wanted = want;
	if (want && files_open(e->path, want, &e->files, NULL) < 0)
		e->files = NULL;
}

static void sample_entry(struct sampler *s, struct entry *e, uint64_t boot_ns,
			 struct sample *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->boot_ns = boot_ns;
	ret->job = e->job.job;
	ret->cgroup_id = e->job.cgroup_id;
	if (s->scan)
		scan_read(s->scan, e->slot, ret);
	if (!e->is_settled && !ret->gone)
		open_missing_files(e, ret->have);
	if (e->files)
		files_read(e->files, e->wanted & ~ret->have, ret);
	if (!s->scan && access(e->path, F_OK) < 0)
		ret->gone = true;
}

int sample_all(struct sampler *s, sample_fn fn, void *ctx, struct err *err)
{
	uint64_t at = (uint64_t)clock_ns(CLOCK_BOOTTIME);
	struct sample sample;
	unsigned what = SCAN_CGROUPS;
	int r = 0;

	if (s->countdown == 0) {
		what |= SCAN_TASKS;
		s->countdown = s->tasks_every;
	}
	s->countdown--;
	if (s->scan)
		r = scan_pass(s->scan, NULL, what, err);
	for (size_t i = 0; i < s->n_jobs && r >= 0; i++) {
		if (!s->scan)
			at = (uint64_t)clock_ns(CLOCK_BOOTTIME);
		sample_entry(s, s->jobs[i], at, &sample);
		fn(ctx, &sample);
	}
	return r;
}

static int find_and_sample(struct sampler *s, uint64_t cgroup_id, unsigned what,
			   struct sample *ret, struct err *err)
{
	struct entry *e = find_entry(s, cgroup_id);
	uint64_t at = (uint64_t)clock_ns(CLOCK_BOOTTIME);
	int r = 0;

	if (!e)
		return err_set(err, -ENOENT, "no job in cgroup %llu",
			       (unsigned long long)cgroup_id);
	if (!s->has_walked) /* else open_missing_files() would open files for what BPF gives */
		what |= SCAN_TASKS;
	s->has_walked = true;
	if (s->scan)
		r = scan_pass(s->scan, e->path, what, err);
	if (r < 0)
		return r;
	sample_entry(s, e, at, ret);
	return 0;
}

int sample_one(struct sampler *s, uint64_t cgroup_id, struct sample *ret, struct err *err)
{
	return find_and_sample(s, cgroup_id, SCAN_CGROUPS | SCAN_TASKS, ret, err);
}

int sample_cgroup(struct sampler *s, uint64_t cgroup_id, struct sample *ret, struct err *err)
{
	return find_and_sample(s, cgroup_id, SCAN_CGROUPS, ret, err);
}

int sample_tier(const struct sampler *s)
{
	return s->scan ? 1 : 3;
}

/* Is the figure not measured here? A controller is on if its file is there in a cgroup below the
 * root; the first job's is looked at. */
static bool is_lost(const struct sampler *s, uint32_t bit)
{
	uint32_t through_cgroup = SAMPLE_MEM | SAMPLE_MEM_PEAK | SAMPLE_SWAP | SAMPLE_MEM_PARTS;
	const char *path = s->n_jobs ? s->jobs[0]->path : s->root;

	if (s->scan && scan_can(s->scan) & bit)
		return false;
	if (files_have(path, bit))
		return false;
	/* BPF reads the peak where the controller is on, with or without a file for it. */
	return !(s->scan && bit & through_cgroup && files_have(path, SAMPLE_MEM)) &&
	       !(s->scan && bit == SAMPLE_TASKS_PEAK_EXACT && files_have(path, SAMPLE_TASKS));
}

const char *sample_status(struct sampler *s)
{
	const char *words;
	size_t n = 0;

	s->status[0] = '\0';
	if (!s->scan)
		n += (size_t)snprintf(s->status, sizeof(s->status),
				      "sampling reads files, not BPF: %s\n", s->why);
	else
		n += (size_t)snprintf(s->status, sizeof(s->status), "%s", scan_status(s->scan));
	for (uint32_t i = 0; i < SAMPLE_N_HAVE && n < sizeof(s->status); i++) {
		if (!bits[i].lost || !is_lost(s, 1u << i))
			continue;
		words = 1u << i & (SAMPLE_CPU_CORES | SAMPLE_RUN_DELAY)
				? "needs BPF"
				: "no such file in the job's cgroup (controller off?)";
		n += (size_t)snprintf(s->status + n, sizeof(s->status) - n,
				      "%s: not measured: %s\n", bits[i].lost, words);
	}
	return s->status;
}
