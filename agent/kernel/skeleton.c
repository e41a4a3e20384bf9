/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skeleton.c - loads a BPF object hook by hook, pins it, or adopts what is pinned; see
 * kernel/skeleton.h. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "agent/kernel/skeleton.h"
#include "common/cleanup.h"

#define SKELETON_MAX_HOOKS 24

struct skeleton {
	struct skeleton_spec spec;
	struct bpf_object *obj;
	struct bpf_link *links[SKELETON_MAX_HOOKS];
	int why[SKELETON_MAX_HOOKS]; /* 0: attached, or to be; 1: not needed; else -errno */
	char dir[PATH_MAX];	     /* "" when nothing is pinned */
	char status[4096];
	unsigned n_pinned, n_found;
};

/* No program is set to load yet. NULL: no memory, or configure() failed. */
static struct bpf_object *open_object(const struct skeleton_spec *spec)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = spec->name);
	struct bpf_program *prog;
	struct bpf_object *obj;

	obj = bpf_object__open_mem(spec->elf, spec->elf_size, &opts);
	if (!obj)
		return NULL;
	bpf_object__for_each_program(prog, obj) bpf_program__set_autoload(prog, false);
	if (spec->configure && spec->configure(obj, spec->ctx) < 0) {
		bpf_object__close(obj);
		return NULL;
	}
	return obj;
}

/* Does the kernel accept this program? Loaded alone, with maps of its own, then closed. 0 or
 * -errno. */
static int try_hook(const struct skeleton_spec *spec, const struct skeleton_hook *hook)
{
	struct bpf_object *obj = open_object(spec);
	struct bpf_program *prog;
	int r;

	if (!obj)
		return -ENOMEM;
	prog = bpf_object__find_program_by_name(obj, hook->prog);
	if (!prog) {
		bpf_object__close(obj);
		return -ENOENT;
	}
	bpf_program__set_autoload(prog, true);
	r = bpf_object__load(obj);
	bpf_object__close(obj);
	return r;
}

static int hook_index(const struct skeleton *k, const char *prog)
{
	for (size_t i = 0; i < k->spec.n_hooks; i++)
		if (!strcmp(k->spec.hooks[i].prog, prog))
			return (int)i;
	return -ENOENT;
}

static int pin_path(const struct skeleton *k, const char *kind, const char *name, char *ret)
{
	int n = snprintf(ret, PATH_MAX, "%s/%s_%s", k->dir, kind, name);

	return n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Opens the links that an earlier process pinned; their programs need not be loaded again. */
static void find_pinned(struct skeleton *k)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < k->spec.n_hooks; i++) {
		if (k->spec.hooks[i].kind == SKELETON_ITERATOR)
			continue;
		if (pin_path(k, "link", k->spec.hooks[i].prog, path) < 0)
			continue;
		k->links[i] = bpf_link__open(path);
		if (k->links[i])
			k->n_found++;
	}
}

/* In the order of the table: a hook that replaces another must come after it. */
static void choose_hooks(struct skeleton *k)
{
	const struct skeleton_hook *h;
	int other;

	for (size_t i = 0; i < k->spec.n_hooks; i++) {
		h = &k->spec.hooks[i];
		other = h->instead_of ? hook_index(k, h->instead_of) : -ENOENT;
		if (k->links[i])
			k->why[i] = 0;
		else if (other >= 0 && k->why[other] == 0)
			k->why[i] = 1;
		else if (h->kind == SKELETON_TRAMPOLINE && k->spec.best_tier >= 2)
			k->why[i] = -ECANCELED;
		else
			k->why[i] = try_hook(&k->spec, h);
	}
}

static int make_dirs(const char *path)
{
	char part[PATH_MAX];

	for (const char *p = strchr(path + 1, '/');; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", p ? (int)(p - path) : (int)strlen(path),
			 path);
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return -errno;
		if (!p)
			return 0;
	}
}

static void remove_pins(const char *dir)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	rmdir(dir);
}

/* Every PIN_DIR/NAME-v*, but `except` ("": none). */
static void remove_versions(const char *pin_dir, const char *name, const char *except)
{
	_cleanup_closedir_ DIR *d = opendir(pin_dir);
	char prefix[64], path[PATH_MAX];
	struct dirent *e;

	if (!d)
		return;
	snprintf(prefix, sizeof(prefix), "%s-v", name);
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) || !strcmp(e->d_name, except))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", pin_dir, e->d_name) < PATH_MAX)
			remove_pins(path);
	}
}

void skeleton_forget(const char *pin_dir, const char *name)
{
	remove_versions(pin_dir, name, "");
}

/* libbpf reuses a map that is pinned at the path, if it has the same shape, and pins a new one
 * there otherwise. Internal maps (.rodata, .bss) are each process's own. */
