/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tres.c - reads one item after the other; see tres.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "slurm/follow/read/tres.h"

#define MIB (INT64_C(1) << 20)
#define GPU "gres/gpu"
#define GPU_SIZE (sizeof(GPU) - 1)
#define AMOUNT_MAX (INT64_MAX / 1024)
#define COUNT_MAX (INT64_C(1) << 32)

struct item {
	const char *name, *value;
	size_t name_size;
};

/* NULL: `number` does not begin with "NUMBER=", or the table lacks it. */
static const char *find_name(const struct tres_names *names, const char *number)
{
	char *end;
	unsigned long id = strtoul(number, &end, 10);

	for (size_t i = 0; end != number && *end == '=' && i < names->n; i++)
		if (names->of[i].id == id)
			return names->of[i].name;
	return NULL;
}

/* "400M", "1.50G", "400" in units of `plain`; -1: not readable. */
static int64_t read_amount(const char *text, int64_t plain)
{
	static const char letters[] = "KMGTP";
	char *end;
	double v = strtod(text, &end);
	const char *letter = *end && *end != ',' ? strchr(letters, *end) : NULL;
	double unit =
		letter ? (double)(INT64_C(1) << 10 * (letter - letters + 1)) : (double)plain;

	if (end == text || !(v >= 0) || (*end && *end != ',' && !letter))
		return -1;
	return v * unit >= (double)AMOUNT_MAX ? AMOUNT_MAX : (int64_t)(v * unit);
}

static void set_count(int64_t *to, const char *text)
{
	int64_t n = read_amount(text, 1);

	if (n >= 0)
		*to = n < COUNT_MAX ? n : COUNT_MAX;
}

/* "gres/gpu" counts all; "gres/gpu:a100" those of a model. Slurm lists both or either: the larger of the sum of models and the
 * count of all is taken. *typed: GPUs of models so far. */
static void add_gpus(const struct item *it, struct slurm_batch_job *to, int64_t *typed)
{
	const char *model = it->name + GPU_SIZE + 1;
	int size = (int)(it->name_size - GPU_SIZE - 1);
	int64_t n = 0;

	if (it->name_size == GPU_SIZE) {
		set_count(&n, it->value);
		to->ngpus = n > to->ngpus ? n : to->ngpus;
		return;
	}
	if (it->name[GPU_SIZE] != ':' || size >= REQUEST_NAME_MAX)
		return;
	set_count(&n, it->value);
	if (*typed == 0)
		snprintf(to->gpu_model, sizeof(to->gpu_model), "%.*s", size, model);
	else
		to->gpu_model[0] = '\0';
	*typed += n;
	to->ngpus = *typed > to->ngpus ? *typed : to->ngpus;
}

static bool is_named(const struct item *it, const char *name)
{
	return it->name_size == strlen(name) && !memcmp(it->name, name, it->name_size);
}

static void read_item(const struct item *it, bool has_numbers, struct slurm_batch_job *to,
		      int64_t *typed)
{
	int64_t bytes;

	if (is_named(it, "cpu")) {
		set_count(&to->ncpus, it->value);
	} else if (is_named(it, "node")) {
		set_count(&to->n_nodes, it->value);
	} else if (is_named(it, "mem")) {
		bytes = read_amount(it->value, has_numbers ? MIB : 1);
		to->mem_bytes = bytes >= 0 ? bytes : to->mem_bytes;
	} else if (it->name_size >= GPU_SIZE && !memcmp(it->name, GPU, GPU_SIZE)) {
		add_gpus(it, to, typed);
	}
}

/* An item without a name, without '=', or of a resource that Reeve does not count is skipped. */
void tres_read(const char *list, const struct tres_names *names, struct slurm_batch_job *to)
{
	int64_t typed = 0;

	while (list && *list) {
		const char *sign = strchr(list, '='), *comma = strchr(list, ',');
		struct item it = { .name = names ? find_name(names, list) : list };

		if (sign && (!comma || sign < comma) && it.name) {
			it.value = sign + 1;
			it.name_size = names ? strlen(it.name) : (size_t)(sign - list);
			read_item(&it, names != NULL, to, &typed);
		}
		list = comma ? comma + 1 : NULL;
	}
}
