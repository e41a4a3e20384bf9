/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - reads the usage of a job from its cgroup's files and /proc; see files.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "agent/sample/files.h"
#include "common/cleanup.h"

#define PROCESS_LEVELS 8 /* of sub-cgroups of a job whose processes are counted */

enum file {
	FILE_CPU,
	FILE_PRESSURE,
	FILE_MEM,
	FILE_MEM_PEAK,
	FILE_MEM_STAT,
	FILE_SWAP,
	FILE_TASKS,
	FILE_TASKS_PEAK,
	FILE_IO,
	N_FILES,
};

struct files {
	char *path;
	int fd[N_FILES]; /* -1: not wanted or not there */
	struct sample last;
};

typedef uint32_t (*parse_fn)(const char *text, struct sample *s);

/* The number after `key` in "key N\n" lines, or after "key=" in others. */
static bool find_number(const char *text, const char *key, uint64_t *ret)
{
	size_t n = strlen(key);

	for (const char *p = strstr(text, key); p; p = strstr(p + 1, key)) {
		if (p != text && !isspace((unsigned char)p[-1]))
			continue;
		if (p[n] != ' ' && p[n] != '=')
			continue;
		*ret = strtoull(p + n + 1, NULL, 10);
		return true;
	}
	return false;
}

static uint32_t parse_cpu(const char *text, struct sample *s)
{
	uint64_t total, system;

	if (!find_number(text, "usage_usec", &total))
		return 0;
	s->cpu_ns = total * 1000;
	if (!find_number(text, "system_usec", &system))
		return SAMPLE_CPU;
	s->cpu_system_ns = system * 1000;
	s->cpu_user_ns = s->cpu_ns - s->cpu_system_ns; /* user_usec, but for its rounding */
	return SAMPLE_CPU | SAMPLE_CPU_SPLIT;
}

static uint32_t parse_pressure(const char *text, struct sample *s)
{
	uint64_t us;

	if (!find_number(text, "total", &us)) /* the first line is "some" */
		return 0;
	s->cpu_pressure_ns = us * 1000;
	return SAMPLE_CPU_PRESSURE;
}

static uint32_t parse_mem(const char *text, struct sample *s)
{
	s->mem_bytes = strtoull(text, NULL, 10);
	return SAMPLE_MEM;
}

static uint32_t parse_mem_peak(const char *text, struct sample *s)
{
	s->mem_peak_bytes = strtoull(text, NULL, 10);
	return SAMPLE_MEM_PEAK;
}

static uint32_t parse_mem_stat(const char *text, struct sample *s)
{
	uint32_t have = 0;
	uint64_t faults, major;

	if (find_number(text, "anon", &s->anon_bytes) &&
	    find_number(text, "file", &s->file_bytes) &&
	    find_number(text, "shmem", &s->shmem_bytes))
		have |= SAMPLE_MEM_PARTS;
	if (find_number(text, "kernel", &s->kernel_bytes))
		have |= SAMPLE_MEM_KERNEL;
	if (find_number(text, "pgfault", &faults) && find_number(text, "pgmajfault", &major)) {
		s->minor_faults = faults > major ? faults - major : 0;
		s->major_faults = major;
		have |= SAMPLE_FAULTS;
	}
	return have;
}

static uint32_t parse_swap(const char *text, struct sample *s)
{
	s->swap_bytes = strtoull(text, NULL, 10);
	return SAMPLE_SWAP;
}

static uint32_t parse_tasks(const char *text, struct sample *s)
{
	s->tasks = strtoull(text, NULL, 10);
	if (s->tasks > s->tasks_peak)
		s->tasks_peak = s->tasks;
	return SAMPLE_TASKS;
}

static uint32_t parse_tasks_peak(const char *text, struct sample *s)
{
	s->tasks_peak = strtoull(text, NULL, 10);
	return SAMPLE_TASKS_PEAK_EXACT;
}

/* One line a device. The line of a removed device vanishes: the sums must not fall. */
static uint32_t parse_io(const char *text, struct sample *s)
{
	uint64_t n, read = 0, written = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!*line)
			break;
		if (find_number(line, "rbytes", &n))
			read += n;
		if (find_number(line, "wbytes", &n))
			written += n;
	}
	s->read_bytes = read > s->read_bytes ? read : s->read_bytes;
	s->written_bytes = written > s->written_bytes ? written : s->written_bytes;
	return SAMPLE_IO;
}

static const struct {
	const char *name;
	uint32_t bits; /* enum sample_have that it gives */
	parse_fn parse;
} table[N_FILES] = {
	[FILE_CPU] = { "cpu.stat", SAMPLE_CPU | SAMPLE_CPU_SPLIT, parse_cpu },
	[FILE_PRESSURE] = { "cpu.pressure", SAMPLE_CPU_PRESSURE, parse_pressure },
	[FILE_MEM] = { "memory.current", SAMPLE_MEM, parse_mem },
	[FILE_MEM_PEAK] = { "memory.peak", SAMPLE_MEM_PEAK, parse_mem_peak },
	[FILE_MEM_STAT] = { "memory.stat", SAMPLE_MEM_PARTS | SAMPLE_MEM_KERNEL | SAMPLE_FAULTS,
			    parse_mem_stat },
	[FILE_SWAP] = { "memory.swap.current", SAMPLE_SWAP, parse_swap },
	[FILE_TASKS] = { "pids.current", SAMPLE_TASKS, parse_tasks },
	[FILE_TASKS_PEAK] = { "pids.peak", SAMPLE_TASKS_PEAK_EXACT, parse_tasks_peak },
	[FILE_IO] = { "io.stat", SAMPLE_IO, parse_io },
};

