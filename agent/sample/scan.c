/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.c - reads the usage of all jobs in one BPF pass; includes the skeleton of
 * bpf/scan.bpf.c; see scan.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "agent/kernel/skeleton.h"
#include "agent/kernel/slots.h"
#include "agent/sample/scan.h"
#include "bpf/scan_abi.h"
#include "common/cleanup.h"
#include "scan.skel.h"

struct memory {	       /* what this process keeps of a job beside its record */
	uint64_t walk; /* the last one over its tasks; 0: none yet */
	uint64_t cpu_ns, tasks, mem_pages; /* as of just before that walk */
	uint64_t delay_ns, minor, major;   /* of exited tasks, likewise */
	struct sample last;		   /* the highest values yet of what must not go down */
};

enum walk_kind { WALK_CHANGED, WALK_WHOLE };

struct scan {
	struct skeleton *kern;
	struct slots *slots;
	struct memory *memories;
	uint64_t *cores; /* mapped: [slot * n_cpus + cpu] */
	size_t cores_length;
	uint32_t n_jobs, n_cpus, page_bytes;
	int pass_fd;
	uint64_t pass;	  /* number of the last one */
	uint32_t n_walks; /* over tasks, below the root; the next is a whole one at 0 */
	bool has_walked;
	char *root;
	uint64_t root_id;
	struct bpf_link *root_link;
};

static const struct skeleton_hook hooks[] = {
	{ "scan_cgroups", SKELETON_ITERATOR, NULL, NULL },
	{ "scan_tasks", SKELETON_ITERATOR, NULL,
	  "run delay, resident memory and process count are not measured" },
	{ "scan_exit", SKELETON_TRACEPOINT, NULL,
	  "run delay and faults of exited processes are not measured" },
	{ "scan_rmdir", SKELETON_TRACEPOINT, NULL,
	  "per-core time of removed sub-cgroups and a job's last slice may be missed" },
};

static int set_constants(struct bpf_object *obj, const struct scan *s)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, ".rodata");
	struct scan_bpf__rodata *ro;
	size_t size = 0;

	ro = map ? (void *)(uintptr_t)bpf_map__initial_value(map, &size) : NULL;
	if (!ro || size < sizeof(*ro))
		return -EINVAL;
	ro->n_cpus = s->n_cpus;
	ro->page_bytes = s->page_bytes;
	return 0;
}

static int configure_object(struct bpf_object *obj, void *ctx)
{
	static const char *const by_core[] = { "core_ns", "removed_ns" };
	struct scan *s = ctx;
	int r = slots_configure(obj, s->n_jobs);

	for (size_t i = 0; i < ARRAY_LEN(by_core) && r == 0; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, by_core[i]);

		r = map ? bpf_map__set_max_entries(map, s->n_jobs * s->n_cpus) : -EINVAL;
	}
	return r < 0 ? r : set_constants(obj, s);
}

static int load_object(struct scan *s, const char *pin_dir, struct err *err)
{
	struct skeleton_spec spec = {
		.name = "scan",
		.version = SCAN_VERSION,
		.hooks = hooks,
		.n_hooks = ARRAY_LEN(hooks),
		.pin_dir = pin_dir,
		.configure = configure_object,
		.ctx = s,
	};
	int r;

	spec.elf = scan_bpf__elf_bytes(&spec.elf_size);
	r = skeleton_open(&spec, &s->kern, err);
	if (r < 0)
		return r;
	if (!skeleton_has(s->kern, "scan_cgroups"))
		return err_set(err, -EOPNOTSUPP, "this kernel cannot walk cgroups from BPF");
	return 0;
}

static int map_records(struct scan *s, struct err *err)
{
	uint32_t zero = 0;
	void *map;
	int r;

	r = slots_open(s->kern, sizeof(struct scan_job), s->n_jobs, &s->slots, err);
	if (r < 0)
		return r;
	s->cores_length = (size_t)s->n_jobs * s->n_cpus * sizeof(uint64_t);
	map = mmap(NULL, s->cores_length, PROT_READ, MAP_SHARED,
		   skeleton_map(s->kern, "core_ns"), 0);
	if (map == MAP_FAILED)
		return err_set(err, -errno, "map the per-core figures: %m");
	s->cores = map;
	s->pass_fd = skeleton_map(s->kern, "pass");
	if (bpf_map_lookup_elem(s->pass_fd, &zero, &s->pass) < 0)
		return err_set(err, -errno, "read the number of the last pass: %m");
	return 0;
}

