/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.c - loads and attaches the vmem programs, chooses the hooks that this kernel has, pins
 * them and takes a pinned set over; see vmem/kernel.h. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "agent/enforce/vmem/hot.h"
#include "agent/enforce/vmem/pins.h"
#include "common/cleanup.h"
#include "vmem.skel.h"

enum need { OPTIONAL, REQUIRED };
enum when { STEADY, HOT }; /* HOT: attached while there are jobs, see vmem/hot.h */

/* A program, the kernel function or tracepoint that it is attached to, and its tiers. Its index
 * is its bit in control.hooks, which a pinned set keeps: a change of order or meaning needs a
 * new VMEM_VERSION. Attached from the last to the first, see attach_set(). */
struct hook {
	const char *program;
	const char *target;
	enum need need;
	int first_tier, last_tier;
	enum when when;
};

static const struct hook hooks[] = {
	{ "mmap_check", "security_mmap_file", REQUIRED, 1, 1, HOT },
	{ "mmap_done", "mmap_region", REQUIRED, 1, 1, HOT },
	{ "brk_begin", "do_brk_flags", REQUIRED, 1, 1, STEADY },
	{ "brk_done", "do_brk_flags", REQUIRED, 1, 1, STEADY },
	{ "stack_begin", "expand_downwards", OPTIONAL, 1, 1, STEADY },
	{ "stack_done", "expand_downwards", OPTIONAL, 1, 1, STEADY },
	{ "growth_check", "security_vm_enough_memory_mm", REQUIRED, 1, 1, HOT },
	{ "fork_check", "security_task_alloc", REQUIRED, 1, 1, STEADY },
	{ "fork_done", "copy_process", REQUIRED, 1, 1, STEADY },
	{ "shmdt_done", "ksys_shmdt", OPTIONAL, 1, 1, STEADY },
	{ "remap_grown", "vm_stat_account", OPTIONAL, 1, 1, HOT },
	{ "unmap_end", "userfaultfd_unmap_complete", REQUIRED, 1, 1, HOT },
	{ "task_gone", "btf_trace_sched_process_exit", REQUIRED, 1, 1, STEADY },
	{ "exit_done", "exit_mmap", REQUIRED, 1, 1, STEADY },
	{ "lock_released", "btf_trace_mmap_lock_released", REQUIRED, 2, 2, HOT },
	{ "fork_kill", "bpf_send_signal_task", OPTIONAL, 2, 2, STEADY },
	{ "fork_seen", "btf_trace_sched_process_fork", REQUIRED, 2, 2, STEADY },
	{ "exit_seen", "btf_trace_exit_mmap", REQUIRED, 2, 2, STEADY },
	{ "exec_seen", "btf_trace_sched_process_exec", REQUIRED, 1, 2, STEADY },
	{ "attach_seen", "btf_trace_cgroup_attach_task", REQUIRED, 1, 2, STEADY },
	{ "audit", NULL, REQUIRED, 1, 2, STEADY },
};

static const char *const map_names[VMEM_MAP_COUNT] = {
	[VMEM_MAP_JOBS] = "jobs",     [VMEM_MAP_CONTROL] = "control",
	[VMEM_MAP_SLOTS] = "slots",   [VMEM_MAP_SPACES] = "spaces",
	[VMEM_MAP_GONE] = "gone",     [VMEM_MAP_SEEN] = "seen",
	[VMEM_MAP_EVENTS] = "events", [VMEM_MAP_OPS] = "ops",
};

/* libbpf gives the reason of a failure in its log only: the first warning is kept while a call
 * runs. */
static char complaint[256];

static int keep_complaint(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level != LIBBPF_WARN || complaint[0])
		return 0;
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	complaint[strcspn(complaint, "\n")] = '\0';
	return 0;
}

static struct vmem_kernel *kernel_new(void)
{
	struct vmem_kernel *k = calloc(1, sizeof(*k));
	int i;

	if (!k)
		return NULL;
	for (i = 0; i < VMEM_MAP_COUNT; i++)
		k->map_fd[i] = -1;
	k->audit_fd = -1;
	return k;
}

struct vmem_kernel *vmem_kernel_close(struct vmem_kernel *k)
{
	int i;

