/* devices.c - the gate in front of device files: which jobs may open which; includes the skeleton of
 * bpf/devices.bpf.c; see devices.h.
 *
 * The link is pinned beside the directory of maps and not in it: when a new version of the
 * program comes, it takes the place of the old one in the same link, in one step.
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
	struct bpf_link *link; /* NULL: does not hold yet */
	char *cgroup;
	char link_path[PATH_MAX]; /* "": not pinned */
	uint32_t n_jobs;
	uint32_t generation; /* of the list of gated devices */
};

/* Attached here and not by kern: it needs to know where. */
static const struct skeleton_hook hooks[] = {
	{ PROG, SKELETON_ITERATOR, NULL, "a job can open every device file" },
};

static int configure(struct bpf_object *obj, void *ctx)
{
	static const char *const by_job[] = { "job_ids", "jobs" };
	const struct devices *d = ctx;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(by_job) && r == 0; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, by_job[i]);

		r = map ? bpf_map__set_max_entries(map, d->n_jobs) : -EINVAL;
	}
	return r;
}

static int open_kern(struct devices *d, const char *pin_dir, struct err *err)
{
	size_t size;
	struct skeleton_spec spec = {
		.name = "devices",
		.version = DEVICES_VERSION,
		.elf = devices_bpf__elf_bytes(&size),
		.hooks = hooks,
		.n_hooks = ARRAY_LEN(hooks),
		.pin_dir = pin_dir,
		.configure = configure,
		.ctx = d,
	};
	struct slots_maps maps = { .size = sizeof(struct devices_record), .n = d->n_jobs };
	int r;

	spec.elf_size = size;
	r = skeleton_open(&spec, &d->kern, err);
	if (r < 0)
		return r;
	if (!skeleton_prog(d->kern, PROG))
		return err_set(err, -EPERM, "%.200s", skeleton_status(d->kern));
	maps.ids_fd = skeleton_map(d->kern, "job_ids");
	maps.records_fd = skeleton_map(d->kern, "jobs");
	return slots_open(&maps, &d->slots, err);
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
	bpf_link__destroy(d->link); /* a pinned one stands */
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

/* What an earlier list had and this one has not. */
static void drop_other_numbers(int fd, uint32_t generation)
{
	__u64 key, next;
	__u32 value;
	int r;

	/* Get the next key before deleting this one: after a deleted key the walk starts from the beginning. */
	for (r = bpf_map_get_next_key(fd, NULL, &next); r == 0;) {
		key = next;
		r = bpf_map_get_next_key(fd, &key, &next);
		if (bpf_map_lookup_elem(fd, &key, &value) == 0 && value != generation)
			bpf_map_delete_elem(fd, &key);
	}
}

static struct devices_major major_of(const struct devices_list *list, __u32 major)
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

/* `gated_only`: those with gated devices; else the others, where they were gated. */
static int write_majors(int fd, const struct devices_list *list, int gated_only)
{
	for (__u32 major = 0; major < DEVICES_MAJORS; major++) {
		struct devices_major m = major_of(list, major), old;

		if (!!m.is_gated != gated_only)
			continue;
		if (bpf_map_lookup_elem(fd, &major, &old) == 0 && !memcmp(&m, &old, sizeof(m)))
			continue;
		if (bpf_map_update_elem(fd, &major, &m, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

/* One that differs from those in the map. */
static uint32_t next_generation(int fd)
{
	__u32 value = 0;
	__u64 key;

	if (bpf_map_get_next_key(fd, NULL, &key) == 0)
		bpf_map_lookup_elem(fd, &key, &value);
	return value + 1;
}

/* First what is new, then away with the rest: what is on both lists is held all the time. */
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

static uint64_t cgroup_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* The cgroup that a link stands on; 0: that is gone. */
static uint64_t link_cgroup(const struct bpf_link *link)
{
	struct bpf_link_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) < 0)
		return 0;
	return info.type == BPF_LINK_TYPE_CGROUP ? info.cgroup.cgroup_id : 0;
}

static int attach(struct devices *d, struct err *err)
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

/* The link of an earlier agent, with this agent's program in it. 0: there is none. */
static int take_over(struct devices *d, struct err *err)
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
	int r = d->link ? 1 : take_over(d, err);

	return r ? r : attach(d, err);
}

int devices_check(struct devices *d, struct err *err)
{
	int r;

	if (d->link && link_cgroup(d->link) == cgroup_of(d->cgroup))
		return 0;
	r = attach(d, err);
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

/* Those of the job's cgroup that are not among its grants (`job` NULL: of cgroups that no
 * slot has). */
static void drop_grants(const struct devices *d, const struct devices_job *job)
{
	int fd = skeleton_map(d->kern, "grants"), ids = skeleton_map(d->kern, "job_ids"), r;
	struct devices_grant key, next;
	__u32 slot;

	for (r = bpf_map_get_next_key(fd, NULL, &next); r == 0;) {
		bool is_over;

		key = next;
		r = bpf_map_get_next_key(fd, &key, &next);
		is_over = job ? key.cgroup_id == job->cgroup_id && !is_granted(job, key.number)
			      : bpf_map_lookup_elem(ids, &key.cgroup_id, &slot) < 0;
		if (is_over)
			bpf_map_delete_elem(fd, &key);
	}
}

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

	if (snprintf(path, sizeof(path), "%s/link", pin_dir) < PATH_MAX)
		unlink(path);
	skeleton_forget(pin_dir, "devices");
}
