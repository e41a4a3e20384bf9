/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig - a world for the double, and what agent/gpu says of it. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/gpu/gpu.h"

#define RIG_PROCESSES 512
#define SECOND 1000000000LL
#define PERCENT_SECOND 10000000LL /* ns */
#define MIB (1LL << 20)

#define ONE_GPU                                                                                \
	"gpu 0 uuid=GPU-a name=A100-SXM4-40GB mem=40960 bus=0000:3B:00.0 watts=300 "           \
	"accounting=on\n"
#define TWO_GPUS                                                                               \
	ONE_GPU "gpu 1 uuid=GPU-b name=A100-SXM4-40GB mem=40960 bus=0000:5E:00.0 watts=100\n"

struct rig {
	char dir[64], script[96], library[160];
	void *handle;
	int wait_ms; /* for the driver; what is slow here is no driver that hangs */
	void (*set_us)(uint64_t us);
	unsigned long *calls;
	struct gpu *g;
	struct gpu_process last[RIG_PROCESSES]; /* the newest figures of each */
	bool is_seen[RIG_PROCESSES];		/* in the last look */
	int n, n_ended;
};

/* A directory with sys, dev and proc in it, and the script of a world. */
void rig_init(struct rig *r, const char *release, const char *script);
void rig_done(struct rig *r);
/* A file below the directory, with its parents. */
void rig_write(struct rig *r, const char *path, const char *text);
/* From now on the driver hangs; until it does not, and has answered. */
void rig_hang(struct rig *r);
void rig_unhang(struct rig *r);
/* Opens at the world's time 0. */
void rig_open(struct rig *r);
/* All of that for the newest release. */
void rig_begin(struct rig *r, const char *script);
int rig_sample(struct rig *r, double at_s);
/* Of the pid on the device; NULL: never reported. */
const struct gpu_process *rig_process(const struct rig *r, int device, int pid);
int64_t rig_busy(const struct rig *r, int device, int pid); /* fails where it is not told */
bool rig_noted(const struct rig *r, const char *part);
/* Every word must be in one of the notes. */
void rig_assert_noted(const struct rig *r, const char *part);
