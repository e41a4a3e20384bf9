/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.c - reports OOM kills, freezing and empty cgroups of jobs, from BPF and from the
 * cgroups' files where BPF has no hook; includes the skeleton of bpf/events.bpf.c; see events.h. */
#include <errno.h>
#include <linux/types.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <bpf/bpf.h>
#include "agent/enforce/events.h"
#include "agent/enforce/events_files.h"
#include "agent/kernel/skeleton.h"
#include "agent/kernel/slots.h"
#include "bpf/events_abi.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "events.skel.h"

struct watched {
	struct watched *next;
	int64_t job;
	uint64_t cgroup_id;
	char *path;
	bool is_late;	/* was frozen before it was watched: that time is not known */
	bool was_empty; /* when added: to be reported at the next dispatch */
	bool by_steps;
	uint64_t
		doubt; /* 1 + seq at which the count of frozen steps differed from the files; 0: it did not */
	/* Without the frozen hook: as read from cgroup.events. 0: not frozen. */
	uint64_t since_ns, total_ns, count;
};

struct events {
	struct events_config config;
	struct skeleton *kern; /* NULL: tier 3 */
	struct slots *slots;
	struct ring_buffer *ring;
	struct events_files *files;
	unsigned by_files; /* enum events_files_what */
	int epoll_fd, wake_fd;
	uint32_t n_jobs;
	struct watched *jobs;
	char why[512];
	char status[2048];
};

static const struct skeleton_hook hooks[] = {
	{ "events_frozen_flip", SKELETON_TRACEPOINT, NULL,
	  "frozen time is read from cgroup.events: late by milliseconds, and what root freezes or thaws while "
	  "the agent is down is not seen" },
	{ "events_populated_flip", SKELETON_TRACEPOINT, NULL,
	  "an empty job is noticed through cgroup.events, some milliseconds late" },
	{ "events_oom_kill", SKELETON_TRAMPOLINE, NULL,
	  "whose memory limit an OOM kill enforced is not known" },
	{ "events_mark_victim", SKELETON_TRACEPOINT, "events_oom_kill",
	  "the victim of an OOM kill is not known, only the number of kills" },
};

static struct watched *find_watched(const struct events *e, uint64_t cgroup_id)
{
	for (struct watched *w = e->jobs; w; w = w->next)
		if (w->cgroup_id == cgroup_id)
			return w;
	return NULL;
}

static struct watched *find_job(const struct events *e, int64_t job)
{
	for (struct watched *w = e->jobs; w; w = w->next)
		if (w->job == job)
			return w;
	return NULL;
}

static void report_oom(const struct events *e, const struct watched *w,
		       const struct events_message *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct events_oom oom = {
		.job = w->job,
		.boot_ns = m->boot_ns,
		.pid = m->pid,
		.victim_rss_bytes = m->rss_pages * page,
		.own_limit = m->own_limit,
		.node_wide = !m->limit_cgroup_id && skeleton_has(e->kern, "events_oom_kill"),
	};

	memcpy(oom.comm, m->comm, sizeof(oom.comm));
	oom.comm[sizeof(oom.comm) - 1] = '\0';
	if (m->limit_cgroup_id) {
		oom.usage_bytes = m->usage_pages * page;
		oom.limit_bytes = m->limit_pages * page;
	}
	if (e->config.on_oom)
		e->config.on_oom(e->config.ctx, &oom);
}

/* A message of the ring buffer; 0 goes on to the next. The size is checked, since the programs may be
 * those of an earlier agent. The callbacks may remove the job: `w` is not used after them. */
static int on_message(void *ctx, void *data, size_t size)
{
	const struct events_message *m = data;
	const struct events *e = ctx;
	const struct watched *w;

	if (size < sizeof(*m))
		return 0;
	w = find_watched(e, m->cgroup_id);
	if (!w)
		return 0; /* removed meanwhile, or not added again by this agent */
	if (m->kind == EVENTS_OOM)
		report_oom(e, w, m);
	else if (m->kind == EVENTS_EMPTY && e->config.on_empty)
		e->config.on_empty(e->config.ctx, w->job, m->boot_ns);
	else if (m->kind != EVENTS_EMPTY && e->config.on_frozen)
		e->config.on_frozen(e->config.ctx, w->job, m->kind == EVENTS_FROZEN,
				    m->boot_ns);
	return 0;
}