int files_open(const char *path, uint32_t want, struct files **ret, struct err *err)
{
	_cleanup_(files_closep) struct files *f = NULL;
	_cleanup_close_ int dir = -1;

	f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < N_FILES; i++)
		f->fd[i] = -1;
	f->path = strdup(path);
	if (!f->path)
		return err_set(err, -ENOMEM, "out of memory");
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_set(err, -errno, "open %s: %m", path);
	for (int i = 0; i < N_FILES; i++) {
		if (!(table[i].bits & want))
			continue;
		f->fd[i] = openat(dir, table[i].name, O_RDONLY | O_CLOEXEC);
		if (f->fd[i] < 0 && errno != ENOENT && errno != EOPNOTSUPP)
			return err_set(err, -errno, "open %s/%s: %m", path, table[i].name);
	}
	*ret = TAKE_PTR(f);
	return 0;
}

struct files *files_close(struct files *f)
{
	if (!f)
		return NULL;
	for (int i = 0; i < N_FILES; i++)
		if (f->fd[i] >= 0)
			close(f->fd[i]);
	free(f->path);
	free(f);
	return NULL;
}

struct tally { /* over the processes of a job */
	uint64_t procs, rss_pages;
};

static void count_process(const char *pid, struct tally *t)
{
	_cleanup_close_ int fd = -1;
	char path[64], text[128];
	uint64_t resident;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/statm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = '\0';
	t->procs++;
	if (sscanf(text, "%*u %lu", &resident) == 1)
		t->rss_pages += resident;
}

static void count_cgroup(const char *path, int levels, struct tally *t)
{
	_cleanup_fclose_ FILE *procs = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	char below[PATH_MAX], line[32];
	struct dirent *e;

	if (snprintf(below, sizeof(below), "%s/cgroup.procs", path) >= (int)sizeof(below))
		return;
	procs = fopen(below, "re");
	while (procs && fgets(line, sizeof(line), procs)) {
		line[strcspn(line, "\n")] = '\0';
		count_process(line, t);
	}
	dir = levels > 0 ? opendir(path) : NULL;
	while (dir && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, e->d_name) <
		    (int)sizeof(below))
			count_cgroup(below, levels - 1, t);
	}
}

static void read_processes(struct files *f, struct sample *last)
{
	struct tally t = { 0, 0 };

	count_cgroup(f->path, PROCESS_LEVELS, &t);
	last->procs = t.procs;
	last->rss_bytes = t.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (last->procs > last->procs_peak)
		last->procs_peak = last->procs;
	if (last->rss_bytes > last->rss_peak_bytes)
		last->rss_peak_bytes = last->rss_bytes;
	if (last->procs_peak > 0) /* else no process was ever seen: unknown, not 0 */
		last->have |= SAMPLE_PROCS | SAMPLE_RSS;
}

/* Copies the figures that `bits` stand for. */
static void copy_bits(uint32_t bits, const struct sample *from, struct sample *to)
{
#define COPY(bit, field)                                                                       \
	do {                                                                                   \
		if (bits & (bit))                                                              \
			to->field = from->field;                                               \
	} while (0)
	COPY(SAMPLE_CPU, cpu_ns);
	COPY(SAMPLE_CPU_SPLIT, cpu_user_ns);
	COPY(SAMPLE_CPU_SPLIT, cpu_system_ns);
	COPY(SAMPLE_CPU_PRESSURE, cpu_pressure_ns);
	COPY(SAMPLE_MEM, mem_bytes);
	COPY(SAMPLE_MEM_PEAK, mem_peak_bytes);
	COPY(SAMPLE_MEM_PARTS, anon_bytes);
	COPY(SAMPLE_MEM_PARTS, file_bytes);
	COPY(SAMPLE_MEM_PARTS, shmem_bytes);
	COPY(SAMPLE_MEM_KERNEL, kernel_bytes);
	COPY(SAMPLE_SWAP, swap_bytes);
	COPY(SAMPLE_RSS, rss_bytes);
	COPY(SAMPLE_RSS, rss_peak_bytes);
	COPY(SAMPLE_FAULTS, minor_faults);
	COPY(SAMPLE_FAULTS, major_faults);
	COPY(SAMPLE_TASKS, tasks);
	COPY(SAMPLE_TASKS | SAMPLE_TASKS_PEAK_EXACT, tasks_peak);
	COPY(SAMPLE_PROCS, procs);
	COPY(SAMPLE_PROCS, procs_peak);
	COPY(SAMPLE_IO, read_bytes);
	COPY(SAMPLE_IO, written_bytes);
#undef COPY
	to->have |= bits;
}

/* ENODEV: the cgroup of an open file was removed. */
void files_read(struct files *f, uint32_t want, struct sample *ret)
{
	char text[8192];
	ssize_t n;

	for (int i = 0; i < N_FILES && !f->last.gone; i++) {
		if (f->fd[i] < 0 || !(table[i].bits & want))
			continue;
		n = pread(f->fd[i], text, sizeof(text) - 1, 0);
		if (n < 0 && errno == ENODEV)
			f->last.gone = true;
		if (n < 0)
			continue;
		text[n] = '\0';
		f->last.have |= table[i].parse(text, &f->last);
	}
	if ((want & (SAMPLE_RSS | SAMPLE_PROCS)) && access(f->path, F_OK) == 0)
		read_processes(f, &f->last);
	ret->gone |= f->last.gone;
	copy_bits(f->last.have & want, &f->last, ret);
}

int files_have(const char *path, uint32_t bit)
{
	char file[PATH_MAX];

	for (int i = 0; i < N_FILES; i++) {
		if (!(table[i].bits & bit))
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", path, table[i].name) >= PATH_MAX)
			return 0;
		return access(file, R_OK) == 0;
	}
	return bit == SAMPLE_RSS || bit == SAMPLE_PROCS;
}
