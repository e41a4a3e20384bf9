/* SPDX-License-Identifier: GPL-2.0-or-later */
/* final.c - reads final records, which agent/launch/final_write.c writes; see final.h.
 *
 * A record is the line "reeve-final 1", lines "key value", then the cgroup's files as they were,
 * each below its name in brackets, and "[end]" last: without it the record is not complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/enforce/final.h"
#include "common/cleanup.h"
#include "common/err.h"

/* A line "key number" of a cgroup file (key "": the file has the number alone), and the field
 * that it is stored in. */
struct counter {
	const char *file, *key;
	int64_t scale;
	size_t offset; /* into struct final */
	bool is_usage; /* then the figure is marked as measured */
};
#define USAGE(file, key, scale, field)                                                         \
	{                                                                                      \
		file, key, scale, offsetof(struct final, usage.field), true                    \
	}
#define PLAIN(file, key, field)                                                                \
	{                                                                                      \
		file, key, 1, offsetof(struct final, field), false                             \
	}
static const struct counter counters[] = {
	USAGE("cpu.stat", "usage_usec", 1000, cpu_ns),
	USAGE("cpu.stat", "user_usec", 1000, cpu_user_ns),
	USAGE("cpu.stat", "system_usec", 1000, cpu_system_ns),
	USAGE("memory.peak", "", 1, mem_peak_bytes),
	USAGE("pids.peak", "", 1, procs_peak),
	USAGE("memory.stat", "pgmajfault", 1, major_faults),
	PLAIN("memory.events", "oom_kill", oom_kills),
	PLAIN("pids.events", "max", pids_max),
};

static const struct text_key {
	const char *key;
	size_t offset, size;
} heads[] = {
	{ "boot", offsetof(struct final, boot), sizeof(((struct final *)0)->boot) },
	{ "result", offsetof(struct final, result), sizeof(((struct final *)0)->result) },
	{ "code", offsetof(struct final, code), sizeof(((struct final *)0)->code) },
	{ "status", offsetof(struct final, status), sizeof(((struct final *)0)->status) },
	{ "failure", offsetof(struct final, failure), sizeof(((struct final *)0)->failure) },
};

/* A decimal number of the whole text, not negative; -EINVAL. */
static int parse_number(const char *text, int64_t *ret)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < 0)
		return -EINVAL;
	*ret = n;
	return 0;
}

/* A line before the first section. Unknown keys are skipped, so that a newer writer can add some; -EINVAL for
 * a text that is too long for its field. */
static int set_head(struct final *f, const char *key, const char *value)
{
	int64_t n;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		if (!strcmp(key, heads[i].key)) {
			if (strlen(value) >= heads[i].size)
				return -EINVAL;
			strcpy((char *)f + heads[i].offset, value);
			return 0;
		}
	if (parse_number(value, &n) < 0)
		return 0;
	if (!strcmp(key, "job"))
		f->job = n;
	else if (!strcmp(key, "attempt") && n <= INT32_MAX)
		f->attempt = (int32_t)n;
	else if (!strcmp(key, "boottime_ns"))
		f->boottime_ns = n;
	else if (!strcmp(key, "realtime_ns"))
		f->realtime_ns = n;
	return 0;
}

/* A figure that is unknown, no number, or too large for its unit is skipped: not measured. */
static void set_counter(struct final *f, const char *file, const char *key, const char *value)
{
	int64_t n, *to;

	if (parse_number(value, &n) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		const struct counter *c = &counters[i];

		if (strcmp(file, c->file) || strcmp(key, c->key) || n > INT64_MAX / c->scale)
			continue;
		to = (int64_t *)((char *)f + c->offset);
		if (c->is_usage)
			usage_set(&f->usage, to, n * c->scale);
		else
			*to = n;
	}
}

/* A line of io.stat, "8:0 rbytes=1 wbytes=2 rios=...", one a device: added up. Devices on top of
 * others (7 loop, 9 md, 253 device mapper) would count the same bytes twice: left out. */
static void add_io(struct final *f, char *line)
{
	char *word, *device = strsep(&line, " ");
	int64_t read_bytes = 0, write_bytes = 0;
	bool found = false;

	if (!line || !strncmp(device, "7:", 2) || !strncmp(device, "253:", 4) ||
	    !strncmp(device, "9:", 2))
		return;
	while ((word = strsep(&line, " "))) {
		if (!strncmp(word, "rbytes=", 7))
			found = !parse_number(word + 7, &read_bytes);
		if (!strncmp(word, "wbytes=", 7))
			found = !parse_number(word + 7, &write_bytes);
	}
	if (!found)
		return;
	usage_set(&f->usage, &f->usage.read_bytes, f->usage.read_bytes + read_bytes);
	usage_set(&f->usage, &f->usage.write_bytes, f->usage.write_bytes + write_bytes);
}

/* -EINVAL only for a head that does not fit; unknown lines are skipped. */
static int parse_line(struct final *f, const char *section, char *line)
{
	char *value = line, *key;

	if (!strcmp(section, "io.stat")) {
		add_io(f, line);
		return 0;
	}
	if (!strchr(line, ' ')) {
		set_counter(f, section, "", line);
		return 0;
	}
	key = strsep(&value, " ");
	if (!section[0])
		return set_head(f, key, value);
	set_counter(f, section, key, value);
	return 0;
}

