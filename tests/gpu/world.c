/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world.c - parses the file of a world, moves its clock, and reads the loads of demos. See world.h. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/cleanup.h"
#include "tests/gpu/world.h"

#define MIB (1ULL << 20)

/* "key=value" of one line; "" where it is not there. */
static const char *find_value(char *words[], int n, const char *key)
{
	size_t k = strlen(key);

	for (int i = 0; i < n; i++)
		if (!strncmp(words[i], key, k) && words[i][k] == '=')
			return words[i] + k + 1;
	return "";
}

static uint64_t read_number(char *words[], int n, const char *key, uint64_t otherwise)
{
	const char *v = find_value(words, n, key);

	return *v ? strtoull(v, NULL, 0) : otherwise;
}

static uint64_t parse_seconds(const char *text)
{
	return (uint64_t)(strtod(text, NULL) * 1e6 + 0.5);
}

/* In us. Absent: `otherwise`. */
static uint64_t read_time(char *words[], int n, const char *key, uint64_t otherwise)
{
	const char *v = find_value(words, n, key);

	return *v ? parse_seconds(v) : otherwise;
}

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	for (; *to; to++)
		if (*to == '_')
			*to = ' ';
}

/* rc are codes of NVML: 3 not supported, 4 no permission. */
static void parse_accounting(struct world_gpu *g, const char *how)
{
	g->acct_mode = !strcmp(how, "on");
	g->acct_rc = !strcmp(how, "none") ? 3 : 0;
	g->acct_set_rc = !strcmp(how, "denied") ? 4 : 0;
}

static int parse_gpu(struct world *w, int i, char *words[], int n)
{
	struct world_gpu *g = &w->gpus[i];

	if (i < 0 || i >= WORLD_GPUS)
		return -1;
	*g = (struct world_gpu){ .is_there = true };
	snprintf(g->uuid, sizeof(g->uuid), "%s", find_value(words, n, "uuid"));
	copy_text(g->name, sizeof(g->name), find_value(words, n, "name"));
	snprintf(g->bus, sizeof(g->bus), "%s", find_value(words, n, "bus"));
	g->minor = (unsigned)read_number(words, n, "minor", (uint64_t)i);
	g->watts = (unsigned)read_number(words, n, "watts", 0);
	g->mem = read_number(words, n, "mem", 16384) * MIB;
	g->used = read_number(words, n, "used", 0) * MIB;
	g->reserved = read_number(words, n, "reserved", 0) * MIB;
	g->has_util = strcmp(find_value(words, n, "utilization"), "no") != 0;
	g->has_energy = strcmp(find_value(words, n, "energy"), "no") != 0;
	g->is_mig = !strcmp(find_value(words, n, "mig"), "yes");
	parse_accounting(g, *find_value(words, n, "accounting")
				    ? find_value(words, n, "accounting")
				    : "none");
	if (i >= w->n_gpus)
		w->n_gpus = i + 1;
	return *g->uuid ? 0 : -1;
}

static int parse_instance(struct world *w, int i, char *words[], int n)
{
	struct world_gpu *g = &w->gpus[i];
	struct world_instance *m;
	char card[64];

	if (i < 0 || i >= w->n_gpus || g->n_instances == WORLD_INSTANCES)
		return -1;
	m = &g->instances[g->n_instances++];
	snprintf(m->uuid, sizeof(m->uuid), "%s", find_value(words, n, "uuid"));
	snprintf(card, sizeof(card), "%.60s", g->name);
	snprintf(m->name, sizeof(m->name), "%.50s MIG %.30s", card,
		 find_value(words, n, "profile"));
	m->mem = read_number(words, n, "mem", 4864) * MIB;
	m->gi = (unsigned)read_number(words, n, "gi", (uint64_t)g->n_instances);
	m->ci = (unsigned)read_number(words, n, "ci", 0);
	return 0;
}

static int parse_process(struct world *w, int i, char *words[], int n)
{
	struct world_process *p = &w->processes[w->n_processes];

	if (i < 0 || i >= w->n_gpus || w->n_processes == WORLD_PROCESSES)
		return -1;
	*p = (struct world_process){
		.gpu = i,
		.instance = (int)read_number(words, n, "instance", UINT64_MAX),
		.pid = (unsigned)read_number(words, n, "pid", 0),
		.sm = (unsigned)read_number(words, n, "sm", 0),
		.from_us = read_time(words, n, "from", 0),
		.to_us = read_time(words, n, "to", WORLD_FOREVER),
		.mem = read_number(words, n, "mem", 0) * MIB,
		.is_late = !strcmp(find_value(words, n, "late"), "yes"),
		.is_graphics = !strcmp(find_value(words, n, "graphics"), "yes"),
	};
	w->n_processes++;
	return p->pid && p->to_us > p->from_us ? 0 : -1;
}

