/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpus.c - counts GPUs by model, and matches typed models; see gpus.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/gpus.h"

bool gpus_is_part(const char *model)
{
	return strchr(model, '_') != NULL;
}

int gpus_add(struct gpus *g, const char *model, int64_t n)
{
	int32_t i = 0;

	if (n <= 0)
		return 0;
	while (i < g->n && strcmp(g->of[i].model, model) != 0)
		i++;
	if (i == GPUS_MODELS_MAX)
		return -ENOSPC;
	if (i == g->n) {
		g->of[g->n] = (struct gpus_of){ .n = 0 };
		snprintf(g->of[g->n++].model, sizeof(g->of[i].model), "%s", model);
	}
	g->of[i].n = n > INT64_MAX - g->of[i].n ? INT64_MAX : g->of[i].n + n;
	return 0;
}

int64_t gpus_count(const struct gpus *g, const char *model)
{
	int64_t sum = 0;

	for (int32_t i = 0; i < g->n; i++)
		if (*model ? !strcmp(g->of[i].model, model) : !gpus_is_part(g->of[i].model))
			sum += g->of[i].n;
	return sum;
}

/* GPUs allocated to jobs without a model being known. */
static int64_t held_as_any(const struct gpus *held)
{
	for (int32_t i = 0; i < held->n; i++)
		if (!*held->of[i].model)
			return held->of[i].n;
	return 0;
}

int64_t gpus_free(const struct gpus *all, const struct gpus *held, const char *model)
{
	int64_t left = gpus_count(all, model) - gpus_count(held, model);

	if (*model && !gpus_is_part(model))
		left -= held_as_any(held);
	return left > 0 ? left : 0;
}

const char *gpus_format(const struct gpus *g, char buf[static GPUS_TEXT_MAX])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int32_t i = 0; i < g->n && used < GPUS_TEXT_MAX; i++)
		used += (size_t)snprintf(buf + used, GPUS_TEXT_MAX - used, "%s%s=%" PRId64,
					 i ? "," : "", g->of[i].model, g->of[i].n);
	return buf;
}

/* "a100-40=4": up to the comma or the end. */
static int parse_one(const char *text, size_t size, struct gpus *g)
{
	char model[REQUEST_NAME_MAX] = "";
	size_t name = strcspn(text, "="), digits;
	int64_t n = 0;

	if (name >= size || name >= sizeof(model))
		return -EINVAL;
	memcpy(model, text, name);
	digits = strspn(text + name + 1, "0123456789");
	if (!digits || digits > 9 || name + 1 + digits != size)
		return -EINVAL;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (text[name + 1 + i] - '0');
	if (*model && !resources_is_gpu_model(model))
		return -EINVAL;
	return gpus_add(g, model, n) < 0 ? -EINVAL : 0;
}

int gpus_parse(const char *text, struct gpus *ret)
{
	struct gpus g = { 0 };

	while (*text) {
		size_t size = strcspn(text, ",");

		if (parse_one(text, size, &g) < 0)
			return -EINVAL;
		text += size + (text[size] != '\0');
	}
	*ret = g;
	return 0;
}

const char *gpus_words(const struct gpus *g, char buf[static GPUS_TEXT_MAX])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int32_t i = 0; i < g->n && used < GPUS_TEXT_MAX; i++) {
		const struct gpus_of *o = &g->of[i];

		used += (size_t)snprintf(buf + used, GPUS_TEXT_MAX - used, "%s%" PRId64 " %s",
					 i ? ", " : "", o->n,
					 *o->model   ? o->model
					 : o->n == 1 ? "GPU"
						     : "GPUs");
	}
	return buf;
}

/* ---- what a typed model means ---- */

static void lower_name(char to[static REQUEST_NAME_MAX], const char *name)
{
	size_t i;

	for (i = 0; name[i] && i < REQUEST_NAME_MAX - 1; i++)
		to[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	to[i] = '\0';
}

void gpus_match_begin(struct gpus_match *m, const char *typed)
{
	*m = (struct gpus_match){ .n_sized = 0 };
	lower_name(m->typed, typed);
}

/* Adds a word to a list with ", " between; false: it is in it already. */
static bool list_add(char *list, size_t size, const char *model)
{
	size_t len = strlen(model), n = strlen(list);

	for (const char *p = list; (p = strstr(p, model)); p += len)
		if ((p == list || p[-1] == ' ') && (p[len] == ',' || p[len] == '\0'))
			return false;
	snprintf(list + n, size - n, "%s%s", n ? ", " : "", model);
	return true;
}

void gpus_match_try(struct gpus_match *m, const char *name)
{
	size_t n = strlen(m->typed);
	char model[REQUEST_NAME_MAX];

	lower_name(model, name);
	if (!*model || !list_add(m->all, sizeof(m->all), model))
		return;
	if (!strcmp(model, m->typed))
		snprintf(m->exact, sizeof(m->exact), "%s", model);
	if (strncmp(model, m->typed, n) != 0 || model[n] != '-')
		return;
	m->n_sized++;
	snprintf(m->sized, sizeof(m->sized), "%s", model);
	list_add(m->sizes, sizeof(m->sizes), model);
}

int gpus_match_end(const struct gpus_match *m, const char *where,
		   char ret[static REQUEST_NAME_MAX], struct err *err)
{
	const char *found = *m->exact ? m->exact : m->sized;

	if (!*m->all)
		return 1;
	if (!*m->exact && m->n_sized > 1)
		return err_set(
			err, -EINVAL,
			"GPU model '%.63s' has several sizes: write one, e.g. ngpus=%s:1; "
			"%s %s",
			m->typed, m->sized, where, m->sizes);
	if (!*found)
		return err_set(err, -EINVAL, "unknown GPU model '%.63s': %s %s", m->typed,
			       where, m->all);
	snprintf(ret, REQUEST_NAME_MAX, "%s", found);
	return 0;
}
