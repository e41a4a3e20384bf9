/* SPDX-License-Identifier: GPL-2.0-or-later */
/* script.c - reads the #REEVE and #PBS lines at the head of a job script; see request_parse_script()
 * in request.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/request.h"

#define LINE_MAX_BYTES 4096

/* The request key that an option sets; NULL: a PBS option that Reeve ignores. */
static const struct directive {
	const char *option;
	const char *key;
	char takes_value;
} directives[] = {
	{ "-l", "resources", 1 },
	{ "-N", "name", 1 },
	{ "--name", "name", 1 },
	{ "-q", "queue", 1 },
	{ "--queue", "queue", 1 },
	{ "--qos", "qos", 1 },
	{ "-A", "account", 1 },
	{ "-P", "account", 1 },
	{ "--account", "account", 1 },
	{ "-C", "cluster", 1 },
	{ "--cluster", "cluster", 1 },
	{ "-o", "output", 1 },
	{ "--output", "output", 1 },
	{ "-e", "error", 1 },
	{ "--error", "error", 1 },
	{ "-j", "join", 1 },
	{ "-d", "workdir", 1 },
	{ "--workdir", "workdir", 1 },
	{ "--vmem-action", "vmem-action", 1 },
	{ "-J", "array", 1 },
	{ "--array", "array", 1 },
	{ "-W", "attributes", 1 },
	{ "--after-ok", "after-ok", 1 },
	{ "--after-any", "after-any", 1 },
	{ "-h", "hold", 0 },
	{ "--hold", "hold", 0 },
	{ "-r", "requeue", 1 },
	{ "--requeue", "requeue", 1 },
	{ "-I", "immediate", 0 },
	{ "--immediate", "immediate", 0 },
	{ "-M", "mail-user", 1 },
	{ "--mail-user", "mail-user", 1 },
	{ "-m", "mail-points", 1 },
	{ "--mail-type", "mail-type", 1 },
	{ "-S", NULL, 1 },
	{ "-p", NULL, 1 },
	{ "-V", NULL, 0 },
	{ NULL, NULL, 0 },
};

struct script_line {
	const char *file;
	int number;
};

static int at_line(struct script_line at, int r, struct err *err)
{
	return err_prefix(err, r, "%s, line %d", at.file, at.number);
}

/* The next blank-separated word of *p (quotes '...' and "..." hold blanks), cut in place. */
static char *next_word(char **p)
{
	char *s = *p + strspn(*p, " \t"), *to = s, *word = s, quote = 0;

	if (!*s || *s == '#') {
		*p = s;
		return NULL;
	}
	for (; *s && (quote || (*s != ' ' && *s != '\t')); s++) {
		if (quote ? *s == quote : (*s == '\'' || *s == '"'))
			quote = quote ? 0 : *s;
		else
			*to++ = *s;
	}
	*p = *s ? s + 1 : s;
	*to = '\0';
	return word;
}

static void note_ignored(const char *option, char ignored[static 256])
{
	size_t used = strlen(ignored);

	if (!strstr(ignored, option))
		snprintf(ignored + used, 256 - used, "%s%s", used ? ", " : "", option);
}

static const struct directive *find_directive(const char *option)
{
	for (const struct directive *d = directives; d->option; d++)
		if (!strcmp(d->option, option))
			return d;
	return NULL;
}

/* "-lncpus=4" is "-l" "ncpus=4"; "--name=x" is "--name" "x". Splits *word there. */
static char *split_value(char *word, char saved[static 3])
{
	char *eq;

	if (word[0] == '-' && word[1] && word[1] != '-' && word[2]) {
		memcpy(saved, word, 2);
		saved[2] = '\0';
		return word + 2;
	}
	eq = word[1] == '-' ? strchr(word, '=') : NULL;
	if (eq)
		*eq++ = '\0';
	return eq;
}

/* Of PBS's further attributes (-W) Reeve reads only depend=; the others are noted as ignored. */
static int apply_directive(struct request *r, const struct directive *d, const char *value,
			   char *ignored, struct err *err)
{
	static const char depend[] = "depend=";
	bool is_further = d->key && !strcmp(d->key, "attributes");

	if (!d->key || (is_further && strncmp(value, depend, strlen(depend)) != 0)) {
		note_ignored(d->option, ignored);
		return 0;
	}
	if (is_further)
		return request_set(r, "depend", value, err);
	return request_set(r, d->key, value, err);
}