static int parse_failure(struct world *w, char *words[], int n)
{
	struct world_failure *f = &w->failures[w->n_failures];

	if (w->n_failures == WORLD_FAILURES)
		return -1;
	*f = (struct world_failure){
		.from_us = read_time(words, n, "from", 0),
		.to_us = read_time(words, n, "to", WORLD_FOREVER),
		.gpu = (int)read_number(words, n, "gpu", UINT64_MAX),
		.code = (unsigned)read_number(words, n, "code", 999),
	};
	snprintf(f->call, sizeof(f->call), "%s", find_value(words, n, "call"));
	w->n_failures++;
	return 0;
}

static int parse_words(struct world *w, char *words[], int n)
{
	const char *first = words[0], *second = n > 1 ? words[1] : "";

	if (!strcmp(first, "gpu"))
		return parse_gpu(w, atoi(second), words, n);
	if (!strcmp(first, "instance"))
		return parse_instance(w, atoi(second), words, n);
	if (!strcmp(first, "process"))
		return parse_process(w, atoi(second), words, n);
	if (!strcmp(first, "fail"))
		return parse_failure(w, words, n);
	if (!strcmp(first, "driver"))
		snprintf(w->driver, sizeof(w->driver), "%s", second);
	else if (!strcmp(first, "loads"))
		snprintf(w->loads, sizeof(w->loads), "%s", second);
	else if (!strcmp(first, "period"))
		w->period_us = parse_seconds(second);
	else if (!strcmp(first, "samples"))
		w->is_each = !strcmp(second, "each");
	else if (!strcmp(first, "layout"))
		w->layout = (unsigned)atoi(second);
	else if (!strcmp(first, "clock"))
		w->is_real_clock = !strcmp(second, "real");
	else
		return -1;
	return w->period_us ? 0 : -1;
}

static int parse_line(struct world *w, char *line)
{
	char *words[24], *save = NULL;
	int n = 0;

	line[strcspn(line, "#\n")] = '\0';
	for (char *s = strtok_r(line, " \t", &save); s && n < (int)ARRAY_LEN(words);
	     s = strtok_r(NULL, " \t", &save))
		words[n++] = s;
	return n ? parse_words(w, words, n) : 0;
}

static uint64_t realtime_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int world_load(struct world *w, const char *path, int *ret_line)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	uint64_t now = w->now_us, begin = w->begin_us;
	char line[1024];

	*ret_line = 0;
	if (!f)
		return -1;
	*w = (struct world){ .period_us = 1000000, .layout = 24, .now_us = now };
	snprintf(w->driver, sizeof(w->driver), "535.104.05");
	while (fgets(line, sizeof(line), f)) {
		++*ret_line;
		if (parse_line(w, line) < 0)
			return -1;
	}
	/* made-up times are near the real ones: reports are to look like a driver's */
	w->begin_us = begin ? begin : realtime_us() / 1000000 * 1000000 - 3600000000;
	return 0;
}

/* ---- processes of a demo ---- */

/* The process of this pid that still runs; one that ended may have had the same pid. */
static struct world_process *load_of(struct world *w, unsigned pid)
{
	for (int i = 0; i < w->n_processes; i++)
		if (w->processes[i].pid == pid && w->processes[i].to_us == WORLD_FOREVER)
			return &w->processes[i];
	return NULL;
}

static void read_load(struct world *w, const char *name)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned pid = (unsigned)atoi(name), gpu, sm;
	int instance = -1;
	unsigned long long mem;
	struct world_process *p;
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", w->loads, name);
	f = fopen(path, "re");
	if (!pid || !f || fscanf(f, "%u %llu %u %d", &gpu, &mem, &sm, &instance) < 3 ||
	    sm > 100 || gpu >= (unsigned)w->n_gpus ||
	    (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
		return;
	p = load_of(w, pid);
	if (p && p->mem == mem * MIB && p->sm == sm)
		return;
	if (p)
		p->to_us = w->now_us;
	if (w->n_processes < WORLD_PROCESSES)
		w->processes[w->n_processes++] =
			(struct world_process){ .gpu = (int)gpu,
						.instance = instance,
						.pid = pid,
						.sm = sm,
						.mem = mem * MIB,
						.from_us = w->now_us,
						.to_us = WORLD_FOREVER };
}

/* Ends processes whose pid is gone: a demo that was killed removes no file. */
static void read_loads(struct world *w)
{
	_cleanup_closedir_ DIR *dir = opendir(w->loads);
	struct dirent *e;

	for (int i = 0; i < w->n_processes; i++)
		if (w->processes[i].to_us == WORLD_FOREVER &&
		    kill((pid_t)w->processes[i].pid, 0) < 0 && errno == ESRCH)
			w->processes[i].to_us = w->now_us;
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			read_load(w, e->d_name);
}

void world_tick(struct world *w)
{
	if (w->is_real_clock)
		w->now_us = realtime_us() - w->begin_us;
	if (w->loads[0])
		read_loads(w);
}

uint64_t world_work(const struct world_process *p, uint64_t from_us, uint64_t to_us)
{
	uint64_t from = p->from_us > from_us ? p->from_us : from_us;
	uint64_t to = p->to_us < to_us ? p->to_us : to_us;

	return to > from ? (to - from) * p->sm : 0;
}

bool world_runs(const struct world *w, const struct world_process *p)
{
	return p->from_us <= w->now_us && p->to_us > w->now_us;
}
