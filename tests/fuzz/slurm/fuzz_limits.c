/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_limits.c - any text as the limits that a job of Slurm carries, as what a user types for them, and as slurmd's list of GPUs: what is
 * accepted is within the site's bounds and written again as the same.
 *
 * links: slurm/limits slurm/gpu_files common/model/amount common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "slurm/gpu_files.h"
#include "slurm/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct limits_site site = { .max_vmem_bytes = 1LL << 40,
					 .default_vmem_bytes = 1 << 30,
					 .max_jobfs_bytes = 1LL << 41 };

static void check_carried(const char *text)
{
	char buf[LIMITS_TEXT_MAX];
	struct err err = { "" };
	struct limits l;

	if (limits_decode(text, &l, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	if (strcmp(limits_encode(&l, buf), text) != 0)
		abort();
	limits_lower(&site, &l);
	if (l.vmem_bytes < 1 || l.vmem_bytes > site.max_vmem_bytes || l.jobfs_bytes < 0 ||
	    l.jobfs_bytes > site.max_jobfs_bytes)
		abort();
}

static void check_typed(const char *text)
{
	const struct limits_options o[] = { { .vmem = text },
					    { .jobfs = text },
					    { .vmem_action = text } };
	struct err err = { "" };
	struct limits l;

	for (size_t i = 0; i < 3; i++)
		if (limits_read_options(&site, &o[i], &l, &err) < 0) {
			if (!*err.text)
				abort();
		} else if (l.vmem_bytes < 1 || l.vmem_bytes > site.max_vmem_bytes ||
			   l.jobfs_bytes < 0 || l.jobfs_bytes > site.max_jobfs_bytes) {
			abort();
		}
}

static void check_site(char *text)
{
	char *words[] = { text };
	struct err err = { "" };
	struct limits_site s;

	if (limits_read_site(1, words, &s, &err) < 0 && !*err.text)
		abort();
}

static void check_gpus(const char *text)
{
	char one[GPU_FILES_NAME_MAX], all[1536];
	const char *numbers = strchr(text, '\n');

	for (unsigned long n = 0; n < 4; n++)
		if (gpu_files_find(text, n, one) == 0 && (!*one || strchr(one, '/')))
			abort();
	if (gpu_files_list(text, numbers ? numbers + 1 : text, all, sizeof(all)) == 0 &&
	    !memchr(all, '\0', sizeof(all)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	check_carried(text);
	check_typed(text);
	check_gpus(text);
	check_site(text);
	free(text);
	return 0;
}