/* Tier 3: the files have changed. Times are those of the reading: the kernel's notice comes up
 * to 10 ms late. */
static void on_change(void *ctx, const struct events_files_change *change)
{
	struct events *e = ctx;
	struct watched *w = find_job(e, change->job);
	uint64_t now = (uint64_t)clock_ns(CLOCK_BOOTTIME);

	if (!w)
		return;
	if (change->what == EVENTS_FILES_OOM) {
		struct events_oom oom = { .job = w->job, .boot_ns = now };

		if (e->config.on_oom)
			e->config.on_oom(e->config.ctx, &oom);
		return;
	}
	if (change->what == EVENTS_FILES_EMPTY) {
		if (e->config.on_empty)
			e->config.on_empty(e->config.ctx, w->job, now);
		return;
	}
	if (change->frozen)
		w->count++;
	else if (w->since_ns)
		w->total_ns += now - w->since_ns;
	w->since_ns = change->frozen ? now : 0;
	if (e->config.on_frozen)
		e->config.on_frozen(e->config.ctx, w->job, change->frozen, now);
}

static int configure_object(struct bpf_object *obj, void *ctx)
{
	const struct events *e = ctx;

	return slots_configure(obj, e->n_jobs);
}

/* After a failure the caller calls close_kern(): what was opened before it stays in `e`. */
static int open_kern(struct events *e, struct err *err)
{
	struct skeleton_spec spec = {
		.name = "events",
		.version = EVENTS_VERSION,
		.hooks = hooks,
		.n_hooks = ARRAY_LEN(hooks),
		.pin_dir = e->config.pin_dir,
		.best_tier = e->config.best_tier,
		.configure = configure_object,
		.ctx = e,
	};
	int r;

	spec.elf = events_bpf__elf_bytes(&spec.elf_size);
	r = skeleton_open(&spec, &e->kern, err);
	if (r < 0)
		return r;
	r = slots_open(e->kern, sizeof(struct events_record), e->n_jobs, &e->slots, err);
	if (r < 0)
		return r;
	e->ring = ring_buffer__new(skeleton_map(e->kern, "ring"), on_message, e, NULL);
	return e->ring ? 0 : err_set(err, -errno, "ring buffer: %m");
}

static void close_kern(struct events *e)
{
	ring_buffer__free(e->ring);
	slots_close(e->slots);
	skeleton_close(e->kern);
	e->ring = NULL;
	e->slots = NULL;
	e->kern = NULL;
}

/* What no hook reports: enum events_files_what. */
static unsigned find_missing_hooks(const struct events *e)
{
	unsigned what = 0;

	if (!e->kern)
		return EVENTS_FILES_OOM | EVENTS_FILES_FROZEN | EVENTS_FILES_EMPTY;
	if (!skeleton_has(e->kern, "events_frozen_flip"))
		what |= EVENTS_FILES_FROZEN;
	if (!skeleton_has(e->kern, "events_populated_flip"))
		what |= EVENTS_FILES_EMPTY;
	if (!skeleton_has(e->kern, "events_oom_kill") &&
	    !skeleton_has(e->kern, "events_mark_victim"))
		what |= EVENTS_FILES_OOM;
	return what;
}

static int add_to_epoll(struct events *e, int fd, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_set(err, -errno, "epoll: %m");
	return 0;
}

static int open_fds(struct events *e, struct err *err)
{
	int r;

	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	e->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (e->epoll_fd < 0 || e->wake_fd < 0)
		return err_set(err, -errno, "epoll: %m");
	r = add_to_epoll(e, e->wake_fd, err);
	if (r == 0 && e->ring)
		r = add_to_epoll(e, ring_buffer__epoll_fd(e->ring), err);
	if (r == 0 && e->by_files)
		r = events_files_open(&e->files, err);
	if (r == 0 && e->files)
		r = add_to_epoll(e, events_files_fd(e->files), err);
	return r;
}