int scan_open(const struct sample_config *config, struct scan **ret, struct err *err)
{
	_cleanup_(scan_closep) struct scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->n_jobs = config->max_jobs ? config->max_jobs : 1024;
	r = libbpf_num_possible_cpus();
	if (r < 0)
		return err_set(err, r, "count the CPUs: %s", strerror(-r));
	s->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	s->n_cpus = (uint32_t)r < SCAN_MAX_CPUS ? (uint32_t)r : SCAN_MAX_CPUS;
	s->root = strdup(config->root);
	s->memories = calloc(s->n_jobs, sizeof(*s->memories));
	if (!s->root || !s->memories)
		return err_set(err, -ENOMEM, "out of memory");
	r = load_object(s, config->pin_dir, err);
	if (r < 0)
		return r;
	r = map_records(s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct scan *scan_close(struct scan *s)
{
	if (!s)
		return NULL;
	bpf_link__destroy(s->root_link);
	slots_close(s->slots);
	if (s->cores)
		munmap(s->cores, s->cores_length);
	skeleton_close(s->kern);
	free(s->memories);
	free(s->root);
	free(s);
	return NULL;
}

int scan_add(struct scan *s, const struct sample_job *job, uint32_t *ret_slot, struct err *err)
{
	uint32_t slot;
	int r = slots_add(s->slots, job->cgroup_id, job->job, &slot);

	if (r < 0)
		return err_set(err, r, "job %lld: %s", (long long)job->job,
			       r == -EEXIST ? "already sampled" : "too many jobs");
	memset(&s->memories[slot], 0, sizeof(s->memories[slot]));
	*ret_slot = slot;
	if (r > 0)
		return 0;
	r = slots_publish(s->slots, slot);
	if (r < 0) {
		slots_remove(s->slots, slot);
		return err_set(err, r, "job %lld: %s", (long long)job->job, strerror(-r));
	}
	return 0;
}

/* The per-core figures of removed sub-cgroups are not part of the record: without this the next
 * job of the slot would begin with them. */
static void clear_removed(struct scan *s, uint32_t slot)
{
	int fd = skeleton_map(s->kern, "removed_ns");
	uint64_t zero = 0;
	uint32_t key;

	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++) {
		key = slot * s->n_cpus + cpu;
		bpf_map_update_elem(fd, &key, &zero, BPF_ANY);
	}
}

void scan_remove(struct scan *s, uint64_t cgroup_id)
{
	int slot = slots_find(s->slots, cgroup_id);

	if (slot < 0)
		return;
	clear_removed(s, (uint32_t)slot);
	slots_remove(s->slots, (uint32_t)slot);
}

unsigned scan_prune(struct scan *s)
{
	unsigned n = slots_prune(s->slots);
	const struct scan_job *job;

	for (uint32_t i = 0; n && i < s->n_jobs; i++) {
		job = slots_record(s->slots, i);
		if (!job->cgroup_id)
			clear_removed(s, i);
	}
	return n;
}

/* Runs an iterator to its end; it writes into maps and nothing into the stream. EAGAIN: the
 * kernel has paused a long walk; the next read goes on. */
static int run_iterator(const struct bpf_link *link, struct err *err)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	char scrap[8];
	ssize_t n;

	if (fd < 0)
		return err_set(err, -errno, "begin a pass: %m");
	do
		n = read(fd, scrap, sizeof(scrap));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	return n < 0 ? err_set(err, -errno, "read a pass: %m") : 0;
}

/* An iterator over `dir` and all below it, parents first. */
static int link_cgroup(const struct scan *s, const char *dir, struct bpf_link **ret,
		       struct err *err)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	LIBBPF_OPTS(bpf_iter_attach_opts, opts);
	union bpf_iter_link_info info = {};

	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", dir);
	info.cgroup.order = BPF_CGROUP_ITER_DESCENDANTS_PRE;
	info.cgroup.cgroup_fd = (__u32)fd;
	opts.link_info = &info;
	opts.link_info_len = sizeof(info);
	*ret = bpf_program__attach_iter(skeleton_prog(s->kern, "scan_cgroups"), &opts);
	if (!*ret)
		return err_set(err, -errno, "walk %s: %m", dir);
	return 0;
}