/* Cuts `text` into lines. 0 only for a record with "[end]", a job, an attempt and an exit code. */
static int parse_lines(char *text, struct final *f)
{
	char section[64] = "", *line, *rest = text;
	bool is_whole = false;

	line = strsep(&rest, "\n");
	if (strcmp(line, "reeve-final 1"))
		return -EINVAL;
	while (!is_whole && (line = strsep(&rest, "\n"))) {
		size_t n = strlen(line);

		if (n > 2 && line[0] == '[' && line[n - 1] == ']' && n < sizeof(section)) {
			line[n - 1] = '\0';
			strcpy(section, line + 1);
			is_whole = !strcmp(section, "end");
		} else if (parse_line(f, section, line) < 0) {
			return -EINVAL;
		}
	}
	return is_whole && f->job > 0 && f->attempt > 0 && f->code[0] ? 0 : -EINVAL;
}

int final_parse(const char *text, size_t size, struct final *ret, struct err *err)
{
	_cleanup_free_ char *copy = NULL;
	struct final f = { 0 };

	if (size > FINAL_SIZE_MAX || memchr(text, '\0', size))
		return err_set(err, -EINVAL, "not a final record: too large or not text");
	copy = strndup(text, size);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	if (parse_lines(copy, &f) < 0)
		return err_set(err, -EINVAL, "not a complete final record of version 1");
	*ret = f;
	return 0;
}

int final_load(const char *dir, int64_t job, int32_t attempt, struct final *ret,
	       struct err *err)
{
	_cleanup_free_ char *text = malloc(FINAL_SIZE_MAX + 1);
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct final f;
	ssize_t n;
	int r;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "%s/%" PRId64 "-%" PRId32, dir, job, attempt);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", path);
	n = read(fd, text, FINAL_SIZE_MAX + 1);
	if (n < 0)
		return err_set(err, -errno, "read %s: %m", path);
	r = final_parse(text, (size_t)n, &f, err);
	if (r < 0)
		return err_prefix(err, r, "%s", path);
	if (f.job != job || f.attempt != attempt)
		return err_set(err, -EINVAL, "%s is the record of another job", path);
	*ret = f;
	return 0;
}

void final_remove(const char *dir, int64_t job, int32_t attempt)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%" PRId64 "-%" PRId32, dir, job, attempt);
	unlink(path);
}

/* As systemd names signals in $EXIT_STATUS: "KILL", "RTMIN+3", or a number. 0: not known. */
static int32_t signal_number(const char *name)
{
	int64_t n;

	for (int i = 1; i < NSIG; i++) {
		const char *known = sigabbrev_np(i);

		if (known && !strcmp(known, name))
			return i;
	}
	if (!strncmp(name, "RTMIN+", 6) && !parse_number(name + 6, &n) && n < 64)
		return SIGRTMIN + (int32_t)n;
	if (!parse_number(name, &n) && n < NSIG)
		return (int32_t)n;
	return 0;
}

/* systemd.exec(5), "Process exit codes": the statuses of a unit that systemd could not set up. */
static const struct {
	int32_t status;
	const char *words;
} setup_failures[] = {
	{ 200, "the working directory could not be entered" },
	{ 203, "the launcher could not be executed: " },
	{ 209, "standard output could not be set up" },
	{ 216, "the user's groups could not be set" },
	{ 217, "the user is not known on this node" },
	{ 219, "the cgroup could not be entered" },
	{ 226, "the job's view of the file system could not be made" },
	{ 228, "a system call filter could not be set up" },
};

/* SIGKILL and an OOM kill in the cgroup: the memory limit, since memory.oom.group is set. */
void final_end(const struct final *f, struct job_end *ret)
{
	int64_t n;

	*ret = (struct job_end){ .kind = END_EXITED, .exit_status = -1 };
	ret->reason.requested = ret->reason.reached = -1;
	ret->reason.at_ns = f->realtime_ns;
	if (!strcmp(f->code, "exited")) {
		if (!parse_number(f->status, &n) && n <= 255)
			ret->exit_status = (int32_t)n;
	} else if (!strcmp(f->code, "killed") || !strcmp(f->code, "dumped")) {
		ret->kind = END_SIGNALED;
		ret->signal = signal_number(f->status);
	}
	if (f->oom_kills > 0 && ret->signal == SIGKILL) {
		ret->kind = END_LIMIT;
		ret->reason.limit = LIMIT_MEM;
	}
}

bool final_is_setup_failure(const struct final *f, const char *launcher, struct job_end *ret)
{
	int64_t n;

	if (*f->failure) {
		ret->kind = END_FAILED;
		snprintf(ret->reason.text, sizeof(ret->reason.text), "cannot %.500s",
			 f->failure);
		return true;
	}
	if (strcmp(f->code, "exited") || parse_number(f->status, &n) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(setup_failures); i++)
		if (setup_failures[i].status == n) {
			ret->kind = END_FAILED;
			snprintf(ret->reason.text, sizeof(ret->reason.text),
				 "%s%.200s (%" PRId64 ")", setup_failures[i].words,
				 n == 203 ? launcher : "", n);
			return true;
		}
	return false;
}
