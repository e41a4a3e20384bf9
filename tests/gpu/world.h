/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world - what the simulated driver is made of: GPUs, processes over time, failures; read from a file.
 *
 * One statement a line: a word, then KEY=VALUE; '#' begins a comment. Times are seconds since the world began ("2", "2.5"), sizes
 * are MiB, sm is percent. In names '_' stands for a blank.
 *
 *	driver VERSION
 *	period SECONDS				between two samples
 *	samples mean|each			what a call for the busy time of processes returns
 *	layout 16|24|32				bytes of an entry in lists of processes
 *	clock manual|real			manual: by nvml_double_set_us()
 *	loads DIR				a file PID with "GPU MEM SM [INSTANCE]" in DIR is a process as long as PID lives:
 *						what a demo has in place of CUDA
 *	gpu 0 uuid=GPU-1 name=A100-SXM4-40GB mem=40960 used=0 reserved=0 bus=0000:3b:00.0 minor=0 watts=300
 *		accounting=on|off|denied|none utilization=yes|no energy=yes|no mig=yes
 *	instance 0 uuid=MIG-1 profile=1g.5gb mem=4864 gi=7 ci=0
 *	process 0 pid=100 from=2 to=10 mem=1024 sm=50 [instance=0] [graphics=yes]
 *		[late=yes]			listed only after a list was once too short
 *	fail from=5 to=7 code=9 [gpu=1] [call=nvmlDeviceGetTotalEnergyConsumption]
 *
 * (Here some statements take two lines; in the file each has one.) While a file named as the world's with ".hangs" behind is there,
 * no call returns.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define WORLD_GPUS 16
#define WORLD_INSTANCES 8
#define WORLD_PROCESSES 2048
#define WORLD_FAILURES 32
#define WORLD_FOREVER UINT64_MAX

struct world_instance {
	char uuid[96], name[96];
	uint64_t mem;
	unsigned gi, ci;
};

struct world_gpu {
	bool is_there, is_mig, has_util, has_energy, was_short;
	char uuid[96], name[96], bus[32];
	unsigned minor, watts, acct_mode; /* as NVML says it */
	int acct_rc, acct_set_rc;	  /* what the calls answer */
	uint64_t mem, used, reserved;
	int n_instances;
	struct world_instance instances[WORLD_INSTANCES];
};

struct world_process {
	int gpu, instance; /* -1 */
	unsigned pid, sm;
	uint64_t from_us, to_us, mem;
	bool is_late, is_graphics;
};

struct world_failure {
	uint64_t from_us, to_us;
	int gpu; /* -1: all */
	unsigned code;
	char call[64]; /* "": every one */
};

struct world {
	char driver[80], loads[256];
	uint64_t period_us, now_us, begin_us; /* begin: added to the times reported */
	bool is_real_clock, is_each;
	unsigned layout;
	int n_gpus;
	struct world_gpu gpus[WORLD_GPUS];
	int n_processes;
	struct world_process processes[WORLD_PROCESSES];
	int n_failures;
	struct world_failure failures[WORLD_FAILURES];
};

/* 0; -1: the file is not to be read, or line *ret_line of it is wrong. */
int world_load(struct world *w, const char *path, int *ret_line);
void world_tick(struct world *w); /* the clock, and processes that came or went by `loads` */

/* What the process did between two times: percent x us. */
uint64_t world_work(const struct world_process *p, uint64_t from_us, uint64_t to_us);
bool world_runs(const struct world *w, const struct world_process *p);