int events_open(const struct events_config *config, struct events **ret, struct err *err)
{
	_cleanup_(events_closep) struct events *e = calloc(1, sizeof(*e));
	struct err why = { "switched off by configuration" };
	int r;

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->config = *config;
	e->epoll_fd = e->wake_fd = -1;
	e->n_jobs = config->max_jobs ? config->max_jobs : 1024;
	if (config->best_tier < 3 && open_kern(e, &why) < 0)
		close_kern(e);
	if (!e->kern)
		snprintf(e->why, sizeof(e->why), "%s", why.text);
	e->by_files = find_missing_hooks(e);
	r = open_fds(e, err);
	if (r < 0)
		return r;
	e->config.pin_dir = NULL; /* the caller's; used above alone */
	*ret = TAKE_PTR(e);
	return 0;
}

static void watched_free(struct watched *w)
{
	if (!w)
		return;
	free(w->path);
	free(w);
}
DEFINE_CLEANUP(struct watched *, watched_free)

struct events *events_close(struct events *e)
{
	struct watched *next;

	if (!e)
		return NULL;
	for (struct watched *w = e->jobs; w; w = next) {
		next = w->next;
		watched_free(w);
	}
	events_files_close(e->files);
	close_kern(e);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	if (e->wake_fd >= 0)
		close(e->wake_fd);
	free(e);
	return NULL;
}

/* Makes the record agree with the cgroup's state where no hook saw the change: frozen before it
 * was added, or frozen or thawed while nothing was attached. Returns 1 when it did, 0 when they
 * agreed. The file is read between two readings of an even `seq`, so that a hook that runs
 * meanwhile is noticed; it may still run before the exchange, which then fails. */
static int reconcile_record(struct events_record *rec, const char *path)
{
	uint32_t before;
	uint64_t since;
	int frozen;

	do {
		before = __atomic_load_n(&rec->seq, __ATOMIC_SEQ_CST);
		frozen = events_files_read(path, "frozen");
		since = __atomic_load_n(&rec->since_ns, __ATOMIC_SEQ_CST);
	} while (before & 1 || before != __atomic_load_n(&rec->seq, __ATOMIC_SEQ_CST));
	if (frozen < 0 || (frozen == 1) == (since != 0))
		return 0;
	__sync_bool_compare_and_swap(&rec->since_ns, since,
				     frozen ? (uint64_t)clock_ns(CLOCK_BOOTTIME) : 0);
	return 1;
}

/* slots_add() returns 1 for a job that an earlier agent had added: its record goes on counting. The record
 * is complete before slots_publish() shows it to the hooks; only then is the file read, so that no change
 * falls between the two. */
static int add_to_kern(struct events *e, struct watched *w, struct err *err)
{
	uint32_t slot;
	int r = slots_add(e->slots, w->cgroup_id, w->job, &slot);

	if (r < 0)
		return err_set(err, r, "job %lld: %s", (long long)w->job, strerror(-r));
	if (r == 0) {
		((struct events_record *)slots_record(e->slots, slot))->by_steps = w->by_steps;
		r = slots_publish(e->slots, slot);
		if (r < 0) {
			slots_remove(e->slots, slot);
			return err_set(err, r, "job %lld: %s", (long long)w->job, strerror(-r));
		}
	}
	if (skeleton_has(e->kern, "events_frozen_flip") && !w->by_steps)
		w->is_late = reconcile_record(slots_record(e->slots, slot), w->path) > 0;
	return 0;
}

/* The watches are set before the files are read: a change in between is then reported, perhaps twice,
 * but never lost. */
