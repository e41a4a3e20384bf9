/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu_use.c - the table of figures of a GPU; merging them and summing them up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/model/gpu_use.h"

#define FIELD(f, kind, help)                                                                   \
	{                                                                                      \
#f, kind, offsetof(struct gpu_use, f), help                                    \
	}

const struct usage_field gpu_use_fields[] = {
	FIELD(busy_ns, USAGE_COUNTER, "time it worked for the job"),
	FIELD(mem_bytes, USAGE_GAUGE, "memory that the job holds on it"),
	FIELD(mem_peak_bytes, USAGE_PEAK, "its peak"),
	FIELD(mem_total_bytes, USAGE_GAUGE, "memory of the device"),
	FIELD(energy_mj, USAGE_COUNTER, "energy in thousandths of a joule"),
	FIELD(idle_ns, USAGE_GAUGE, "since it last did anything for the job"),
	FIELD(opens, USAGE_COUNTER, "times the job opened it"),
	{ NULL, 0, 0, NULL },
};

static int64_t *field_at(struct gpu_use *g, size_t i)
{
	return (int64_t *)(void *)((char *)g + gpu_use_fields[i].offset);
}

static uint32_t field_bit(const struct gpu_use *g, const int64_t *field)
{
	size_t offset = (size_t)((const char *)field - (const char *)g);

	for (size_t i = 0; gpu_use_fields[i].name; i++)
		if (gpu_use_fields[i].offset == offset)
			return 1U << i;
	return 0;
}

void gpu_use_set(struct gpu_use *g, const int64_t *field, int64_t value)
{
	uint32_t bit = field_bit(g, field);

	if (!bit)
		return;
	g->have |= bit;
	*(int64_t *)(void *)((char *)g + ((const char *)field - (const char *)g)) = value;
}

bool gpu_use_has(const struct gpu_use *g, const int64_t *field)
{
	return g->have & field_bit(g, field);
}

/* Counters and peaks never fall: a source that was reset takes nothing back. */
static void merge_one(struct gpu_use *g, const struct gpu_use *later)
{
	for (size_t i = 0; gpu_use_fields[i].name; i++) {
		int64_t *mine = field_at(g, i);
		int64_t theirs = *field_at((struct gpu_use *)later, i);

		if (!(later->have >> i & 1))
			continue;
		if (!(g->have >> i & 1) || gpu_use_fields[i].kind == USAGE_GAUGE ||
		    theirs > *mine)
			*mine = theirs;
		g->have |= 1U << i;
	}
	memcpy(g->source, later->source, sizeof(g->source));
	memcpy(g->model, later->model, sizeof(g->model));
	g->is_simulated |= later->is_simulated;
}

int gpu_use_merge(struct gpu_use **list, int32_t *n, const struct gpu_use *later,
		  int32_t n_later)
{
	struct gpu_use *all;

	if (n_later <= 0)
		return 0;
	if (n_later > GPU_USE_MAX)
		n_later = GPU_USE_MAX;
	all = realloc(*list, (size_t)(*n + n_later) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	*list = all;
	for (int32_t i = 0; i < n_later; i++) {
		int32_t k = 0;

		while (k < *n && strcmp(all[k].uuid, later[i].uuid) != 0)
			k++;
		if (k < *n)
			merge_one(&all[k], &later[i]);
		else
			all[(*n)++] = later[i];
	}
	return 0;
}

/* A GPU has worked when it was busy or, where busy time is not known, when memory was allocated on it. */
static bool has_worked(const struct gpu_use *g)
{
	if (gpu_use_has(g, &g->busy_ns))
		return g->busy_ns > 0;
	return gpu_use_has(g, &g->mem_peak_bytes) && g->mem_peak_bytes > 0;
}

bool gpu_use_is_idle(const struct gpu_use *g, int64_t after_ns)
{
	return after_ns > 0 && gpu_use_has(g, &g->idle_ns) && g->idle_ns >= after_ns;
}

/* Which figure of the job each figure of a GPU adds to. */
static const struct sum_field {
	size_t from, to;
} sums[] = {
	{ offsetof(struct gpu_use, busy_ns), offsetof(struct usage, gpu_busy_ns) },
	{ offsetof(struct gpu_use, mem_bytes), offsetof(struct usage, gpu_mem_bytes) },
	{ offsetof(struct gpu_use, mem_peak_bytes),
	  offsetof(struct usage, gpu_mem_peak_bytes) },
	{ offsetof(struct gpu_use, energy_mj), offsetof(struct usage, gpu_energy_mj) },
	{ offsetof(struct gpu_use, idle_ns), offsetof(struct usage, gpu_idle_ns) },
	{ offsetof(struct gpu_use, opens), offsetof(struct usage, gpu_opens) },
};

static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* One figure of the job; absent where one of its GPUs lacks it. Idle time is the longest, not the sum. */
static void sum_one(const struct gpu_use *list, int32_t n, const struct sum_field *f,
		    struct usage *u)
{
	bool is_longest = f->from == offsetof(struct gpu_use, idle_ns);
	int64_t sum = 0;

	for (int32_t i = 0; i < n; i++) {
		const int64_t *v =
			(const int64_t *)(const void *)((const char *)&list[i] + f->from);

		if (!gpu_use_has(&list[i], v))
			return;
		if (!is_longest)
			sum = add_clamped(sum, *v);
		else if (*v > sum)
			sum = *v;
	}
	usage_set(u, (const int64_t *)(const void *)((const char *)u + f->to), sum);
}

void gpu_use_sum(const struct gpu_use *list, int32_t n, struct usage *u)
{
	bool is_known = n > 0;
	int64_t used = 0;

	if (n <= 0)
		return;
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		sum_one(list, n, &sums[i], u);
	for (int32_t i = 0; i < n; i++) {
		is_known &= gpu_use_has(&list[i], &list[i].busy_ns) ||
			    gpu_use_has(&list[i], &list[i].mem_peak_bytes);
		used += has_worked(&list[i]);
	}
	if (is_known)
		usage_set(u, &u->gpus_used, used);
}
