/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu_files.c - read the list of GPUs that `slurmd -G` writes; see gpu_files.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "slurm/gpu_files.h"

#define RANGE_MAX 4096
#define RECORD "Gres Name=gpu "

/* A list of paths as slurmd writes it: "/dev/nvidia0,/dev/dri/renderD[128-131,135]". */
struct names {
	const char *at;
	const char *prefix; /* of the path that is being read, up to its bracket */
	size_t n_prefix;
	unsigned long next, last; /* in a bracket: the numbers that are left of its range */
	int width;		  /* of a number with leading zeros */
	bool is_in_bracket;
};

/* At a range of a bracket: "128-131" or "135". */
static bool read_range(struct names *s)
{
	char *end;

	s->next = strtoul(s->at, &end, 10);
	s->width = (int)(end - s->at);
	s->last = s->next;
	if (end > s->at && *end == '-')
		s->last = strtoul(end + 1, &end, 10);
	s->at = end;
	s->is_in_bracket = s->width > 0 && s->last >= s->next && s->last - s->next < RANGE_MAX;
	return s->is_in_bracket;
}

/* Behind a number of a bracket: goes to the next range, or out of the bracket. */
static bool leave_number(struct names *s)
{
	if (s->next++ < s->last)
		return true;
	if (*s->at == ',') {
		s->at++;
		return read_range(s);
	}
	s->is_in_bracket = false;
	s->at += *s->at == ']';
	s->at += *s->at == ',';
	return true;
}

static const char *skip_folder(const struct names *s, int *ret_n)
{
	const char *from = s->prefix + s->n_prefix;

	while (from > s->prefix && from[-1] != '/')
		from--;
	*ret_n = (int)(s->prefix + s->n_prefix - from);
	return from;
}

/* The next path of the list, without its folder. false: there is none, or the list is malformed. */
static bool next_name(struct names *s, char ret[static GPU_FILES_NAME_MAX])
{
	const char *name;
	int n;

	if (!s->is_in_bracket) {
		s->prefix = s->at;
		s->n_prefix = strcspn(s->at, "[, \n");
		s->at += s->n_prefix;
		if (s->n_prefix == 0)
			return false;
		name = skip_folder(s, &n);
		if (*s->at != '[') {
			s->at += *s->at == ',';
			return n > 0 && snprintf(ret, GPU_FILES_NAME_MAX, "%.*s", n, name) <
						GPU_FILES_NAME_MAX;
		}
		s->at++;
		if (!read_range(s))
			return false;
	}
	name = skip_folder(s, &n);
	n = snprintf(ret, GPU_FILES_NAME_MAX, "%.*s%0*lu", n, name, s->width, s->next);
	return n < GPU_FILES_NAME_MAX && leave_number(s);
}

/* The value of a word of the record in this line; NULL: it has none. */
static const char *find_word(const char *line, const char *word)
{
	const char *at = strstr(line, word), *end = strchr(line, '\n');

	return at && (!end || at < end) ? at + strlen(word) : NULL;
}

/* Of a GPU with several files (MultipleFiles=): a MIG instance has its card's file, which others have too, and capabilities. */
static int choose_name(struct names s, char ret[static GPU_FILES_NAME_MAX])
{
	char name[GPU_FILES_NAME_MAX];
	int r = -ENOENT;

	while (next_name(&s, name))
		if (r < 0 || !strncmp(name, "nvidia-cap", 10)) {
			memcpy(ret, name, sizeof(name));
			r = 0;
		}
	return r;
}

/* Of a record of several GPUs, a file each. */
static int take_name(struct names s, unsigned long number, char ret[static GPU_FILES_NAME_MAX])
{
	for (unsigned long i = 0; i <= number; i++)
		if (!next_name(&s, ret))
			return -ENOENT;
	return 0;
}

int gpu_files_find(const char *list, unsigned long number, char ret[static GPU_FILES_NAME_MAX])
{
	for (const char *line = strstr(list, RECORD); line; line = strstr(line + 1, RECORD)) {
		const char *count_text = find_word(line, " Count=");
		const char *files = find_word(line, " File=");
		unsigned long count = count_text ? strtoul(count_text, NULL, 10) : 0;
		struct names s = { .at = files };

		if (!files || *files == '(' || count == 0)
			continue; /* "(null)": slurmd gives no numbers to GPUs without files */
		if (number < count)
			return count == 1 ? choose_name(s, ret) : take_name(s, number, ret);
		number -= count;
	}
	return -ENOENT;
}

int gpu_files_list(const char *list, const char *numbers, char *ret, size_t size)
{
	size_t n = 0;
	char *end;

	ret[0] = '\0';
	for (const char *at = numbers; *at; at = *end ? end + 1 : end) {
		unsigned long number = strtoul(at, &end, 10);
		char name[GPU_FILES_NAME_MAX];

		if (end == at || gpu_files_find(list, number, name) < 0)
			snprintf(name, sizeof(name), "?%.*s", (int)strcspn(at, ","), at);
		end += strcspn(end, ",");
		n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? "," : "", name);
		if (n >= size)
			return -ENAMETOOLONG;
	}
	return 0;
}