	if (!k)
		return NULL;
	if (k->jobs)
		munmap(k->jobs, VMEM_MAX_JOBS * sizeof(*k->jobs));
	if (k->control)
		munmap(k->control, sizeof(*k->control));
	for (i = 0; i < VMEM_MAP_COUNT; i++)
		if (k->map_fd[i] >= 0)
			close(k->map_fd[i]);
	if (k->audit_fd >= 0)
		close(k->audit_fd);
	vmem_hot_done(k);
	vmem_bpf__destroy(k->skeleton);
	free(k);
	return NULL;
}

DEFINE_CLEANUP(struct vmem_kernel *, vmem_kernel_close)
DEFINE_CLEANUP(struct vmem_bpf *, vmem_bpf__destroy)
DEFINE_CLEANUP(struct btf *, btf__free)

static int map_memory(struct vmem_kernel *k, struct err *err)
{
	void *p;

	p = mmap(NULL, VMEM_MAX_JOBS * sizeof(*k->jobs), PROT_READ | PROT_WRITE, MAP_SHARED,
		 k->map_fd[VMEM_MAP_JOBS], 0);
	if (p == MAP_FAILED)
		return err_set(err, -errno, "map the job table: %m");
	k->jobs = p;
	p = mmap(NULL, sizeof(*k->control), PROT_READ | PROT_WRITE, MAP_SHARED,
		 k->map_fd[VMEM_MAP_CONTROL], 0);
	if (p == MAP_FAILED)
		return err_set(err, -errno, "map the control page: %m");
	k->control = p;
	return 0;
}

static void append_to_hooks(struct vmem_kernel *k, const char *fmt, ...)
{
	size_t n = strlen(k->hooks);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->hooks + n, sizeof(k->hooks) - n, fmt, ap);
	va_end(ap);
}

static void format_hooks(struct vmem_kernel *k)
{
	const char *sep = "attached: ";
	uint32_t set = k->control->hooks;
	size_t i;

	k->hooks[0] = '\0';
	for (i = 0; i < ARRAY_LEN(hooks); i++) {
		if (!(set & 1U << i))
			continue;
		append_to_hooks(k, "%s%s", sep, hooks[i].program);
		sep = ", ";
	}
	sep = "; not offered by this kernel: ";
	for (i = 0; i < ARRAY_LEN(hooks); i++) {
		if (set & 1U << i || (int)k->control->tier < hooks[i].first_tier ||
		    (int)k->control->tier > hooks[i].last_tier)
			continue;
		append_to_hooks(k, "%s%s", sep, hooks[i].program);
		sep = ", ";
	}
}

/* Loading. */

static bool is_offered(const struct btf *btf, const char *target)
{
	__u32 kind = BTF_KIND_FUNC;

	if (!target)
		return true;
	if (!strncmp(target, "btf_trace_", 10))
		kind = BTF_KIND_TYPEDEF;
	return btf__find_by_name_kind(btf, target, kind) > 0;
}

/* The hooks of a tier that the kernel's type information names, as a bit set. That a function is
 * named does not mean that it can be hooked: see load_offered(). */
static int find_offered(int tier, uint32_t *ret, struct err *err)
{
	_cleanup_(btf__freep) struct btf *btf = btf__load_vmlinux_btf();
	uint32_t set = 0;
	size_t i;

	if (!btf)
		return err_set(err, -EOPNOTSUPP, "the kernel has no BTF type information");
	for (i = 0; i < ARRAY_LEN(hooks); i++) {
		if (tier < hooks[i].first_tier || tier > hooks[i].last_tier)
			continue;
		if (is_offered(btf, hooks[i].target))
			set |= 1U << i;
		else if (hooks[i].need == REQUIRED)
			return err_set(err, -EOPNOTSUPP, "the kernel has no hook %s",
				       hooks[i].target);
	}
	*ret = set;
	return 0;
}

static int page_shift_now(void)
{
	return __builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
}