static int set_pins(struct skeleton *k, struct bpf_object *obj)
{
	char path[PATH_MAX];
	struct bpf_map *map;
	int r;

	if (!k->dir[0])
		return 0;
	bpf_object__for_each_map(map, obj)
	{
		if (bpf_map__is_internal(map))
			continue;
		r = pin_path(k, "map", bpf_map__name(map), path);
		if (r == 0)
			r = bpf_map__set_pin_path(map, path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_object(struct skeleton *k)
{
	struct bpf_program *prog;
	int r;

	k->obj = open_object(&k->spec);
	if (!k->obj)
		return -ENOMEM;
	for (size_t i = 0; i < k->spec.n_hooks; i++) {
		prog = bpf_object__find_program_by_name(k->obj, k->spec.hooks[i].prog);
		if (prog)
			bpf_program__set_autoload(prog, k->why[i] == 0 && !k->links[i]);
	}
	r = set_pins(k, k->obj);
	return r < 0 ? r : bpf_object__load(k->obj);
}

static void drop_links(struct skeleton *k)
{
	for (size_t i = 0; i < k->spec.n_hooks; i++) {
		bpf_link__destroy(k->links[i]);
		k->links[i] = NULL;
	}
	k->n_found = 0;
}

/* Pinned maps of another shape (max_jobs was changed) cannot be reused: they and their links are
 * removed, and new ones made. */
static int load_or_rebuild(struct skeleton *k)
{
	int r = load_object(k);

	if (r >= 0 || !k->dir[0] || access(k->dir, F_OK) < 0)
		return r;
	bpf_object__close(k->obj);
	k->obj = NULL;
	drop_links(k);
	remove_pins(k->dir);
	choose_hooks(k);
	return load_object(k);
}

/* A hook that loads but cannot be attached gets its errno, the others go on. A link that cannot
 * be pinned holds as long as this process. */
static void attach_hooks(struct skeleton *k)
{
	const struct skeleton_hook *h;
	char path[PATH_MAX];

	for (size_t i = 0; i < k->spec.n_hooks; i++) {
		h = &k->spec.hooks[i];
		if (k->why[i] != 0 || k->links[i] || h->kind == SKELETON_ITERATOR)
			continue;
		k->links[i] =
			bpf_program__attach(bpf_object__find_program_by_name(k->obj, h->prog));
		if (!k->links[i]) {
			k->why[i] = -errno;
			continue;
		}
		if (!k->dir[0] || pin_path(k, "link", h->prog, path) < 0)
			continue;
		if (bpf_link__pin(k->links[i], path) == 0)
			k->n_pinned++;
	}
}

static const char *describe_reason(int why)
{
	switch (why) {
	case -EPERM:
		return "the kernel does not permit it (BPF trampolines or privilege)";
	case -ESRCH:
	case -ENOENT:
		return "this kernel has no such function or tracepoint";
	case -ECANCELED:
		return "switched off by configuration";
	default:
		return strerror(-why);
	}
}

static void write_status(struct skeleton *k)
{
	const struct skeleton_hook *h;
	size_t n = 0;

	for (size_t i = 0; i < k->spec.n_hooks; i++) {
		h = &k->spec.hooks[i];
		if (k->why[i] >= 0 || !h->lost || n >= sizeof(k->status))
			continue;
		n += (size_t)snprintf(k->status + n, sizeof(k->status) - n, "%s: hook %s: %s\n",
				      h->lost, h->prog, describe_reason(k->why[i]));
	}
}

int skeleton_open(const struct skeleton_spec *spec, struct skeleton **ret, struct err *err)
{
	_cleanup_(skeleton_closep) struct skeleton *k = NULL;
	int r;

	if (spec->n_hooks > SKELETON_MAX_HOOKS)
		return err_set(err, -E2BIG, "%s: too many hooks", spec->name);
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->spec = *spec;
	if (spec->pin_dir) {
		r = snprintf(k->dir, sizeof(k->dir), "%s/%s-v%d", spec->pin_dir, spec->name,
			     spec->version);
		if (r >= PATH_MAX - 64) /* the pins' own names come behind it */
			return err_set(err, -ENAMETOOLONG, "pin directory name too long");
		r = make_dirs(k->dir);
		if (r < 0)
			return err_set(err, r, "make %s (is bpffs mounted there?): %s", k->dir,
				       strerror(-r));
		find_pinned(k);
	}
	choose_hooks(k);
	r = load_or_rebuild(k);
	if (r < 0)
		return err_set(err, r, "%s: load BPF maps and programs: %s", spec->name,
			       strerror(-r));
	attach_hooks(k);
	if (k->dir[0])
		remove_versions(k->spec.pin_dir, k->spec.name, strrchr(k->dir, '/') + 1);
	write_status(k);
	*ret = TAKE_PTR(k);
	return 0;
}

struct skeleton *skeleton_close(struct skeleton *k)
{
	if (!k)
		return NULL;
	drop_links(k);
	bpf_object__close(k->obj);
	free(k);
	return NULL;
}

bool skeleton_has(const struct skeleton *k, const char *prog)
{
	int i = hook_index(k, prog);

	return i >= 0 && k->why[i] == 0;
}

int skeleton_map(const struct skeleton *k, const char *map)
{
	return bpf_object__find_map_fd_by_name(k->obj, map);
}

uint64_t skeleton_n_lost(const struct skeleton *k)
{
	uint64_t n = 0;
	uint32_t zero = 0;

	bpf_map_lookup_elem(skeleton_map(k, "lost"), &zero, &n);
	return n;
}

struct bpf_program *skeleton_prog(const struct skeleton *k, const char *prog)
{
	return skeleton_has(k, prog) ? bpf_object__find_program_by_name(k->obj, prog) : NULL;
}

bool skeleton_adopted(const struct skeleton *k)
{
	return k->n_found > 0 && k->n_pinned == 0;
}

const char *skeleton_status(const struct skeleton *k)
{
	return k->status;
}
