/* SPDX-License-Identifier: GPL-2.0-or-later */
/* supervise_spec.c - reads the spec of a job from the agent: a line for each key, "key value". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/launch/supervise.h"
#include "common/cleanup.h"
#include "common/err.h"

struct text_key {
	const char *key;
	size_t offset;
};
static const struct text_key texts[] = {
	{ "cgroup", offsetof(struct supervise_spec, cgroup) },
	{ "socket", offsetof(struct supervise_spec, socket) },
	{ "final", offsetof(struct supervise_spec, final) },
	{ "tmp", offsetof(struct supervise_spec, tmp) },
	{ "var_tmp", offsetof(struct supervise_spec, var_tmp) },
	{ "jobfs", offsetof(struct supervise_spec, jobfs) },
};

static int take_number(struct supervise_spec *s, const char *key, long long n)
{
	if (!strcmp(key, "job"))
		s->job = n;
	else if (!strcmp(key, "attempt"))
		s->attempt = n;
	else if (!strcmp(key, "uid"))
		s->uid = (uid_t)n;
	else if (!strcmp(key, "gid"))
		s->gid = (gid_t)n;
	else if (!strcmp(key, "grace_s"))
		s->grace_s = n;
	else if (!strcmp(key, "shm_bytes"))
		s->shm_bytes = (uint64_t)n;
	else if (!strcmp(key, "group") && s->n_groups < SUPERVISE_GROUPS_MAX)
		s->groups[s->n_groups++] = (gid_t)n;
	else
		return -EINVAL;
	return 0;
}

/* The next free slot of the key "hide", which may be repeated; NULL: there are too many. */
static char *free_hidden(struct supervise_spec *s)
{
	for (int i = 0; i < SUPERVISE_HIDDEN_MAX; i++)
		if (!s->hidden[i][0])
			return s->hidden[i];
	return NULL;
}

static int take_text(char *to, const char *value)
{
	if (!to || strlen(value) >= SUPERVISE_PATH_MAX || value[0] != '/')
		return -EINVAL;
	strcpy(to, value);
	return 0;
}

static int take_line(struct supervise_spec *s, char *line)
{
	char *value = line, *key = strsep(&value, " "), *end;
	long long n;

	if (!value || !*value)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!strcmp(key, texts[i].key))
			return take_text((char *)s + texts[i].offset, value);
	if (!strcmp(key, "hide"))
		return take_text(free_hidden(s), value);
	errno = 0;
	n = strtoll(value, &end, 10);
	return errno || *end || n < 0 ? -EINVAL : take_number(s, key, n);
}

int supervise_spec_load(const char *path, struct supervise_spec *ret, struct err *err)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	struct supervise_spec s = { 0 };
	size_t size = 0;

	if (!f)
		return err_set(err, -errno, "open: %m");
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (take_line(&s, line) < 0)
			return err_set(err, -EINVAL, "bad line '%s'", line);
	}
	if (!s.job || !s.attempt || !s.uid || !s.cgroup[0] || !s.socket[0] || !s.final[0])
		return err_set(err, -EINVAL, "incomplete");
	*ret = s;
	return 0;
}