static int load_set(uint32_t set, uint32_t max_spaces, struct vmem_bpf **ret)
{
	_cleanup_(vmem_bpf__destroyp) struct vmem_bpf *skel = vmem_bpf__open();
	struct bpf_program *prog;
	size_t i;
	int rc;

	if (!skel)
		return -errno;
	skel->rodata->page_shift = (__u32)page_shift_now();
	for (i = 0; i < ARRAY_LEN(hooks); i++) {
		prog = bpf_object__find_program_by_name(skel->obj, hooks[i].program);
		bpf_program__set_autoload(prog, !!(set & 1U << i));
	}
	if (max_spaces) { /* 0: only to see whether a program loads */
		bpf_map__set_max_entries(skel->maps.spaces, max_spaces);
		bpf_map__set_max_entries(skel->maps.seen, max_spaces);
	}
	rc = vmem_bpf__load(skel);
	if (rc < 0)
		return rc;
	*ret = TAKE_PTR(skel);
	return 0;
}

/* A kernel may name a function in its BTF and yet refuse the hook (inlined, too many arguments).
 * When the whole set does not load, the optional programs that do not load alone are left out
 * of *set, and the rest is tried again. */
static int load_offered(uint32_t *set, uint32_t max_spaces, struct vmem_bpf **ret)
{
	struct vmem_bpf *one = NULL;
	size_t i;
	int rc = load_set(*set, max_spaces, ret);

	if (rc == 0)
		return 0;
	for (i = 0; i < ARRAY_LEN(hooks); i++) {
		if (!(*set & 1U << i) || hooks[i].need == REQUIRED)
			continue;
		if (load_set(1U << i, 0, &one) < 0)
			*set &= ~(1U << i);
		else
			vmem_bpf__destroy(one);
	}
	complaint[0] = '\0';
	return load_set(*set, max_spaces, ret);
}

/* Where the skeleton keeps the link of a program, so that destroying it detaches the program. */
static struct bpf_link **link_slot(struct vmem_bpf *skel, const char *program)
{
	int i;

	for (i = 0; i < skel->skeleton->prog_cnt; i++)
		if (!strcmp(skel->skeleton->progs[i].name, program))
			return skel->skeleton->progs[i].link;
	return NULL;
}

static int attach_set(struct vmem_bpf *skel, uint32_t *set, struct err *err)
{
	struct bpf_program *prog;
	struct bpf_link *link;
	size_t i;

	/* From the last, which see address spaces end, to the first, which see them begin:
	 * nothing is entered whose end would go unseen. */
	for (i = ARRAY_LEN(hooks); i-- > 0;) {
		if (!(*set & 1U << i))
			continue;
		prog = bpf_object__find_program_by_name(skel->obj, hooks[i].program);
		link = bpf_program__attach(prog);
		if (!link && hooks[i].need == REQUIRED)
			return err_set(err, -errno, "attach %s to %s: %m", hooks[i].program,
				       hooks[i].target ? hooks[i].target : "the task list");
		if (link)
			*link_slot(skel, hooks[i].program) = link;
		else
			*set &= ~(1U << i);
	}
	return 0;
}

/* Takes the hot programs and their links out of the skeleton: they come and go with the jobs. From
 * the last to the first, as they are attached. */
static int keep_hot(struct vmem_kernel *k, uint32_t set, struct err *err)
{
	struct vmem_bpf *skel = k->skeleton;

	for (size_t i = ARRAY_LEN(hooks); i-- > 0;) {
		struct bpf_link **link = link_slot(skel, hooks[i].program);
		_cleanup_close_ int prog_fd = -1;
		int link_fd;

		if (!(set & 1U << i) || hooks[i].when != HOT)
			continue;
		prog_fd = fcntl(bpf_program__fd(bpf_object__find_program_by_name(
					skel->obj, hooks[i].program)),
				F_DUPFD_CLOEXEC, 3);
		link_fd = prog_fd < 0 ? -1 : fcntl(bpf_link__fd(*link), F_DUPFD_CLOEXEC, 3);
		if (link_fd < 0)
			return err_set(err, -errno, "keep program %s: %m", hooks[i].program);
		vmem_hot_keep(k, hooks[i].program, TAKE_FD(prog_fd), link_fd);
		bpf_link__destroy(*link);
		*link = NULL;
	}
	return 0;
}

static int keep_maps(struct vmem_kernel *k, struct vmem_bpf *skel, struct err *err)
{
	struct bpf_map *map;
	int i;

	for (i = 0; i < VMEM_MAP_COUNT; i++) {
		map = bpf_object__find_map_by_name(skel->obj, map_names[i]);
		k->map_fd[i] = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);
		if (k->map_fd[i] < 0)
			return err_set(err, -errno, "keep map %s: %m", map_names[i]);
	}
	return map_memory(k, err);
}