/* The slice above the jobs may have been removed and made again since the last pass. */
static int pass_root(struct scan *s, struct err *err)
{
	struct stat st;
	int r;

	if (stat(s->root, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "stat %s: %m", s->root);
	if (!s->root_link || st.st_ino != s->root_id) {
		bpf_link__destroy(s->root_link);
		s->root_link = NULL;
		r = link_cgroup(s, s->root, &s->root_link, err);
		if (r < 0)
			return r;
		s->root_id = st.st_ino;
	}
	return run_iterator(s->root_link, err);
}

static int pass_below(struct scan *s, const char *dir, struct err *err)
{
	struct bpf_link *link;
	int r = link_cgroup(s, dir, &link, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = run_iterator(link, err);
	bpf_link__destroy(link);
	return r;
}

/* See scan_pass(). */
static bool has_changed(const struct scan_job *job, const struct memory *m)
{
	const uint32_t all = SCAN_HAS_CORES | SCAN_HAS_TASKS | SCAN_HAS_MEM;

	return !m->walk || (job->have & all) != all || job->cpu_ns != m->cpu_ns ||
	       job->tasks != m->tasks || job->mem_pages != m->mem_pages;
}

/* Asks for the tasks of the jobs that this pass has met: of all of them where it is a whole walk. Returns how
 * many jobs. A task that exits during the walk must not count twice: what exited tasks used is
 * read before. Then such a task may not count at all this time; scan_read() returns the last
 * value instead of a lower one. */
static uint32_t want_tasks(struct scan *s, enum walk_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_jobs; i++) {
		struct scan_job *job = slots_record(s->slots, i);
		struct memory *m = &s->memories[i];

		if (!job->cgroup_id || job->removed || job->pass != s->pass ||
		    (kind == WALK_CHANGED && !has_changed(job, m)))
			continue;
		n++;
		job->walk = SCAN_WALK_WANTED;
		m->walk = s->pass;
		m->cpu_ns = job->cpu_ns;
		m->tasks = job->tasks;
		m->mem_pages = job->mem_pages;
		m->delay_ns = job->exited_delay_ns;
		m->minor = job->exited_minor;
		m->major = job->exited_major;
	}
	return n;
}

static int walk_tasks(struct scan *s, enum walk_kind kind, struct err *err)
{
	struct bpf_link *link;
	int r;

	s->has_walked = true;
	if (want_tasks(s, kind) == 0)
		return 0;
	link = bpf_program__attach_iter(skeleton_prog(s->kern, "scan_tasks"), NULL);
	if (!link)
		return err_set(err, -errno, "walk the tasks: %m");
	r = run_iterator(link, err);
	bpf_link__destroy(link);
	return r;
}

int scan_pass(struct scan *s, const char *dir, unsigned what, struct err *err)
{
	uint64_t number = s->pass + 1;
	uint32_t zero = 0;
	int r = 0;

	if (bpf_map_update_elem(s->pass_fd, &zero, &number, BPF_ANY) < 0)
		return err_set(err, -errno, "number a pass: %m");
	s->pass = number;
	if (what & SCAN_CGROUPS)
		r = dir ? pass_below(s, dir, err) : pass_root(s, err);
	if (r < 0 || !(what & SCAN_TASKS) || !skeleton_has(s->kern, "scan_tasks"))
		return r;
	if (dir)
		return walk_tasks(s, WALK_WHOLE, err);
	return walk_tasks(s, s->n_walks++ % SCAN_WHOLE_WALKS ? WALK_CHANGED : WALK_WHOLE, err);
}

/* The highest value yet. */
static uint64_t raise_floor(uint64_t *floor, uint64_t value)
{
	if (value > *floor)
		*floor = value;
	return *floor;
}

/* Splits the exact counter in the proportion of the scheduler's ticks; neither part ever shrinks:
 * the rule of cpu.stat (kernel/sched/cputime.c, cputime_adjust). */
static void split_cpu(const struct scan_job *job, struct sample *last)
{
	uint64_t ticks = job->user_ns + job->system_ns, total = last->cpu_ns, system = 0;

	if (job->user_ns == 0 && ticks)
		system = total;
	else if (ticks)
		system = (uint64_t)((__uint128_t)job->system_ns * total / ticks);
	system = system < last->cpu_system_ns ? last->cpu_system_ns : system;
	if (total - system < last->cpu_user_ns)
		system = total - last->cpu_user_ns;
	last->cpu_system_ns = system;
	last->cpu_user_ns = total - system;
}

static void read_cgroup(const struct scan *s, const struct scan_job *job, struct sample *last,
			struct sample *ret)
{
	uint64_t page = s->page_bytes;

	if (job->have & SCAN_HAS_CORES) {
		ret->cpu_ns = raise_floor(&last->cpu_ns, job->cpu_ns);
		split_cpu(job, last);
		ret->cpu_user_ns = last->cpu_user_ns;
		ret->cpu_system_ns = last->cpu_system_ns;
		ret->have |= SAMPLE_CPU | SAMPLE_CPU_SPLIT | SAMPLE_CPU_CORES;
	}
	if (job->have & SCAN_HAS_MEM) {
		ret->mem_bytes = job->mem_pages * page;
		ret->mem_peak_bytes = job->mem_peak_pages * page;
		ret->swap_bytes = job->swap_pages * page;
		ret->have |= SAMPLE_MEM | SAMPLE_MEM_PEAK | SAMPLE_SWAP;
	}
	if (job->have & SCAN_HAS_PARTS) {
		ret->anon_bytes = job->anon_bytes;
		ret->file_bytes = job->file_bytes;
		ret->shmem_bytes = job->shmem_bytes;
		ret->kernel_bytes = job->kernel_bytes;
		ret->have |= SAMPLE_MEM_PARTS | SAMPLE_MEM_KERNEL;
	}
	if (job->have & SCAN_HAS_TASKS) {
		ret->tasks = job->tasks;
		ret->tasks_peak = raise_floor(&last->tasks_peak, job->tasks);
		ret->have |= SAMPLE_TASKS;
	}
	if (job->have & SCAN_HAS_TASKS_PEAK) {
		ret->tasks_peak = raise_floor(&last->tasks_peak, job->tasks_peak);
		ret->have |= SAMPLE_TASKS_PEAK_EXACT;
	}
	if (job->have & SCAN_HAS_IO) {
		ret->read_bytes = raise_floor(&last->read_bytes, job->read_bytes);
		ret->written_bytes = raise_floor(&last->written_bytes, job->written_bytes);
		ret->have |= SAMPLE_IO;
	}
}

static void read_walk(struct scan *s, const struct scan_job *job, struct memory *m,
		      struct sample *ret)
{
	bool lives = m->walk && job->walk == m->walk && !job->removed;
	struct sample *last = &m->last;
	uint64_t page = s->page_bytes;

	if (!lives) { /* all have exited: nothing to count twice */
		m->delay_ns = job->exited_delay_ns;
		m->minor = job->exited_minor;
		m->major = job->exited_major;
	}
	ret->rss_bytes = lives ? job->rss_pages * page : 0;
	ret->rss_peak_bytes = raise_floor(&last->rss_peak_bytes, ret->rss_bytes);
	ret->procs = lives ? job->procs : 0;
	ret->procs_peak = raise_floor(&last->procs_peak, ret->procs);
	ret->run_delay_ns = raise_floor(&last->run_delay_ns,
					m->delay_ns + (lives ? job->live_delay_ns : 0));
	ret->minor_faults =
		raise_floor(&last->minor_faults, m->minor + (lives ? job->live_minor : 0));
	ret->major_faults =
		raise_floor(&last->major_faults, m->major + (lives ? job->live_major : 0));
	if (ret->procs_peak > 0) /* else all exited before a walk: unknown, not 0 */
		ret->have |= SAMPLE_RSS | SAMPLE_PROCS;
	if (skeleton_has(s->kern, "scan_exit"))
		ret->have |= SAMPLE_RUN_DELAY | SAMPLE_FAULTS;
}

void scan_read(struct scan *s, uint32_t slot, struct sample *ret)
{
	const struct scan_job *job = slots_record(s->slots, slot);

	ret->gone = job->removed || job->pass != s->pass;
	read_cgroup(s, job, &s->memories[slot].last, ret);
	if (s->has_walked && skeleton_has(s->kern, "scan_tasks"))
		read_walk(s, job, &s->memories[slot], ret);
	ret->core_ns = s->cores + (size_t)slot * s->n_cpus;
	ret->n_cores = s->n_cpus;
}

uint32_t scan_can(const struct scan *s)
{
	uint32_t can = SAMPLE_CPU | SAMPLE_CPU_SPLIT | SAMPLE_CPU_CORES;

	if (skeleton_has(s->kern, "scan_tasks"))
		can |= SAMPLE_RSS | SAMPLE_PROCS;
	if (skeleton_has(s->kern, "scan_tasks") && skeleton_has(s->kern, "scan_exit"))
		can |= SAMPLE_RUN_DELAY | SAMPLE_FAULTS;
	return can;
}

const char *scan_status(const struct scan *s)
{
	return skeleton_status(s->kern);
}