/* All options of one line; `text` is cut in place. */
static int apply_words(struct request *r, char *text, char *ignored, struct err *err)
{
	char *word, *value, letter[3];
	const struct directive *d;
	int rc;

	while ((word = next_word(&text))) {
		letter[0] = '\0';
		value = split_value(word, letter);
		if (letter[0])
			word = letter;
		d = find_directive(word);
		if (!d)
			return err_set(
				err, -EINVAL,
				"unknown directive '%.32s'; known are -l -N -q -A -P -C -o -e "
				"-j -d -J -W -h -r -I -m -M --mail-type --after-ok --after-any --vmem-action",
				word);
		if (d->takes_value && !value && !(value = next_word(&text)))
			return err_set(err, -EINVAL, "%s needs a value", word);
		rc = apply_directive(r, d, value, ignored, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The part of a line after #REEVE or #PBS, or NULL. */
static const char *directive_text(const char *line)
{
	static const char *const marks[] = { "#REEVE", "#PBS" };

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		size_t n = strlen(marks[i]);

		if (!strncmp(line, marks[i], n) && (line[n] == ' ' || line[n] == '\t'))
			return line + n;
	}
	return NULL;
}

/* A script that no shell can run is refused before it is read: empty, NUL bytes, CR LF. */
static int check_text(const char *text, size_t size, const char *file, struct err *err)
{
	struct script_line at = { file, 1 };

	if (!size)
		return err_set(err, -EINVAL, "%s: the job script is empty", file);
	if (size > REQUEST_SCRIPT_MAX)
		return err_set(err, -EINVAL, "%s: the job script is larger than 1 MiB", file);
	for (size_t i = 0; i < size; i++) {
		if (!text[i]) {
			err_set(err, -EINVAL,
				"there is a NUL byte: this is not a text file; submit a "
				"script, or "
				"run a program with: reeve submit -- %s",
				file);
			return at_line(at, -EINVAL, err);
		}
		if (text[i] == '\r' && i + 1 < size && text[i + 1] == '\n') {
			err_set(err, -EINVAL,
				"the line ends in CR LF (Windows), which no shell can run; "
				"convert "
				"the file with: sed -i 's/\\r$//' %s",
				file);
			return at_line(at, -EINVAL, err);
		}
		at.number += text[i] == '\n';
	}
	return 0;
}

static int apply_line(struct request *r, const char *line, size_t n, char *ignored,
		      struct err *err)
{
	char copy[LINE_MAX_BYTES];
	const char *text;

	if (n >= sizeof(copy))
		return err_set(err, -EINVAL, "the directive is longer than %d bytes",
			       LINE_MAX_BYTES - 1);
	memcpy(copy, line, n);
	copy[n] = '\0';
	text = directive_text(copy);
	return text ? apply_words(r, copy + (text - copy), ignored, err) : 0;
}

static bool is_blank(const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (line[i] != ' ' && line[i] != '\t')
			return false;
	return true;
}

int request_parse_script(struct request *r, const char *text, size_t size, const char *file,
			 char ret_ignored[static 256], struct err *err)
{
	struct script_line at = { file, 0 };
	char *script;
	int rc;

	ret_ignored[0] = '\0';
	rc = check_text(text, size, file, err);
	if (rc < 0)
		return rc;
	for (const char *p = text, *end = text + size; p < end;) {
		size_t n = (size_t)(end - p);
		const char *nl = memchr(p, '\n', n);

		n = nl ? (size_t)(nl - p) : n;
		at.number++;
		if (*p != '#' && !is_blank(p, n))
			break; /* the first command ends the directives */
		if (*p == '#') {
			rc = apply_line(r, p, n, ret_ignored, err);
			if (rc < 0)
				return at_line(at, rc, err);
		}
		p += n + 1;
	}
	script = malloc(size + 1);
	if (!script)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(script, text, size);
	script[size] = '\0';
	free(r->script);
	r->script = script;
	return 0;
}
