/* SPDX-License-Identifier: GPL-2.0-or-later */
/* escape.c - what a job may try to get out of its limits; one word says how it went.
 *
 * `escape WAY [ARG]` prints "refused: ..." and exits 0 when the way is closed, "ESCAPED: ..."
 * and exits 1 when it is open, "absent: ..." and exits 0 when this machine has no such way.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "common/cleanup.h"

static int print_outcome(const char *word, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int print_outcome(const char *word, int status, const char *fmt, ...)
{
	va_list ap;

	printf("%s: ", word);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return status;
}

#define REFUSED(...) print_outcome("refused", 0, __VA_ARGS__)
#define ESCAPED(...) print_outcome("ESCAPED", 1, __VA_ARGS__)
#define ABSENT(...) print_outcome("absent", 0, __VA_ARGS__)

static void write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("%s: %s\n", path, strerror(errno));
}

static int way_ptrace(const char *arg)
{
	pid_t pid = atoi(arg);

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return REFUSED("ptrace of %d: %s", (int)pid, strerror(errno));
	return ESCAPED("ptrace of %d", (int)pid);
}

static int way_vm_write(const char *arg)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };

	if (process_vm_writev(atoi(arg), &here, 1, &there, 1, 0) < 0 && errno != EFAULT)
		return REFUSED("process_vm_writev: %s", strerror(errno));
	return ESCAPED("process_vm_writev was allowed");
}

static int way_proc_mem(const char *arg)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", atoi(arg));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return REFUSED("open %s: %s", path, strerror(errno));
	return ESCAPED("opened %s", path);
}

static int way_getfd(const char *arg)
{
	int process = pidfd_open(atoi(arg), 0);

	if (process < 0 || pidfd_getfd(process, 0, 0) < 0)
		return REFUSED("pidfd_getfd: %s", strerror(errno));
	return ESCAPED("a descriptor of process %s was taken", arg);
}

/* What another process sees of the disk: its root is a way around one's own. */
static int way_look(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return REFUSED("open %s: %s", path, strerror(errno));
	return ESCAPED("opened %s", path);
}

/* Waits for the next job of DIR (a slice's cgroup) and makes cgroups in its, while systemd has
 * handed that to the user. False: in no time. */
static bool make_beforehand(const char *dir, char unit[PATH_MAX])
{
	char event[4096], name[PATH_MAX + 32];
	int watch = inotify_init1(IN_CLOEXEC);
	const struct inotify_event *e = (void *)event;

	if (inotify_add_watch(watch, dir, IN_CREATE) < 0 ||
	    read(watch, event, sizeof(event)) < (ssize_t)sizeof(*e))
		return false;
	snprintf(unit, PATH_MAX, "%s/%s", dir, e->name);
	snprintf(name, sizeof(name), "%s/work", unit);
	for (int i = 0; i < 2000000; i++) {
		if (mkdir(name, 0755) < 0)
			continue;
		strcat(name, "/cgroup.type");
		write_text(name, "threaded");
		snprintf(name, sizeof(name), "%s/mine", unit);
		mkdir(name, 0755);
		printf("made %s in time\n", unit);
		fflush(stdout);
		return true;
	}
	return false;
}

/* From outside the job: then one more, as soon as the first ones are gone: the unit's cgroup is root's by then. */
static int way_premake(const char *dir)
{
	char unit[PATH_MAX], name[PATH_MAX + 32];

	if (!make_beforehand(dir, unit))
		return REFUSED("mkdir in %s: %s", dir, strerror(errno));
	snprintf(name, sizeof(name), "%s/mine", unit);
	for (int i = 0; i < 6000 && access(name, F_OK) == 0; i++)
		usleep(10000);
	if (access(name, F_OK) == 0)
		return ESCAPED("%s stays", name);
	snprintf(name, sizeof(name), "%s/again", unit);
	return mkdir(name, 0755) < 0 ? REFUSED("mkdir %s: %s", name, strerror(errno))
				     : ESCAPED("%s is the user's", name);
}

