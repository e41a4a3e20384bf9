/* SPDX-License-Identifier: GPL-2.0-or-later */
/* after.c - parses and formats dependencies; see after.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/after.h"

static const char *const names[_AFTER_KIND_MAX] = {
	[AFTER_OK] = "afterok",
	[AFTER_ANY] = "afterany",
};

const char *after_kind_name(enum after_kind k)
{
	return k >= 0 && k < _AFTER_KIND_MAX ? names[k] : "?";
}

int after_kind_parse(const char *name, enum after_kind *ret)
{
	for (int i = 0; i < _AFTER_KIND_MAX; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret = (enum after_kind)i;
		return 0;
	}
	return -EINVAL;
}

void after_list_done(struct after_list *l)
{
	free(l->at);
	*l = (struct after_list){ 0 };
}

int after_list_add(struct after_list *l, struct after a, struct err *err)
{
	struct after *p;

	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].kind == a.kind && l->at[i].id.job == a.id.job &&
		    l->at[i].id.index == a.id.index)
			return 0;
	if (l->n == AFTER_MAX)
		return err_set(err, -EINVAL,
			       "a job may wait for at most %d others; let one job wait for "
			       "them, or make them an array",
			       AFTER_MAX);
	p = realloc(l->at, (l->n + 1) * sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	l->at = p;
	l->at[l->n++] = a;
	return 0;
}

#define WORD_MAX 80

/* The word up to one of `ends` or the end of the text; *p then stands behind it. -EINVAL: empty, or
 * too long. */
static int next_word(const char **p, const char *ends, char word[static WORD_MAX])
{
	size_t n = strcspn(*p, ends);

	if (n == 0 || n >= WORD_MAX)
		return -EINVAL;
	memcpy(word, *p, n);
	word[n] = '\0';
	*p += n;
	return 0;
}

/* Jobs separated by ends[0], up to another of `ends` or the end of the text. */
static int read_jobs(const char **p, const char *ends, struct after a, struct after_list *l,
		     struct err *err)
{
	char word[WORD_MAX];
	int r;

	for (;;) {
		if (next_word(p, ends, word) < 0)
			return err_set(err, -EINVAL, "%s: a job number is missing",
				       after_kind_name(a.kind));
		r = job_id_parse(word, &a.id, err);
		if (r >= 0)
			r = after_list_add(l, a, err);
		if (r < 0)
			return r;
		if (**p != ends[0])
			return 0;
		(*p)++;
	}
}

int after_parse_jobs(const char *text, enum after_kind kind, struct after_list *l,
		     struct err *err)
{
	const struct after a = { .kind = kind };

	return read_jobs(&text, ",", a, l, err);
}

int after_parse(const char *text, struct after_list *l, struct err *err)
{
	char word[WORD_MAX] = "";
	struct after a;
	int r;

	for (const char *p = text;; p++) {
		r = next_word(&p, ":,", word);
		if (r < 0 || after_kind_parse(word, &a.kind) < 0)
			return err_set(err, -EINVAL,
				       "dependency '%.60s': write KIND:JOB[:JOB]..., by "
				       "commas; kinds are afterok and afterany",
				       r < 0 ? text : word);
		if (*p++ != ':')
			return err_set(err, -EINVAL, "%s: a job number is missing", word);
		r = read_jobs(&p, ":,", a, l, err);
		if (r < 0 || !*p)
			return r;
	}
}
