/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc.c - tier 3: adds up the address spaces of a cgroup from /proc; see vmem/proc.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include "agent/enforce/vmem/proc.h"
#include "common/cleanup.h"

#define KCMP_VM 1 /* <linux/kcmp.h> */

/* At most size - 1 bytes, always ended by NUL; < 0 on failure, and buf is "". */
static ssize_t read_at(int dir_fd, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

struct size {
	unsigned long pages, private_pages;
};

#define SKIP_8 " %*s %*s %*s %*s %*s %*s %*s %*s"

/* The name of the program, if wanted, and where its stack begins (another place after exec(), but without
 * randomisation of addresses). "pid (name) state" and numbers: a name may have any byte but NUL. 0: not to be seen. */
static unsigned long read_program(const char *stat_path, char *comm, size_t size)
{
	unsigned long stack = 0;
	char text[1024];
	char *name, *end;

	if (read_at(AT_FDCWD, stat_path, text, sizeof(text)) <= 0)
		return 0;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end)
		return 0;
	*end = '\0';
	if (comm)
		snprintf(comm, size, "%s", name + 1);
	/* Field 28; the third comes after the name. */
	if (sscanf(end + 1, " %*c" SKIP_8 SKIP_8 SKIP_8 " %lu", &stack) != 1)
		return 0;
	return stack;
}

/* statm: size resident shared text lib data dt; data is data_vm + stack_vm. 0: no mm. */
static struct size size_of(const char *statm_path)
{
	struct size s = { 0, 0 };
	char text[160];

	if (read_at(AT_FDCWD, statm_path, text, sizeof(text)) > 0 &&
	    sscanf(text, "%lu %*u %*u %*u %*u %lu", &s.pages, &s.private_pages) != 2)
		s.pages = s.private_pages = 0;
	return s;
}

/* The main thread has exited, or is a kernel thread: the size that another thread shows, whose
 * id is left in *tid. */
static struct size size_by_thread(unsigned int pid, unsigned int *tid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct size s = { 0, 0 };
	struct dirent *e;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !s.pages && (e = readdir(dir))) {
		*tid = (unsigned int)strtoul(e->d_name, NULL, 10);
		if (!*tid)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/task/%u/statm", pid, *tid);
		s = size_of(path);
	}
	return s;
}

struct vmem_process *vmem_proc_room(struct vmem_proc_list *list)
{
	size_t room = list->room ? 2 * list->room : 64;
	struct vmem_process *at;

	if (list->n < list->room)
		return &list->at[list->n];
	at = realloc(list->at, room * sizeof(*at));
	if (!at)
		return NULL;
	list->at = at;
	list->room = room;
	return &list->at[list->n];
}

static int add_process(struct vmem_proc_list *list, unsigned int pid)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	struct vmem_process *p = vmem_proc_room(list);
	unsigned int tid = pid;
	struct size s;
	char path[64];

	if (!p)
		return -ENOMEM;
	memset(p, 0, sizeof(*p));
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	p->stack = read_program(path, p->comm, sizeof(p->comm));
	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	s = size_of(path);
	if (!s.pages)
		s = size_by_thread(pid, &tid);
	if (!s.pages)
		return 0; /* ended, or a kernel thread */
	if (tid != pid) {
		snprintf(path, sizeof(path), "/proc/%u/stat", tid);
		p->stack = read_program(path, NULL, 0);
	}
	p->pid = tid;
	p->bytes = s.pages * page;
	p->private_bytes = s.private_pages * page;
	list->n++;
	return 0;
}

static int add_cgroup(int dir_fd, struct vmem_proc_list *list)
{
	int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	unsigned int pid;
	int rc = 0;

	if (!f)
		return fd < 0 ? -errno : -ENOMEM;
	while (rc == 0 && fscanf(f, "%u", &pid) == 1)
		if (pid)
			rc = add_process(list, pid);
	return rc;
}

/* The cgroup and all below it, at most 64 levels deep. A cgroup that is removed meanwhile has no
 * processes: ENOENT on opening its files, ENODEV on reading them. */
static int add_tree(int dir_fd, struct vmem_proc_list *list, int depth)
{
	int rc = add_cgroup(dir_fd, list), fd;
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *e;

	if (rc < 0)
		return rc;
	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (rc == 0 && depth < 64 && dir && (e = readdir(dir))) {
		_cleanup_close_ int sub = -1;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		sub = openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = sub < 0 ? 0 : add_tree(sub, list, depth + 1);
	}
	return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
}

/* Largest first, and sharers beside each other: kcmp() returns 0 for the same address space, 1
 * and 2 for an order by the kernel's own (hidden) pointers, -1 where it is not available. */
static int by_space(const void *a, const void *b)
{
	const struct vmem_process *x = a, *y = b;
	long order;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	order = syscall(SYS_kcmp, x->pid, y->pid, KCMP_VM, 0UL, 0UL);
	if (order == 1 || order == 2)
		return order == 1 ? -1 : 1;
	return order == 0 ? 0 : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Leaves one process of those that share an address space, and adds up the sums. Without kcmp()
 * sharers count each. */
static void merge_sharers(struct vmem_proc_list *list)
{
	size_t i, kept = 0;

	for (i = 0; i < list->n; i++) {
		if (kept && list->at[kept - 1].bytes == list->at[i].bytes &&
		    syscall(SYS_kcmp, list->at[kept - 1].pid, list->at[i].pid, KCMP_VM, 0UL,
			    0UL) == 0)
			continue;
		list->at[kept++] = list->at[i];
		list->bytes += list->at[i].bytes;
		list->private_bytes += list->at[i].private_bytes;
	}
	list->n = kept;
}

int vmem_proc_audit(int cgroup_fd, struct vmem_proc_list *list, struct err *err)
{
	int rc;

	list->n = 0;
	list->bytes = list->private_bytes = 0;
	rc = add_tree(cgroup_fd, list, 0);
	if (rc < 0)
		return err_set(err, rc, "list the processes of a cgroup: %s", strerror(-rc));
	if (list->n > 1)
		qsort(list->at, list->n, sizeof(*list->at), by_space);
	merge_sharers(list);
	return 0;
}

/* The sum of its mappings; `otherwise` when they cannot be listed. The kernel's own page for old system calls lies
 * above all others and is in no count. */
static uint64_t mapped_bytes(unsigned int pid, uint64_t otherwise)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	unsigned long from, to;
	uint64_t sum = 0;
	size_t room = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ESRCH ? 0 : otherwise;
	while (getline(&line, &room, f) > 0)
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && to > from && from <= LONG_MAX)
			sum += to - from;
	return ferror(f) && errno != ESRCH ? otherwise : sum;
}

static void check_process(struct vmem_process *p)
{
	uint64_t mapped = mapped_bytes(p->pid, p->bytes);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/stat", p->pid);
	if (mapped < p->bytes && read_program(path, NULL, 0) == p->stack)
		p->bytes = mapped;
}

void vmem_proc_check(struct vmem_proc_list *list)
{
	list->bytes = 0;
	for (size_t i = 0; i < list->n; i++) {
		check_process(&list->at[i]);
		list->bytes += list->at[i].bytes;
	}
}

void vmem_proc_done(struct vmem_proc_list *list)
{
	free(list->at);
	memset(list, 0, sizeof(*list));
}

static int by_size(const void *a, const void *b)
{
	const struct vmem_process *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

void vmem_proc_sort(struct vmem_process *at, size_t n)
{
	if (n > 1)
		qsort(at, n, sizeof(*at), by_size);
}