/* And moves there what is in the job's cgroup, the launcher. */
static int way_premove(const char *dir)
{
	char unit[PATH_MAX], from[PATH_MAX + 32], to[PATH_MAX + 32], pid[16];
	int n = 0;

	if (!make_beforehand(dir, unit))
		return REFUSED("mkdir in %s: %s", dir, strerror(errno));
	snprintf(from, sizeof(from), "%s/cgroup.procs", unit);
	snprintf(to, sizeof(to), "%s/work/cgroup.procs", unit);
	for (int i = 0; i < 200000 && access(to, F_OK) == 0; i++) {
		_cleanup_fclose_ FILE *f = fopen(from, "re");
		_cleanup_close_ int fd = open(to, O_WRONLY | O_CLOEXEC);

		while (f && fscanf(f, "%15s", pid) == 1)
			n += fd >= 0 && write(fd, pid, strlen(pid)) > 0;
	}
	return REFUSED("%d processes were moved", n);
}

static int way_projid(const char *arg)
{
	_cleanup_close_ int fd = -1;
	struct fsxattr x;
	char path[4096];

	snprintf(path, sizeof(path), "%s/projid", arg ? arg : getenv("REEVE_JOBFS"));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return ABSENT("%s: %s", path, strerror(errno));
	x.fsx_projid = 0;
	if (ioctl(fd, FS_IOC_FSSETXATTR, &x) < 0)
		return REFUSED("FS_IOC_FSSETXATTR: %s", strerror(errno));
	return ESCAPED("the project id of %s is now 0", path);
}

/* Of so many MiB, which the job did not request. */
static int way_map(const char *arg)
{
	size_t size = (size_t)atoi(arg ? arg : "1024") << 20;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return REFUSED("mmap of %zu bytes: %s", size, strerror(errno));
	return ESCAPED("%zu bytes are mapped", size);
}

static int way_write(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == ENOENT ? ABSENT("%s", path)
				       : REFUSED("open %s: %s", path, strerror(errno));
	if (write(fd, "0", 1) < 0)
		return REFUSED("write %s: %s", path, strerror(errno));
	return ESCAPED("wrote to %s", path);
}

/* Fork twice, leave session and group behind, go on after the parents are gone. */
static int way_daemon(const char *arg)
{
	(void)arg;
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			_cleanup_close_ int null = open("/dev/null", O_RDWR);

			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
			execlp("sleep", "sleep", "86399", (char *)NULL);
			_exit(127);
		}
		_exit(0);
	}
	wait(NULL);
	usleep(300000);
	return REFUSED("a daemon was left behind: the node must end it");
}

/* ---- memory that is passed to another job ---- */

#define MIB ((size_t)1 << 20)

/* An abstract name: the network is shared by all jobs. */
static int open_meeting(struct sockaddr_un *at, socklen_t *size)
{
	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    (size_t)snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1,
					     "reeve-escape-%d", (int)getuid()));
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

union one_fd {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static bool fill_memory(int fd, size_t bytes)
{
	static char block[MIB];

	memset(block, 'x', sizeof(block));
	for (size_t done = 0; done < bytes; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return false;
	return true;
}

static bool send_fd(int to, int fd)
{
	union one_fd control = { .buf = { 0 } };
	struct iovec part = { (char *)"x", 1 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &m, MSG_NOSIGNAL) == 1;
}

/* -1: none came. */
static int receive_fd(int from)
{
	union one_fd control;
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof(control.buf) };
	const struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) < 1)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* A file of that number of MiB, to the job that waits in `escape memfd-hold`; then this job may end. */
static int way_memfd_send(const char *arg)
{
	_cleanup_close_ int fd = memfd_create("passed", MFD_CLOEXEC), to = -1;
	struct sockaddr_un at;
	socklen_t size;
	char byte;

	if (fd < 0 || !fill_memory(fd, (size_t)atoi(arg) * MIB))
		return REFUSED("a memfd: %s", strerror(errno));
	to = open_meeting(&at, &size);
	for (int i = 0; connect(to, (struct sockaddr *)&at, size) < 0; i++) {
		if (i == 300)
			return ABSENT("no job waits for it");
		usleep(100000);
	}
	if (!send_fd(to, fd) || read(to, &byte, 1) != 1)
		return REFUSED("the descriptor was not passed: %s", strerror(errno));
	return ESCAPED("%s MiB were passed", arg);
}

