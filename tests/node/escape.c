/* SPDX-License-Identifier: GPL-2.0-or-later */
/* escape.c - what a job may try to get out of its limits; one word says how it went.
 *
 * `escape WAY [ARG]` prints "refused: ..." and exits 0 when the way is closed, "ESCAPED: ..."
 * and exits 1 when it is open, "absent: ..." and exits 0 when this machine has no such way.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
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
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

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

static const struct {
	const char *name;
	int (*go)(const char *arg);
} ways[] = {
	{ "ptrace", way_ptrace },     { "getfd", way_getfd },	  { "look", way_look },
	{ "premake", way_premake },   { "premove", way_premove }, { "vm-write", way_vm_write },
	{ "proc-mem", way_proc_mem }, { "projid", way_projid },	  { "write", way_write },
	{ "daemon", way_daemon },     { "map", way_map },
};

int main(int argc, char **argv)
{
	if (getenv("ESCAPE_AS_BYTES")) /* a name that is no text */
		prctl(PR_SET_NAME, "\xff\xfe");
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].go(argc > 2 ? argv[2] : NULL);
	fprintf(stderr, "escape ptrace|vm-write|proc-mem|getfd PID, projid [DIR], write|look "
			"FILE, premake|premove DIR, "
			"daemon, map MIB\n");
	return 2;
}