int vmem_kernel_load(int tier, uint32_t max_spaces, struct vmem_kernel **ret, struct err *err)
{
	_cleanup_(vmem_kernel_closep) struct vmem_kernel *k = kernel_new();
	libbpf_print_fn_t print = libbpf_set_print(keep_complaint);
	struct vmem_bpf *skel = NULL;
	uint32_t set = 0;
	int rc;

	complaint[0] = '\0';
	rc = k ? find_offered(tier, &set, err) : err_set(err, -ENOMEM, "out of memory");
	if (rc == 0) {
		rc = load_offered(&set, max_spaces, &skel);
		if (rc < 0)
			err_set(err, rc, "%s",
				complaint[0] ? complaint : "the kernel refused the programs");
	}
	if (rc == 0) {
		k->skeleton = skel;
		rc = keep_maps(k, skel, err);
	}
	if (rc == 0)
		k->jobs[0].max_spaces = max_spaces;
	if (rc == 0)
		rc = attach_set(skel, &set, err);
	if (rc == 0)
		rc = keep_hot(k, set, err);
	libbpf_set_print(print);
	malloc_trim(0); /* the kernel's BTF took tens of MB */
	if (rc < 0)
		return rc;
	k->audit_fd = fcntl(bpf_link__fd(skel->links.audit), F_DUPFD_CLOEXEC, 3);
	k->control->version = VMEM_VERSION;
	k->control->tier = (uint32_t)tier;
	k->control->hooks = set;
	format_hooks(k);
	*ret = TAKE_PTR(k);
	return 0;
}

/* Pins. */

static void format_pin(const char *program, char ret[static 64])
{
	snprintf(ret, 64, "prog_%s", program);
}

/* The program too: a later agent attaches it again. */
static int pin_hot(const struct vmem_hot *h, const char *pin_dir, struct err *err)
{
	char name[64];
	int rc;

	format_pin(h->program, name);
	rc = vmem_pins_put(pin_dir, name, h->prog_fd, err);
	return rc < 0 ? rc : vmem_pins_put(pin_dir, h->program, h->link_fd, err);
}

int vmem_kernel_pin(struct vmem_kernel *k, const char *pin_dir, struct err *err)
{
	struct vmem_bpf *skel = k->skeleton;
	struct bpf_link **link;
	size_t i;
	int rc;

	rc = vmem_pins_begin(pin_dir, err);
	for (i = 0; rc == 0 && i < VMEM_MAP_COUNT; i++)
		rc = vmem_pins_put(pin_dir, map_names[i], k->map_fd[i], err);
	for (i = 0; rc == 0 && i < ARRAY_LEN(hooks); i++) {
		if (!(k->control->hooks & 1U << i) || hooks[i].when == HOT)
			continue;
		link = link_slot(skel, hooks[i].program);
		rc = vmem_pins_put(pin_dir, hooks[i].program, bpf_link__fd(*link), err);
	}
	for (i = 0; rc == 0 && i < k->n_hot; i++)
		rc = pin_hot(&k->hot[i], pin_dir, err);
	return rc;
}

int vmem_kernel_commit(const char *pin_dir, struct err *err)
{
	return vmem_pins_commit(pin_dir, err);
}

int vmem_kernel_unpin(const char *pin_dir, struct err *err)
{
	return vmem_pins_remove(pin_dir, err);
}

/* False: its program is not pinned. */
static bool adopt_hot(struct vmem_kernel *k, const char *pin_dir, const char *program)
{
	char name[64];
	int prog_fd, link_fd;

	format_pin(program, name);
	prog_fd = vmem_pins_get(pin_dir, name);
	if (prog_fd < 0)
		return false;
	link_fd = vmem_pins_get(pin_dir, program);
	vmem_hot_keep(k, program, prog_fd, link_fd < 0 ? -1 : link_fd);
	return true;
}

static bool adopt_link(struct vmem_kernel *k, const char *pin_dir, const char *program)
{
	int fd = vmem_pins_get(pin_dir, program);

	if (fd < 0)
		return false;
	if (strcmp(program, "audit"))
		close(fd);
	else
		k->audit_fd = fd;
	return true;
}

/* Is every hook that the control page names still pinned? The links of the hot ones are missing where
 * the node had no jobs. */
