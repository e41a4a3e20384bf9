/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.c - the device gate: which jobs may open which device files; includes the skeleton of
 * bpf/devices.bpf.c; see devices.h.
 *
 * The link is pinned beside the directory of maps and not in it: a new version of the program
 * replaces the old one in the same link, in one step.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "agent/enforce/devices.h"
#include "agent/kernel/skeleton.h"
#include "agent/kernel/slots.h"
#include "bpf/devices_abi.h"
#include "devices.skel.h"

#define PROG "devices_gate"

struct devices {
	struct skeleton *kern;
	struct slots *slots;
	struct bpf_link *link; /* NULL: not in force yet */
	char *cgroup;
	char link_path[PATH_MAX]; /* "": not pinned */
	uint32_t n_jobs;
	uint32_t generation; /* of the list of gated devices */
};

/* Marked as an iterator so that skeleton.c does not attach it: that is done here, to a cgroup. */
static const struct skeleton_hook hooks[] = {
	{ PROG, SKELETON_ITERATOR, NULL, "a job can open every device file" },
};

static int configure_object(struct bpf_object *obj, void *ctx)
{
	const struct devices *d = ctx;

	return slots_configure(obj, d->n_jobs);
}

static int open_kern(struct devices *d, const char *pin_dir, struct err *err)
{
	struct skeleton_spec spec = {
		.name = "devices",
		.version = DEVICES_VERSION,
		.hooks = hooks,
		.n_hooks = ARRAY_LEN(hooks),
		.pin_dir = pin_dir,
		.configure = configure_object,
		.ctx = d,
	};
	int r;

	spec.elf = devices_bpf__elf_bytes(&spec.elf_size);
	r = skeleton_open(&spec, &d->kern, err);
	if (r < 0)
		return r;
	if (!skeleton_prog(d->kern, PROG))
		return err_set(err, -EPERM, "%.200s", skeleton_status(d->kern));
	return slots_open(d->kern, sizeof(struct devices_record), d->n_jobs, &d->slots, err);
}

int devices_open(const struct devices_config *config, struct devices **ret, struct err *err)
{
	_cleanup_(devices_closep) struct devices *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->n_jobs = config->max_jobs ? config->max_jobs : 1024;
	d->cgroup = strdup(config->cgroup);
	if (!d->cgroup)
		return err_set(err, -ENOMEM, "out of memory");
	r = open_kern(d, config->pin_dir, err);
	if (r < 0)
		return r;
	if (config->pin_dir && snprintf(d->link_path, sizeof(d->link_path), "%s/link",
					config->pin_dir) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "pin directory name too long");
	*ret = TAKE_PTR(d);
	return 0;
}

struct devices *devices_close(struct devices *d)
{
	if (!d)
		return NULL;
	bpf_link__destroy(d->link); /* a pinned one stays attached */
	slots_close(d->slots);
	skeleton_close(d->kern);
	free(d->cgroup);
	free(d);
	return NULL;
}

/* ---- the list of gated devices ---- */

static __u64 number_of(const struct devices_number *n)
{
	return (__u64)n->major << 32 | n->minor;
}

/* Those of an earlier list that this one has not. */
static void drop_other_numbers(int fd, uint32_t generation)
{
	__u64 key, next;
	__u32 value;
	int r;

	/* The next key before this one is deleted: a walk from a deleted key starts again. */
	for (r = bpf_map_get_next_key(fd, NULL, &next); r == 0;) {
		key = next;
		r = bpf_map_get_next_key(fd, &key, &next);
		if (bpf_map_lookup_elem(fd, &key, &value) == 0 && value != generation)
			bpf_map_delete_elem(fd, &key);
	}
}

/* What the gate does with a major number: is any of its devices gated, and is a range of minors gated
 * whether listed or not? */
static struct devices_major find_major(const struct devices_list *list, __u32 major)
{
	struct devices_major m = { 0 };

	for (size_t i = 0; i < list->n_numbers; i++)
		m.is_gated |= list->numbers[i].major == major;
	for (size_t i = 0; i < list->n_minors; i++)
		if (list->minors[i].major == major)
			m = (struct devices_major){ 1, 1, list->minors[i].first,
						    list->minors[i].last };
	return m;
}

