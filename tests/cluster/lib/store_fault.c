/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_fault.c - disks for the agent as it is installed, on a machine of any kind: one below
* its database that fails on demand, and one for its jobs that has project quotas.
 *
 * As a shared object in LD_PRELOAD: changes of files named agent.db* ($STORE_FAULT_NAME: another name, as "/ledger.db") fail as the words in the
* file $STORE_FAULT say (empty: none fails, and none is looked at), and the wall clock is ahead by what they say; project ids are kept in extended attributes and limits in memory, and
 * not enforced. As a program (-DCONTROL) it sets the words:
 *	store_fault N once|forever [ERRNO]	the N-th change from now fails, or all from it on
 *	store_fault N kill			SIGKILL ends the process instead of the N-th change
 *	store_fault off				no change fails
 *	store_fault count			prints the number of changes since it was set
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct words {
	int left; /* changes until one fails; 0: none does; -1: each does */
	int forever, error, count, is_kill;
	long long shift_ns; /* by which the wall clock is ahead */
};

static volatile struct words *map_words(void)
{
	static volatile struct words *w;
	const char *path = getenv("STORE_FAULT");
	int fd;
	void *p;

	if (w || !path || !*path)
		return w;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*w)) < 0)
		return NULL;
	p = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return w = p == MAP_FAILED ? NULL : p;
}

#ifdef CONTROL
int main(int argc, char **argv)
{
	volatile struct words *w = map_words();

	if (!w || argc < 2)
		return 2;
	if (!strcmp(argv[1], "count")) {
		printf("%d\n", w->count);
		return 0;
	}
	w->left = 0;
	w->count = 0;
	w->forever = argc > 2 && !strcmp(argv[2], "forever");
	w->is_kill = argc > 2 && !strcmp(argv[2], "kill");
	w->error = argc > 3 ? atoi(argv[3]) : ENOSPC;
	w->left = atoi(argv[1]); /* "off": 0 */
	return 0;
}
#else
#include <dlfcn.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static int is_store(int fd)
{
	char link[64], path[512];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	return strstr(path, getenv("STORE_FAULT_NAME") ?: "/agent.db") != NULL;
}

static int write_fails(int fd)
{
	volatile struct words *w = map_words();
	int saved = errno, is_ours = w && is_store(fd);

	errno = saved;
	if (!is_ours)
		return 0;
	w->count++;
	if (w->left == 0 || (w->left > 0 && --w->left > 0))
		return 0;
	w->left = w->forever ? -1 : 0;
	if (w->is_kill)
		kill(getpid(), SIGKILL);
	errno = w->error;
	return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return write_fails(fd) ? -1 : REAL(pwrite)(fd, p, n, at);
}
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return write_fails(fd) ? -1 : REAL(pwrite64)(fd, p, n, at);
}
ssize_t write(int fd, const void *p, size_t n)
{
	return write_fails(fd) ? -1 : REAL(write)(fd, p, n);
}
int ftruncate(int fd, off_t n)
{
	return write_fails(fd) ? -1 : REAL(ftruncate)(fd, n);
}
int ftruncate64(int fd, off64_t n)
{
	return write_fails(fd) ? -1 : REAL(ftruncate64)(fd, n);
}
int fsync(int fd)
{
	return write_fails(fd) ? -1 : REAL(fsync)(fd);
}
int fdatasync(int fd)
{
	return write_fails(fd) ? -1 : REAL(fdatasync)(fd);
}

int clock_gettime(clockid_t which, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	volatile struct words *w = which == CLOCK_REALTIME ? map_words() : NULL;
	long long ns;
	int r;

	if (!real)
		real = REAL(clock_gettime);
	r = real(which, t);
	if (r < 0 || !w || !w->shift_ns)
		return r;
	ns = t->tv_sec * 1000000000LL + t->tv_nsec + w->shift_ns;
	*t = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	return 0;
}
time_t time(time_t *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return ret ? (*ret = t.tv_sec) : t.tv_sec;
}

/* ---- the disk of the jobs ---- */

#define ATTRIBUTE "trusted.reeve-project"
#define LIMITS_MAX 4096

static struct fs_disk_quota limits[LIMITS_MAX];

int fstatfs(int fd, struct statfs *st)
{
	int r = REAL(fstatfs)(fd, st);

	st->f_type = EXT4_SUPER_MAGIC;
	return r;
}

static int emulate_quota(int cmd, uint32_t project, void *data)
{
	struct fs_disk_quota *q = data, *kept = &limits[project % LIMITS_MAX];

	switch (cmd >> SUBCMDSHIFT) {
	case Q_XGETQSTATV:
		((struct fs_quota_statv *)data)->qs_flags = FS_QUOTA_PDQ_ENFD;
		return 0;
	case Q_XGETQUOTA:
		*q = *kept;
		q->d_bcount = kept->d_blk_hardlimit ? 8 : 0;
		q->d_icount = kept->d_blk_hardlimit ? 1 : 0;
		return 0;
	case Q_XSETQLIM:
		*kept = *q;
		return 0;
	default:
		errno = EINVAL;
		return -1;
	}
}

long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_quotactl_fd)
		return emulate_quota((int)a[1], (uint32_t)a[2], (void *)a[3]);
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct fsxattr *x;
	va_list ap;

	va_start(ap, request);
	x = va_arg(ap, struct fsxattr *);
	va_end(ap);
	if (request == FS_IOC_FSSETXATTR)
		return fsetxattr(fd, ATTRIBUTE, x, sizeof(*x), 0);
	if (request != FS_IOC_FSGETXATTR)
		return REAL(ioctl)(fd, request, x);
	memset(x, 0, sizeof(*x));
	fgetxattr(fd, ATTRIBUTE, x, sizeof(*x));
	return 0;
}
#endif