int events_add(struct events *e, const struct events_job *job, struct err *err)
{
	_cleanup_(watched_freep) struct watched *w = NULL;
	uint64_t one = 1;
	int r;

	if (find_watched(e, job->cgroup_id))
		return err_set(err, -EEXIST, "job %lld: already watched", (long long)job->job);
	w = calloc(1, sizeof(*w));
	if (w)
		w->path = strdup(job->path);
	if (!w || !w->path)
		return err_set(err, -ENOMEM, "out of memory");
	w->job = job->job;
	w->cgroup_id = job->cgroup_id;
	w->by_steps = job->by_steps;
	w->total_ns = (uint64_t)job->frozen_ns;
	if (access(w->path, F_OK) < 0)
		return err_set(err, -errno, "job %lld: cgroup %s: %m", (long long)w->job,
			       w->path);
	if (e->files) {
		r = events_files_add(e->files, w->job, w->path, e->by_files, err);
		if (r < 0)
			return r;
	}
	r = e->kern ? add_to_kern(e, w, err) : 0;
	if (r < 0) {
		if (e->files)
			events_files_remove(e->files, w->job);
		return r;
	}
	if (e->by_files & EVENTS_FILES_FROZEN && events_files_read(w->path, "frozen") == 1) {
		w->since_ns = (uint64_t)(job->since_ns ?: clock_ns(CLOCK_BOOTTIME));
		w->is_late = true;
	}
	w->was_empty = events_files_read(w->path, "populated") == 0;
	if (w->was_empty && write(e->wake_fd, &one, sizeof(one)) < 0)
		w->was_empty = false; /* cannot be: events_dispatch() resets the counter */
	w->next = e->jobs;
	e->jobs = TAKE_PTR(w);
	return 0;
}

void events_remove(struct events *e, uint64_t cgroup_id)
{
	struct watched **at = &e->jobs, *w;
	int slot;

	while (*at && (*at)->cgroup_id != cgroup_id)
		at = &(*at)->next;
	w = *at;
	if (!w)
		return;
	*at = w->next;
	slot = e->slots ? slots_find(e->slots, cgroup_id) : -ENOENT;
	if (slot >= 0)
		slots_remove(e->slots, (uint32_t)slot);
	if (e->files)
		events_files_remove(e->files, w->job);
	watched_free(w);
}

unsigned events_prune(struct events *e)
{
	return e->slots ? slots_prune(e->slots) : 0;
}

/* Reads since_ns and total_ns as of one moment: a hook changes both under an odd `seq`. */
static void read_record(const struct events_record *rec, struct events_freeze *ret)
{
	uint64_t now, since, total;
	uint32_t before;

	do {
		before = __atomic_load_n(&rec->seq, __ATOMIC_SEQ_CST);
		since = __atomic_load_n(&rec->since_ns, __ATOMIC_SEQ_CST);
		total = __atomic_load_n(&rec->total_ns, __ATOMIC_SEQ_CST);
		now = (uint64_t)clock_ns(CLOCK_BOOTTIME);
	} while (before & 1 || before != __atomic_load_n(&rec->seq, __ATOMIC_SEQ_CST));
	ret->frozen = since != 0;
	ret->since_ns = since;
	ret->total_ns = total + (since && now > since ? now - since : 0);
	ret->count = rec->n_frozen;
}

static struct events_record *find_record(const struct events *e, uint64_t cgroup_id)
{
	int slot = e->slots ? slots_find(e->slots, cgroup_id) : -ENOENT;

	return slot < 0 ? NULL : slots_record(e->slots, (uint32_t)slot);
}

/* The interval of a thaw that nothing saw is dropped: when it ended is not known. */
static void set_steps(struct events_record *rec, uint32_t n_frozen)
{
	__atomic_store_n(&rec->steps_frozen, n_frozen, __ATOMIC_SEQ_CST);
	if (n_frozen)
		__sync_bool_compare_and_swap(&rec->since_ns, 0,
					     (uint64_t)clock_ns(CLOCK_BOOTTIME));
	else
		__atomic_store_n(&rec->since_ns, 0, __ATOMIC_SEQ_CST);
}

