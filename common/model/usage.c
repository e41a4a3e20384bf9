/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - the table of usage figures; merging and adding them; see usage.h. */
#include <string.h>
#include "common/model/usage.h"

#define FIELD(f, kind, help)                                                                   \
	{                                                                                      \
#f, kind, offsetof(struct usage, f), help                                      \
	}

const struct usage_field usage_fields[] = {
	FIELD(cpu_ns, USAGE_COUNTER, "time on a cpu, all processes"),
	FIELD(cpu_user_ns, USAGE_COUNTER, "of it in user mode"),
	FIELD(cpu_system_ns, USAGE_COUNTER, "of it in the kernel"),
	FIELD(run_delay_ns, USAGE_COUNTER, "time runnable but waiting for a cpu"),
	FIELD(vmem_bytes, USAGE_GAUGE, "sum of the virtual sizes of the processes"),
	FIELD(vmem_peak_bytes, USAGE_PEAK, "largest sum of virtual sizes"),
	FIELD(mem_bytes, USAGE_GAUGE, "memory charged to the job, page cache included"),
	FIELD(mem_peak_bytes, USAGE_PEAK, "its peak, as the kernel kept it"),
	FIELD(rss_bytes, USAGE_GAUGE, "resident without page cache: anon, shmem, mapped files"),
	FIELD(rss_peak_bytes, USAGE_PEAK, "largest sampled resident size"),
	FIELD(anon_bytes, USAGE_GAUGE, "anonymous memory"),
	FIELD(file_bytes, USAGE_GAUGE, "page cache"),
	FIELD(shmem_bytes, USAGE_GAUGE, "shared memory and tmpfs"),
	FIELD(minor_faults, USAGE_COUNTER, "page faults without I/O"),
	FIELD(major_faults, USAGE_COUNTER, "page faults with I/O"),
	FIELD(read_bytes, USAGE_COUNTER, "read from block devices"),
	FIELD(write_bytes, USAGE_COUNTER, "written to block devices"),
	FIELD(procs, USAGE_GAUGE, "processes and threads"),
	FIELD(procs_peak, USAGE_PEAK, "most processes and threads at once"),
	FIELD(jobfs_bytes, USAGE_GAUGE, "node-local disk in use"),
	FIELD(jobfs_peak_bytes, USAGE_PEAK, "most node-local disk in use, as sampled"),
	FIELD(ctx_switches, USAGE_COUNTER, "times a task gave up its cpu (SwitchProfile=yes)"),
	FIELD(ctx_preemptions, USAGE_COUNTER, "of these, not by its own will"),
	FIELD(cpu_migrations, USAGE_COUNTER, "times a task went on on another cpu"),
	FIELD(run_delay_max_ns, USAGE_PEAK,
	      "longest wait for a cpu, rounded up to a power of two"),
	FIELD(gpu_busy_ns, USAGE_COUNTER,
	      "time that GPUs worked for the job, summed over them"),
	FIELD(gpu_mem_bytes, USAGE_GAUGE, "memory on its GPUs"),
	FIELD(gpu_mem_peak_bytes, USAGE_PEAK, "sum of the peaks of its GPUs"),
	FIELD(gpu_energy_mj, USAGE_COUNTER, "energy its GPUs took, in thousandths of a joule"),
	FIELD(gpu_idle_ns, USAGE_GAUGE, "for how long the GPU idle longest has done nothing"),
	FIELD(gpu_opens, USAGE_COUNTER, "times the job opened one of its GPUs"),
	FIELD(gpu_alloc_bytes, USAGE_GAUGE, "allocated by CUDA's calls and not freed"),
	FIELD(gpu_alloc_peak_bytes, USAGE_PEAK, "its peak"),
	FIELD(gpus_used, USAGE_PEAK, "GPUs that have done anything at all for the job"),
	FIELD(gpu_launches, USAGE_COUNTER,
	      "CUDA kernels and graphs started, by uprobes (GpuLaunchProfile=yes)"),
	FIELD(gpu_sched_jobs, USAGE_COUNTER,
	      "GPU jobs that the kernel's DRM scheduler ran, by its tracepoints"),
	FIELD(gpu_sched_busy_ns, USAGE_COUNTER,
	      "time with one of them on a GPU at least, by the same"),
	FIELD(vmem_refused, USAGE_COUNTER,
	      "mappings refused with ENOMEM for the limit of vmem"),
	{ NULL, 0, 0, NULL },
};