/* Holds each file that comes, and maps none of it, for that number of seconds. */
static int way_memfd_hold(const char *arg)
{
	struct sockaddr_un at;
	socklen_t size;
	int listener = open_meeting(&at, &size), peer, fd;
	struct stat st = { 0 };
	int n = 0;

	if (bind(listener, (struct sockaddr *)&at, size) < 0 || listen(listener, 4) < 0)
		return ABSENT("listen: %s", strerror(errno));
	printf("waits\n");
	fflush(stdout);
	alarm((unsigned)atoi(arg));
	while ((peer = accept(listener, NULL, NULL)) >= 0) {
		fd = receive_fd(peer); /* both stay open */
		if (fd >= 0 && fstat(fd, &st) == 0 && write(peer, "x", 1) == 1)
			ESCAPED("%d held, the last of %lld bytes", ++n, (long long)st.st_size);
		else
			REFUSED("no descriptor came: %s", strerror(errno));
		fflush(stdout);
	}
	return 0;
}

/* ---- io_uring ---- */

struct uring {
	int fd;
	struct io_uring_params p;
	struct io_uring_sqe *sqes;
	char *sq, *cq;
};

static bool uring_open(struct uring *u)
{
	const int both = PROT_READ | PROT_WRITE;

	u->fd = (int)syscall(SYS_io_uring_setup, 8, &u->p);
	if (u->fd < 0)
		return false;
	u->sq = mmap(NULL, u->p.sq_off.array + u->p.sq_entries * sizeof(__u32), both,
		     MAP_SHARED, u->fd, IORING_OFF_SQ_RING);
	u->cq = mmap(NULL, u->p.cq_off.cqes + u->p.cq_entries * sizeof(struct io_uring_cqe),
		     both, MAP_SHARED, u->fd, IORING_OFF_CQ_RING);
	u->sqes = mmap(NULL, u->p.sq_entries * sizeof(*u->sqes), both, MAP_SHARED, u->fd,
		       IORING_OFF_SQES);
	return u->sq != MAP_FAILED && u->cq != MAP_FAILED && (void *)u->sqes != MAP_FAILED;
}