void events_check_steps(struct events *e, uint64_t cgroup_id, uint32_t n_frozen)
{
	struct watched *w = find_watched(e, cgroup_id);
	struct events_record *rec = w ? find_record(e, cgroup_id) : NULL;
	uint32_t seq;

	if (!rec)
		return;
	seq = __atomic_load_n(&rec->seq, __ATOMIC_SEQ_CST);
	if (seq & 1 || __atomic_load_n(&rec->steps_frozen, __ATOMIC_SEQ_CST) == n_frozen) {
		w->doubt = 0;
	} else if (w->doubt != 1 + (uint64_t)seq) {
		w->doubt = 1 + (uint64_t)seq;
	} else {
		set_steps(rec, n_frozen);
		w->is_late = true;
		w->doubt = 0;
	}
}

int events_frozen(struct events *e, uint64_t cgroup_id, struct events_freeze *ret,
		  struct err *err)
{
	const struct watched *w = find_watched(e, cgroup_id);
	int slot;

	if (!w)
		return err_set(err, -ENOENT, "no job in cgroup %llu",
			       (unsigned long long)cgroup_id);
	memset(ret, 0, sizeof(*ret));
	if (e->by_files & EVENTS_FILES_FROZEN) {
		if (w->by_steps)
			return err_set(err, -EOPNOTSUPP, "no hook counts frozen steps");
		ret->frozen = w->since_ns != 0;
		ret->since_ns = w->since_ns;
		ret->total_ns =
			w->total_ns +
			(w->since_ns ? (uint64_t)clock_ns(CLOCK_BOOTTIME) - w->since_ns : 0);
		ret->count = w->count;
		return 0;
	}
	slot = slots_find(e->slots, cgroup_id);
	if (slot < 0)
		return err_set(err, slot, "job %lld: no record", (long long)w->job);
	read_record(slots_record(e->slots, (uint32_t)slot), ret);
	ret->exact = !w->is_late;
	return 0;
}

int events_fd(const struct events *e)
{
	return e->epoll_fd;
}

static struct watched *find_was_empty(const struct events *e)
{
	for (struct watched *w = e->jobs; w; w = w->next)
		if (w->was_empty)
			return w;
	return NULL;
}

/* Jobs that were empty when they were added come first: no event will come for them. */
int events_dispatch(struct events *e, struct err *err)
{
	struct watched *w;
	uint64_t n;
	int r;

	if (read(e->wake_fd, &n, sizeof(n)) == (ssize_t)sizeof(n)) {
		/* from the start each time: the callback may remove jobs */
		while ((w = find_was_empty(e))) {
			w->was_empty = false;
			if (events_files_read(w->path, "populated") == 0 && e->config.on_empty)
				e->config.on_empty(e->config.ctx, w->job,
						   (uint64_t)clock_ns(CLOCK_BOOTTIME));
		}
	}
	if (e->files)
		events_files_dispatch(e->files, on_change, e);
	r = e->ring ? ring_buffer__consume(e->ring) : 0;
	return r < 0 ? err_set(err, r, "read the ring buffer: %s", strerror(-r)) : 0;
}

/* The frozen hook decides between 2 and 3: without it suspended time is not exact. */
int events_tier(const struct events *e)
{
	if (!e->kern || e->by_files & EVENTS_FILES_FROZEN)
		return 3;
	return skeleton_has(e->kern, "events_oom_kill") ? 1 : 2;
}

const char *events_status(struct events *e)
{
	uint64_t lost;
	size_t n;

	if (!e->kern) {
		snprintf(e->status, sizeof(e->status),
			 "events come from inotify, not BPF: %s\n%s\n%s\n", e->why,
			 hooks[0].lost, hooks[3].lost);
		return e->status;
	}
	n = (size_t)snprintf(e->status, sizeof(e->status), "%s", skeleton_status(e->kern));
	lost = skeleton_n_lost(e->kern);
	if (lost && n < sizeof(e->status))
		snprintf(e->status + n, sizeof(e->status) - n,
			 "%llu messages found the ring buffer full\n",
			 (unsigned long long)lost);
	return e->status;
}

bool events_adopted(const struct events *e)
{
	return e->kern && skeleton_adopted(e->kern);
}