static int64_t *field_at(struct usage *u, size_t i)
{
	return (int64_t *)(void *)((char *)u + usage_fields[i].offset);
}

static uint64_t field_bit(const struct usage *u, const int64_t *field)
{
	size_t offset = (size_t)((const char *)field - (const char *)u);

	for (size_t i = 0; usage_fields[i].name; i++)
		if (usage_fields[i].offset == offset)
			return 1ULL << i;
	return 0;
}

void usage_set(struct usage *u, const int64_t *field, int64_t value)
{
	uint64_t bit = field_bit(u, field);

	if (!bit)
		return;
	u->have |= bit;
	*(int64_t *)(void *)((char *)u + ((const char *)field - (const char *)u)) = value;
}

bool usage_has(const struct usage *u, const int64_t *field)
{
	return u->have & field_bit(u, field);
}

/* Cores beyond USAGE_CORES_MAX are not kept apart; cpu_ns has their time. */
static void merge_cores(struct usage *u, const struct usage *later)
{
	for (int32_t i = 0; i < later->n_cores && i < USAGE_CORES_MAX; i++) {
		const struct usage_core *c = &later->cores[i];
		int32_t k = 0;

		while (k < u->n_cores && u->cores[k].cpu != c->cpu)
			k++;
		if (k == USAGE_CORES_MAX)
			continue;
		if (k == u->n_cores)
			u->cores[u->n_cores++] = *c;
		else if (c->ns > u->cores[k].ns)
			u->cores[k].ns = c->ns;
	}
}

/* Figures that are added up as the longest, not as the sum. */
static bool is_longest(const struct usage_field *f)
{
	return f->offset == offsetof(struct usage, run_delay_max_ns) ||
	       f->offset == offsetof(struct usage, gpu_idle_ns);
}

void usage_add(struct usage *sum, const struct usage *more)
{
	for (size_t i = 0; usage_fields[i].name; i++) {
		int64_t *mine = field_at(sum, i);
		int64_t theirs = *field_at((struct usage *)more, i);

		if (!(more->have >> i & 1))
			continue;
		if (!(sum->have >> i & 1))
			*mine = theirs;
		else if (is_longest(&usage_fields[i]))
			*mine = theirs > *mine ? theirs : *mine;
		else if (__builtin_add_overflow(*mine, theirs, mine))
			*mine = INT64_MAX;
		sum->have |= 1ULL << i;
	}
}

/* Updates the sum of one figure when one addend changes from `was` to `now`. false: the sum alone does
 * not tell (the longest of several shrank, or a sum was clamped): add all again. */
static bool replace_value(const struct usage_field *f, int64_t *sum, int64_t was, int64_t now)
{
	int64_t more;

	if (is_longest(f)) {
		if (now >= *sum)
			*sum = now;
		return now >= *sum || was < *sum;
	}
	/* A clamped sum: the true one is not known. */
	if (*sum == INT64_MAX || __builtin_sub_overflow(now, was, &more))
		return false;
	return !__builtin_add_overflow(*sum, more, sum);
}

bool usage_replace(struct usage *sum, const struct usage *was, const struct usage *now)
{
	struct usage s = *sum;

	for (size_t i = 0; usage_fields[i].name; i++) {
		int64_t *mine = field_at(&s, i);
		int64_t before = 0;

		if (!(now->have >> i & 1))
			continue;
		if (was->have >> i & 1)
			before = *field_at((struct usage *)was, i);
		if (!(s.have >> i & 1))
			*mine = *field_at((struct usage *)now, i);
		else if (!replace_value(&usage_fields[i], mine, before,
					*field_at((struct usage *)now, i)))
			return false;
		s.have |= 1ULL << i;
	}
	*sum = s;
	return true;
}

void usage_merge(struct usage *u, const struct usage *later)
{
	for (size_t i = 0; usage_fields[i].name; i++) {
		int64_t *mine = field_at(u, i);
		int64_t theirs = *field_at((struct usage *)later, i);

		if (!(later->have >> i & 1))
			continue;
		if (!(u->have >> i & 1) || usage_fields[i].kind == USAGE_GAUGE ||
		    theirs > *mine)
			*mine = theirs;
		u->have |= 1ULL << i;
	}
	merge_cores(u, later);
}