/* `gated_only` 1: writes the majors with gated devices; 0: clears the others. */
static int write_majors(int fd, const struct devices_list *list, int gated_only)
{
	for (__u32 major = 0; major < DEVICES_MAJORS; major++) {
		struct devices_major m = find_major(list, major), old;

		if (!!m.is_gated != gated_only)
			continue;
		if (bpf_map_lookup_elem(fd, &major, &old) == 0 && !memcmp(&m, &old, sizeof(m)))
			continue;
		if (bpf_map_update_elem(fd, &major, &m, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

/* One that no entry of the map has. Entries of two generations are there when an earlier agent
 * was killed while it wrote a list. */
static uint32_t next_generation(int fd)
{
	__u32 value, highest = 0;
	__u64 key, next;

	for (int r = bpf_map_get_next_key(fd, NULL, &next); r == 0;
	     r = bpf_map_get_next_key(fd, &key, &next)) {
		key = next;
		if (bpf_map_lookup_elem(fd, &key, &value) == 0 && value > highest)
			highest = value;
	}
	return highest + 1;
}

/* First the new entries, then the old ones are removed: a device on both lists is gated all the
 * time. */
int devices_gate(struct devices *d, const struct devices_list *list, struct err *err)
{
	int gated = skeleton_map(d->kern, "gated"), majors = skeleton_map(d->kern, "majors"),
	    r = 0;

	d->generation = next_generation(gated);
	for (size_t i = 0; i < list->n_numbers && r == 0; i++) {
		__u64 number = number_of(&list->numbers[i]);

		r = bpf_map_update_elem(gated, &number, &d->generation, BPF_ANY);
	}
	if (r == 0)
		r = write_majors(majors, list, 1);
	if (r < 0)
		return err_set(err, errno == E2BIG ? -ENOSPC : -errno,
			       "write the list of gated devices: %m");
	drop_other_numbers(gated, d->generation);
	write_majors(majors, list, 0);
	return 0;
}

/* ---- the link ---- */

/* The id of the cgroup at `path`: its inode number. 0: there is none. */
static uint64_t cgroup_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* The id of the cgroup that a link is attached to; 0: that cgroup is gone. */
static uint64_t link_cgroup(const struct bpf_link *link)
{
	struct bpf_link_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) < 0)
		return 0;
	return info.type == BPF_LINK_TYPE_CGROUP ? info.cgroup.cgroup_id : 0;
}

/* A new link on the cgroup as it is now. The old link, of a cgroup that is gone, is closed last, so that
 * d->link is never without one that works. */
static int attach_gate(struct devices *d, struct err *err)
{
	_cleanup_close_ int fd = open(d->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", d->cgroup);
	link = bpf_program__attach_cgroup(skeleton_prog(d->kern, PROG), fd);
	if (!link)
		return err_set(err, -errno, "attach the device gate to %s: %m", d->cgroup);
	if (d->link_path[0]) {
		unlink(d->link_path); /* of a cgroup that is gone */
		if (bpf_link__pin(link, d->link_path) < 0) {
			int r = err_set(err, -errno, "pin the device gate at %s: %m",
					d->link_path);

			bpf_link__destroy(link);
			return r;
		}
	}
	bpf_link__destroy(d->link);
	d->link = link;
	return 0;
}

/* Puts this agent's program into the link of an earlier agent. 1; 0: there is none. */
static int adopt_link(struct devices *d, struct err *err)
{
	struct bpf_link *link = d->link_path[0] ? bpf_link__open(d->link_path) : NULL;

	if (!link)
		return 0;
	if (link_cgroup(link) != cgroup_of(d->cgroup)) {
		bpf_link__destroy(link);
		return 0;
	}
	if (bpf_link__update_program(link, skeleton_prog(d->kern, PROG)) < 0) {
		int r = err_set(err, -errno, "take over the device gate: %m");

		bpf_link__destroy(link);
		return r;
	}
	d->link = link;
	return 1;
}

int devices_hold(struct devices *d, struct err *err)
{
	int r = d->link ? 1 : adopt_link(d, err);

	return r ? r : attach_gate(d, err);
}

int devices_check(struct devices *d, struct err *err)
{
	int r;

	if (d->link && link_cgroup(d->link) == cgroup_of(d->cgroup))
		return 0;
	r = attach_gate(d, err);
	return r < 0 ? r : 1;
}

/* ---- jobs ---- */

static bool is_granted(const struct devices_job *job, __u64 number)
{
	for (size_t i = 0; i < job->n; i++)
		if (number_of(&job->granted[i]) == number)
			return true;
	return false;
}

/* Removes what the job's cgroup could open and is not among its grants. `job` NULL: all grants of
 * cgroups that are no job's. */
static void drop_grants(const struct devices *d, const struct devices_job *job)
{
	int fd = skeleton_map(d->kern, "grants"), ids = skeleton_map(d->kern, "job_ids"), r;
	struct devices_grant key, next;
	__u32 slot;

	for (r = bpf_map_get_next_key(fd, NULL, &next); r == 0;) {
		bool is_old;

		key = next;
		r = bpf_map_get_next_key(fd, &key, &next);
		is_old = job ? key.cgroup_id == job->cgroup_id && !is_granted(job, key.number)
			     : bpf_map_lookup_elem(ids, &key.cgroup_id, &slot) < 0;
		if (is_old)
			bpf_map_delete_elem(fd, &key);
	}
}

/* -ENOSPC: more grants on the node than the map holds. */
static int write_grants(const struct devices *d, const struct devices_job *job)
{
	int fd = skeleton_map(d->kern, "grants"), r = 0;
	__u32 yes = 1;

	for (size_t i = 0; i < job->n && r == 0; i++) {
		struct devices_grant key = { job->cgroup_id, number_of(&job->granted[i]) };

		if (bpf_map_update_elem(fd, &key, &yes, BPF_ANY) < 0)
			r = errno == E2BIG ? -ENOSPC : -errno;
	}
	return r;
}

/* Grants come before the job is published: until then its processes open no gated device. A job of an
 * earlier agent loses what it has no more before it gets what is new. After a failure it has no grants. */
int devices_add(struct devices *d, const struct devices_job *job, struct err *err)
{
	uint32_t slot;
	int r = slots_add(d->slots, job->cgroup_id, job->job, &slot), is_new = r == 0;

	if (r < 0)
		return err_set(err, r, "job %lld: %s", (long long)job->job, strerror(-r));
	drop_grants(d, job);
	r = write_grants(d, job);
	if (r == 0 && is_new)
		r = slots_publish(d->slots, slot);
	if (r < 0) {
		slots_remove(d->slots, slot);
		drop_grants(d, NULL);
		return err_set(err, r, "job %lld: grant devices: %s", (long long)job->job,
			       strerror(-r));
	}
	return 0;
}

void devices_remove(struct devices *d, uint64_t cgroup_id)
{
	struct devices_job nothing = { .cgroup_id = cgroup_id };
	int slot = slots_find(d->slots, cgroup_id);

	if (slot < 0)
		return;
	drop_grants(d, &nothing);
	slots_remove(d->slots, (uint32_t)slot);
}

unsigned devices_prune(struct devices *d)
{
	unsigned n = slots_prune(d->slots);

	drop_grants(d, NULL);
	return n;
}

int devices_read(const struct devices *d, uint64_t cgroup_id, struct devices_counts *ret)
{
	const struct devices_record *rec;
	int slot = slots_find(d->slots, cgroup_id);

	if (slot < 0)
		return slot;
	rec = slots_record(d->slots, (uint32_t)slot);
	*ret = (struct devices_counts){
		.n_granted = __atomic_load_n(&rec->n_granted, __ATOMIC_RELAXED),
		.n_refused = __atomic_load_n(&rec->n_refused, __ATOMIC_RELAXED),
		.last_refused = { (uint32_t)(rec->last_refused >> 32),
				  (uint32_t)rec->last_refused },
	};
	return 0;
}

/* BPF_F_QUERY_EFFECTIVE counts the programs of the cgroups above too: systemd attaches its own to the unit,
 * our gate is above it. */
int devices_is_held(const char *cgroup)
{
	_cleanup_close_ int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__u32 n = 0;

	if (fd < 0 ||
	    bpf_prog_query(fd, BPF_CGROUP_DEVICE, BPF_F_QUERY_EFFECTIVE, NULL, NULL, &n) < 0)
		return -errno;
	return n > 0;
}

void devices_forget(const char *pin_dir)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/link", pin_dir) < PATH_MAX) {
		/* the last reference alone would be put by a worker of the kernel, a while later */
		fd = bpf_obj_get(path);
		if (fd >= 0) {
			bpf_link_detach(fd);
			close(fd);
		}
		unlink(path);
	}
	skeleton_forget(pin_dir, "devices");
}
