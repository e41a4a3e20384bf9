/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig.c - makes a world and opens agent/gpu on it; keeps what it reports of each process. See rig.h. */
#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "common/err.h"
#include "tests/gpu/rig.h"

static void make_parents(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			fail_msg("mkdir %s: %s", path, strerror(errno));
		*p = '/';
	}
}

void rig_write(struct rig *r, const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", r->dir, path);
	make_parents(full);
	f = fopen(full, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void rig_done(struct rig *r)
{
	gpu_close(r->g);
	r->g = NULL;
	dlclose(r->handle);
	r->handle = NULL;
	nftw(r->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A test that failed left its rig open: it is closed here, so that the next test has a world of its own. */
void rig_init(struct rig *r, const char *release, const char *script)
{
	if (r->handle) /* a test that failed left it */
		rig_done(r);
	*r = (struct rig){ .wait_ms = 120000 };
	snprintf(r->dir, sizeof(r->dir), "/tmp/reeve-gpu-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->script, sizeof(r->script), "%s/world", r->dir);
	snprintf(r->library, sizeof(r->library), "build/tests/gpu/%s/libnvidia-ml.so.1",
		 release);
	rig_write(r, "world", script);
	rig_write(r, "sys/x", "");
	rig_write(r, "dev/x", "");
	rig_write(r, "proc/x", "");
	setenv("REEVE_NVML_DOUBLE", r->script, 1);
	r->handle = dlopen(r->library, RTLD_NOW | RTLD_LOCAL);
	if (!r->handle)
		fail_msg("%s", dlerror());
	*(void **)&r->set_us = dlsym(r->handle, "nvml_double_set_us");
	r->calls = dlsym(r->handle, "nvml_double_calls");
	assert_non_null(r->set_us);
}

/* The library is opened a second time by the agent: both handles are the same driver and world. */
void rig_open(struct rig *r)
{
	char sys[80], dev[80], proc[80];
	struct gpu_options o = {
		.nvml = r->library, .sys = sys, .dev = dev, .proc = proc, .wait_ms = r->wait_ms
	};
	struct err err = { "" };

	snprintf(sys, sizeof(sys), "%s/sys", r->dir);
	snprintf(dev, sizeof(dev), "%s/dev", r->dir);
	snprintf(proc, sizeof(proc), "%s/proc", r->dir);
	r->set_us(0);
	if (gpu_open(&o, &r->g, &err) < 0)
		fail_msg("%s", err.text);
}

void rig_hang(struct rig *r)
{
	rig_write(r, "world.hangs", "");
}

/* Returns when the agent's thread has an answer again: until then it would still count as silent. */
void rig_unhang(struct rig *r)
{
	char path[128], text[GPU_TEXT_MAX];
	int n = 0;

	snprintf(path, sizeof(path), "%s.hangs", r->script);
	assert_int_equal(unlink(path), 0);
	while (r->g && gpu_silence(r->g, text) && n++ < 60000)
		usleep(1000);
	assert_true(n < 60000);
}

void rig_begin(struct rig *r, const char *script)
{
	rig_init(r, "r535", script);
	rig_open(r);
}

static int find_process(const struct rig *r, int device, int pid)
{
	for (int i = 0; i < r->n; i++)
		if (r->last[i].device == device && r->last[i].pid == pid)
			return i;
	return -1;
}

/* What holds of every report: counters never fall while a process lives, and the peak is no less than the
 * present. */
static void on_process(void *ctx, const struct gpu_process *p)
{
	struct rig *r = ctx;
	int i = find_process(r, p->device, p->pid);

	if (i < 0) {
		assert_true(r->n < RIG_PROCESSES);
		i = r->n++;
	} else if (!r->last[i].has_ended) { /* cumulative: never back */
		assert_true(p->busy_ns >= r->last[i].busy_ns);
		assert_true(p->mem_peak_bytes >= r->last[i].mem_peak_bytes);
	}
	assert_true(p->mem_peak_bytes >= p->mem_bytes);
	r->last[i] = *p;
	r->is_seen[i] = true;
	r->n_ended += p->has_ended;
}

int rig_sample(struct rig *r, double at_s)
{
	memset(r->is_seen, 0, sizeof(r->is_seen));
	r->set_us((uint64_t)(at_s * 1e6 + 0.5));
	return gpu_sample(r->g, (int64_t)(at_s * 1e9 + 0.5), on_process, r, NULL);
}

const struct gpu_process *rig_process(const struct rig *r, int device, int pid)
{
	int i = find_process(r, device, pid);

	return i < 0 ? NULL : &r->last[i];
}

int64_t rig_busy(const struct rig *r, int device, int pid)
{
	const struct gpu_process *p = rig_process(r, device, pid);

	assert_non_null(p);
	assert_true(p->have & GPU_HAVE_BUSY);
	return p->busy_ns;
}

bool rig_noted(const struct rig *r, const char *part)
{
	for (const char *const *n = gpu_notes(r->g); *n; n++)
		if (strstr(*n, part))
			return true;
	return false;
}

void rig_assert_noted(const struct rig *r, const char *part)
{
	if (rig_noted(r, part))
		return;
	for (const char *const *n = gpu_notes(r->g); *n; n++)
		print_message("note: %s\n", *n);
	fail_msg("no note says '%s'", part);
}