static bool adopt_hooks(struct vmem_kernel *k, const char *pin_dir)
{
	for (size_t i = ARRAY_LEN(hooks); i-- > 0;) {
		const char *program = hooks[i].program;

		if (!(k->control->hooks & 1U << i))
			continue;
		if (!(hooks[i].when == HOT ? adopt_hot : adopt_link)(k, pin_dir, program))
			return false;
	}
	return k->audit_fd >= 0 && (!k->control->n_jobs || vmem_hot_is_attached(k));
}

int vmem_kernel_adopt(const char *pin_dir, uint32_t max_spaces, struct vmem_kernel **ret,
		      struct err *err)
{
	_cleanup_(vmem_kernel_closep) struct vmem_kernel *k = kernel_new();
	int i, rc;

	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	rc = vmem_pins_find(pin_dir, err);
	if (rc != 0)
		return rc;
	for (i = 0; i < VMEM_MAP_COUNT; i++) {
		k->map_fd[i] = vmem_pins_get(pin_dir, map_names[i]);
		if (k->map_fd[i] < 0)
			return 3;
	}
	rc = map_memory(k, err);
	if (rc < 0)
		return rc;
	if (k->control->version != VMEM_VERSION || !adopt_hooks(k, pin_dir))
		return 3;
	if (k->jobs[0].max_spaces != max_spaces)
		return 2;
	rc = vmem_pins_tidy(pin_dir, err);
	if (rc < 0)
		return rc;
	format_hooks(k);
	*ret = TAKE_PTR(k);
	return 0;
}

/* Reads another version's job table: the first part of each entry, which no version changes. The
 * map's own entry size may be larger or smaller than ours. */
struct old_walk {
	vmem_kernel_job_fn fn;
	void *ctx;
};

static int walk_old_table(void *ctx, int fd, struct err *err)
{
	struct old_walk *walk = ctx;
	struct bpf_map_info info = { 0 };
	_cleanup_free_ struct vmem_job *job = NULL;
	__u32 len = sizeof(info), slot;
	size_t room;
	int rc = 0;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return err_set(err, -errno, "read the job table of an earlier agent: %m");
	room = info.value_size > sizeof(*job) ? info.value_size : sizeof(*job);
	job = malloc(room);
	if (!job)
		return err_set(err, -ENOMEM, "out of memory");
	for (slot = 1; rc == 0 && slot < info.max_entries; slot++) {
		memset(job, 0, room);
		if (bpf_map_lookup_elem(fd, &slot, job) || !job->cgroup_id)
			continue;
		rc = walk->fn(walk->ctx, job, err);
	}
	return rc;
}

int vmem_kernel_old_jobs(const char *pin_dir, vmem_kernel_job_fn fn, void *ctx, struct err *err)
{
	struct old_walk walk = { fn, ctx };

	return vmem_pins_each_old(pin_dir, map_names[VMEM_MAP_JOBS], walk_old_table, &walk,
				  err);
}

/* Audit. */

/* Deleting while walking: always the first key, until there is none. */
static int seen_clear(int fd, struct err *err)
{
	__u64 key;

	while (!bpf_map_get_next_key(fd, NULL, &key))
		if (bpf_map_delete_elem(fd, &key))
			return err_set(err, -errno, "clear the audit's memory: %m");
	return 0;
}

int vmem_kernel_audit(struct vmem_kernel *k, const struct vmem_job *job, uint32_t slot,
		      struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct vmem_control *c = k->control;
	char none[64];
	ssize_t n;

	c->audit_cgroup_id = job->cgroup_id;
	c->audit_level = job->level;
	c->audit_slot = slot;
	c->audit_pages = 0;
	c->audit_spaces = 0;
	c->audit_failed = 0;
	fd = bpf_iter_create(k->audit_fd);
	if (fd < 0)
		return err_set(err, -errno, "begin an audit: %m");
	do
		n = read(fd, none, sizeof(none));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	if (n < 0)
		return err_set(err, -errno, "audit: %m");
	if (c->audit_failed) {
		seen_clear(k->map_fd[VMEM_MAP_SEEN], NULL);
		return err_set(err, -ENOSPC,
			       "audit: the job has more address spaces than the table holds");
	}
	return seen_clear(k->map_fd[VMEM_MAP_SEEN], err);
}