/* One write, done by a worker of the kernel's. Its result. */
static int uring_write(struct uring *u, int fd, const void *data, size_t size, off_t offset)
{
	__u32 *tail = (__u32 *)(void *)(u->sq + u->p.sq_off.tail);
	__u32 *head = (__u32 *)(void *)(u->cq + u->p.cq_off.head);
	const struct io_uring_cqe *cqes = (void *)(u->cq + u->p.cq_off.cqes);
	__u32 at = *tail & (u->p.sq_entries - 1);
	int result;

	u->sqes[at] = (struct io_uring_sqe){ .opcode = IORING_OP_WRITE,
					     .flags = IOSQE_ASYNC,
					     .fd = fd,
					     .addr = (__u64)(uintptr_t)data,
					     .len = (__u32)size,
					     .off = (__u64)offset };
	((__u32 *)(void *)(u->sq + u->p.sq_off.array))[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	result = cqes[*head & (u->p.cq_entries - 1)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

/* The line of a task's file in /proc that begins with `key`. */
static bool read_line(const char *path, const char *key, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	while (f && fgets(ret, (int)size, f))
		if (!strncmp(ret, key, strlen(key))) {
			ret[strcspn(ret, "\n")] = '\0';
			return true;
		}
	return false;
}

/* Prints the cores and the cgroup of each of this process's tasks. True: one is elsewhere than this
 * one. */
static bool list_tasks(void)
{
	_cleanup_closedir_ DIR *d = opendir("/proc/self/task");
	char own[256] = "", home[512] = "", path[300], name[64] = "", cpus[256] = "",
	     cgroup[512] = "";
	bool is_beyond = false;
	struct dirent *e;

	read_line("/proc/self/status", "Cpus_allowed_list:", own, sizeof(own));
	read_line("/proc/self/cgroup", "0:", home, sizeof(home));
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		if (!read_line(path, "", name, sizeof(name)))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		read_line(path, "Cpus_allowed_list:", cpus, sizeof(cpus));
		snprintf(path, sizeof(path), "/proc/self/task/%s/cgroup", e->d_name);
		read_line(path, "0:", cgroup, sizeof(cgroup));
		printf("%s %s %s\n", name, cpus + strlen("Cpus_allowed_list:") + 1, cgroup);
		is_beyond |= strcmp(own, cpus) || strcmp(home, cgroup);
	}
	return is_beyond;
}

/* 64 MiB into a file of jobfs. */
static int way_uring_write(const char *path)
{
	static char block[MIB];
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct uring u = { 0 };
	int r;

	if (!uring_open(&u))
		return ABSENT("io_uring: %s", strerror(errno));
	for (off_t at = 0; at < 64 * (off_t)MIB; at += r) {
		r = uring_write(&u, fd, block, sizeof(block), at);
		if (r <= 0)
			return REFUSED("after %lld bytes: %s", (long long)at, strerror(-r));
	}
	return ESCAPED("64 MiB were written");
}

/* Workers that may use every CPU, as IORING_REGISTER_IOWQ_AFF asks for; and the thread that polls. */
static int way_uring_cpus(const char *arg)
{
	_cleanup_close_ int fd = memfd_create("small", MFD_CLOEXEC);
	struct uring u = { .p = { .flags = arg ? IORING_SETUP_SQPOLL : 0,
				  .sq_thread_idle = 2000 } };
	unsigned char all[128];
	int r = 0;

	memset(all, 0xff, sizeof(all));
	if (!uring_open(&u))
		return errno == EPERM ? REFUSED("io_uring_setup: %s", strerror(errno))
				      : ABSENT("io_uring_setup: %s", strerror(errno));
	if (!arg && syscall(SYS_io_uring_register, u.fd, IORING_REGISTER_IOWQ_AFF, all,
			    sizeof(all)) < 0)
		r = -errno;
	if (!arg && r == 0)
		r = uring_write(&u, fd, "x", 1, 0);
	usleep(100000);
	if (list_tasks())
		return ESCAPED("a task of the job may run on CPUs that are not the job's");
	return REFUSED("all run on the job's CPUs: %s", r < 0 ? strerror(-r) : "done");
}

/* ---- keys, performance counters ---- */

/* Keys of the user until the quota of the user is reached: they outlive the job. */
static int way_keys(const char *arg)
{
	char name[32];
	int n = 0;

	(void)arg;
	for (;; n++) {
		snprintf(name, sizeof(name), "escape-%d-%d", (int)getpid(), n);
		if (syscall(SYS_add_key, "user", name, name, strlen(name),
			    KEY_SPEC_USER_KEYRING) < 0)
			break;
	}
	return REFUSED("after %d keys: %s", n, strerror(errno));
}

/* Is the key of this description found in the keyrings of this process? */
static int way_key(const char *name)
{
	long key = syscall(SYS_request_key, "user", name, NULL, 0);

	if (key < 0)
		return REFUSED("no key %s: %s", name, strerror(errno));
	return ESCAPED("key %s is %ld", name, key);
}

/* A process's counter; "-1": a whole CPU's. */
static int way_perf(const char *arg)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_SW_CPU_CLOCK,
				     .exclude_kernel = 1 };
	pid_t pid = atoi(arg);

	if (syscall(SYS_perf_event_open, &a, pid, pid < 0 ? 0 : -1, -1, 0) < 0)
		return REFUSED("perf_event_open of %s: %s", arg, strerror(errno));
	return ESCAPED("perf_event_open of %s", arg);
}

static const struct {
	const char *name;
	int (*go)(const char *arg);
} ways[] = {
	{ "ptrace", way_ptrace },
	{ "getfd", way_getfd },
	{ "look", way_look },
	{ "premake", way_premake },
	{ "premove", way_premove },
	{ "vm-write", way_vm_write },
	{ "proc-mem", way_proc_mem },
	{ "projid", way_projid },
	{ "write", way_write },
	{ "daemon", way_daemon },
	{ "map", way_map },
	{ "perf", way_perf },
	{ "keys", way_keys },
	{ "key", way_key },
	{ "memfd-send", way_memfd_send },
	{ "memfd-hold", way_memfd_hold },
	{ "uring-write", way_uring_write },
	{ "uring-cpus", way_uring_cpus },
};

int main(int argc, char **argv)
{
	if (getenv("ESCAPE_AS_BYTES")) /* a name that is no text */
		prctl(PR_SET_NAME, "\xff\xfe");
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].go(argc > 2 ? argv[2] : NULL);
	fprintf(stderr,
		"escape ptrace|vm-write|proc-mem|getfd PID, projid [DIR], write|look "
		"FILE, premake|premove DIR, "
		"daemon, map MIB, memfd-send MIB, memfd-hold SECONDS, uring-write FILE, "
		"uring-cpus [poll], keys, key NAME, perf PID|-1\n");
	return 2;
}
