/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conf.c - parses INI files over a typed table of keys, and reports every fault; see conf.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/conf/value.h"
#include "common/err.h"
#include "common/nearest.h"

#define CONF_FILE_MAX (64 << 20)
#define SHOWN_MAX 80

/* One file while it is read. */
struct conf_file {
	const char *name, *text;
	size_t size, at;
	int line; /* of the physical line read last */
	int head; /* line on which the current statement began */
	const struct conf_reader *how;
	void *object; /* what the keys of this section are set in; NULL before any section */
	char section[64];
	bool is_lost; /* in a section that was refused: its keys are not checked */
	void *seen;   /* tree of struct given */
	struct err *err;
};

struct given {
	const void *object;
	const struct conf_key *key;
	int line;
};

/* -EINVAL, with "FILE, line N: " before the words; N is the line on which the statement began. */
__attribute__((format(printf, 2, 3))) static int refuse_statement(const struct conf_file *f,
								  const char *fmt, ...)
{
	struct err why = { "" };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why.text, sizeof(why.text), fmt, ap);
	va_end(ap);
	return err_set(f->err, -EINVAL, "%s, line %d: %s", f->name, f->head, why.text);
}

/* The value as a message may repeat it: short, and without control characters. */
static const char *format_shown(const char *value, char buf[static SHOWN_MAX])
{
	size_t n = 0;

	for (; value[n] && n < SHOWN_MAX - 4; n++)
		buf[n] = iscntrl((unsigned char)value[n]) ? '?' : value[n];
	strcpy(buf + n, value[n] ? "..." : "");
	return buf;
}

/* ---- lines ---- */

/* 1: a line without its line end, 0: no more, < 0: it holds NUL or CR. */
static int next_physical(struct conf_file *f, const char **ret, size_t *ret_n)
{
	const char *start = f->text + f->at, *end;
	size_t n;

	if (f->at >= f->size)
		return 0;
	end = memchr(start, '\n', f->size - f->at);
	n = end ? (size_t)(end - start) : f->size - f->at;
	f->at += n + (end ? 1 : 0);
	f->line++;
	if (memchr(start, '\0', n) || memchr(start, '\r', n)) {
		f->head = f->line;
		return refuse_statement(
			f, memchr(start, '\0', n)
				   ? "a NUL byte: this is not a text file"
				   : "a carriage return (a Windows line end); remove them "
				     "with: sed -i 's/\\r$//' FILE");
	}
	*ret = start;
	*ret_n = n;
	return 1;
}

static bool is_comment(const char *p, size_t n)
{
	while (n && isblank((unsigned char)*p))
		p++, n--;
	return n && (*p == '#' || *p == ';');
}

/* A statement, with its continuation lines joined by blanks, into buf[CONF_LINE_MAX + 1].
 * Comment lines inside a continuation are left out. 1: a statement, 0: no more. */
static int next_statement(struct conf_file *f, char *buf)
{
	bool more = false;
	const char *p = NULL;
	size_t n = 0, have = 0;
	int r;

	do {
		r = next_physical(f, &p, &n);
		if (r < 0)
			return r;
		if (r == 0)
			return more ? refuse_statement(
					      f, "ends in a backslash, but no line follows")
				    : 0;
		if (!more)
			f->head = f->line;
		if (is_comment(p, n))
			continue;
		more = n && p[n - 1] == '\\';
		if (have + n > CONF_LINE_MAX)
			return refuse_statement(f, "longer than %d bytes", CONF_LINE_MAX);
		memcpy(buf + have, p, n);
		have += n;
		if (more)
			buf[have - 1] = ' ';
	} while (more);
	buf[have] = '\0';
	return 1;
}

static char *strip_blanks(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
	return s;
}

/* ---- statements ---- */

static int given_compare(const void *va, const void *vb)
{
	const struct given *a = va, *b = vb;

	if (a->object != b->object)
		return (uintptr_t)a->object < (uintptr_t)b->object ? -1 : 1;
	return a->key == b->key ? 0 : a->key < b->key ? -1 : 1;
}

/* Records that a key is set; refuses it when this file has set it already. The tree `seen` holds
 * (object, key): each named section may set the same key. */
static int note_given(struct conf_file *f, const struct conf_key *k)
{
	struct given *g = calloc(1, sizeof(*g)), **slot;

	if (!g)
		return err_set(f->err, -ENOMEM, "out of memory");
	*g = (struct given){ f->object, k, f->head };
	slot = tsearch(g, &f->seen, given_compare);
	if (slot && *slot == g)
		return 0;
	free(g);
	if (!slot)
		return err_set(f->err, -ENOMEM, "out of memory");
	return refuse_statement(f, "%s is already set on line %d; keep one of the two", k->key,
				(*slot)->line);
}

static const struct conf_key *find_key(const struct conf_file *f, const char *name)
{
	for (const struct conf_key *k = f->how->keys; k->key; k++)
		if (!strcmp(k->section, f->section) && !strcmp(k->key, name))
			return k;
	return NULL;
}

/* Refuses the name, with the nearest known key or all keys of the section. */
static int unknown_key(const struct conf_file *f, const char *name)
{
	char buf[SHOWN_MAX], known[320] = "";
	struct nearest near;
	size_t n = 0;

	nearest_init(&near, name);
	for (const struct conf_key *k = f->how->keys; k->key; k++) {
		if (strcmp(k->section, f->section))
			continue;
		nearest_offer(&near, k->key);
		if (n < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
					      n ? ", " : "", k->key);
	}
	if (nearest_word(&near))
		return refuse_statement(f, "unknown key '%s' in [%s]; did you mean '%s'?",
					format_shown(name, buf), f->section,
					nearest_word(&near));
	return refuse_statement(f, "unknown key '%s' in [%s]; known are: %s",
				format_shown(name, buf), f->section, known);
}

/* Calls the reader's taken(), which may refuse what was set. */
static int report_statement(struct conf_file *f, const struct conf_key *k, const char *value)
{
	const struct conf_place place = { f->name, f->head, k, f->object, value };
	struct err why = { "" };
	int r = f->how->taken ? f->how->taken(f->how->target, &place, &why) : 0;

	if (r < 0)
		return err_set(f->err, r, "%s, line %d: %s", f->name, f->head, why.text);
	return 0;
}

/* "Key = value" of the current section; `line` is cut in place. In a section that was refused
 * nothing is set. */
static int assign_key(struct conf_file *f, char *line)
{
	char *equals = strchr(line, '='), buf[SHOWN_MAX];
	const struct conf_key *k;
	struct err why = { "" };
	const char *value;
	int r;

	if (!equals)
		return refuse_statement(f, "'%s' is neither [Section] nor Key = value",
					format_shown(line, buf));
	*equals = '\0';
	line = strip_blanks(line);
	value = strip_blanks(equals + 1);
	if (f->is_lost)
		return 0;
	if (!f->section[0])
		return refuse_statement(f, "'%s' stands before any [Section]",
					format_shown(line, buf));
	k = find_key(f, line);
	if (!k)
		return unknown_key(f, line);
	if (!*value)
		return refuse_statement(
			f, "%s has no value; remove the line to use the default", k->key);
	r = note_given(f, k);
	if (r < 0)
		return r;
	r = conf_set_value(k, value, (char *)f->object + k->offset, &why);
	if (r < 0)
		return err_set(f->err, r, "%s, line %d: %s = %s: %s%s%s%s%s", f->name, f->head,
			       k->key, format_shown(value, buf), why.text,
			       k->example ? "; for example: " : "", k->example ? k->key : "",
			       k->example ? " = " : "", k->example ? k->example : "");
	return report_statement(f, k, value);
}

static const struct conf_section *find_section(const struct conf_file *f, const char *name)
{
	for (const struct conf_section *s = f->how->sections; s && s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

static int unknown_section(const struct conf_file *f, const char *name)
{
	char buf[SHOWN_MAX], known[320] = "";
	const char *last = "";
	struct nearest near;
	size_t n = 0;

	nearest_init(&near, name);
	for (const struct conf_key *k = f->how->keys; k->key; k++) {
		if (!strcmp(last, k->section))
			continue;
		last = k->section;
		nearest_offer(&near, last);
		if (n < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s[%s%s]",
					      n ? ", " : "", last,
					      find_section(f, last) ? " NAME" : "");
	}
	if (nearest_word(&near))
		return refuse_statement(f, "unknown section [%s]; did you mean [%s]?",
					format_shown(name, buf), nearest_word(&near));
	return refuse_statement(f, "unknown section [%s]; known are: %s",
				format_shown(name, buf), known);
}

static bool has_section(const struct conf_file *f, const char *name)
{
	for (const struct conf_key *k = f->how->keys; k->key; k++)
		if (!strcmp(k->section, name))
			return true;
	return find_section(f, name) != NULL;
}

/* "[Name]" or "[Name X]". Sets what the following keys are set in; until the section is accepted
 * its keys are ignored (is_lost), so that one bad head is one fault. */
static int enter_section(struct conf_file *f, char *line)
{
	size_t n = strlen(line);
	const struct conf_section *named;
	struct err why = { "" };
	char *x, buf[SHOWN_MAX];
	int r;

	f->is_lost = true;
	if (line[n - 1] != ']')
		return refuse_statement(f, "'%s' lacks the closing ]", format_shown(line, buf));
	line[n - 1] = '\0';
	line = strip_blanks(line + 1);
	x = line + strcspn(line, " \t");
	if (*x)
		*x++ = '\0';
	x = strip_blanks(x);
	if (strlen(line) >= sizeof(f->section) || !has_section(f, line))
		return unknown_section(f, line);
	named = find_section(f, line);
	if (!named && *x)
		return refuse_statement(f, "[%s] takes no name; write [%s]", line, line);
	if (named && !*x)
		return refuse_statement(f, "[%s] needs a name, as in [%s example]", line, line);
	strcpy(f->section, line);
	f->object = f->how->target;
	f->is_lost = false;
	if (!named)
		return 0;
	r = named->add(f->how->target, x, &f->object, &why);
	f->is_lost = r < 0;
	if (r < 0)
		return err_set(f->err, r, "%s, line %d: [%s %s]: %s", f->name, f->head, line,
			       format_shown(x, buf), why.text);
	return report_statement(f, NULL, x);
}

/* 1: one statement was read, 0: no more, < 0: it was refused; the next call reads the next one. */
static int read_statement(struct conf_file *f, char *buf)
{
	int r = next_statement(f, buf);
	char *line;

	if (r <= 0)
		return r;
	line = strip_blanks(buf);
	if (*line)
		r = *line == '[' ? enter_section(f, line) : assign_key(f, line);
	return r < 0 ? r : 1;
}

/* Where the reader has a fault(), a refused statement is reported and reading continues; only
 * -ENOMEM ends it. Else the first fault is the error. */
static int parse_file(struct conf_file *f)
{
	_cleanup_free_ char *buf = malloc(CONF_LINE_MAX + 1);
	struct err last = { "" }, *whose = f->err;
	int r;

	if (!buf)
		return err_set(f->err, -ENOMEM, "out of memory");
	f->err = &last;
	do {
		r = read_statement(f, buf);
		if (r < 0 && r != -ENOMEM && f->how->fault) {
			f->how->fault(f->how->ctx,
				      &(struct conf_fault){ f->name, f->head, last.text });
			r = 1;
		}
	} while (r > 0);
	return r < 0 ? err_set(whose, r, "%s", last.text) : 0;
}

int conf_read_text(const char *text, size_t size, const char *name,
		   const struct conf_reader *how, struct err *err)
{
	struct conf_file f = {
		.name = name,
		.text = text,
		.size = size,
		.how = how,
		.err = err,
	};
	int r = parse_file(&f);

	tdestroy(f.seen, free);
	return r;
}

int conf_parse(const char *text, size_t size, const char *name, const struct conf_key *keys,
	       const struct conf_section *sections, void *target, struct err *err)
{
	const struct conf_reader how = { .keys = keys, .sections = sections, .target = target };

	return conf_read_text(text, size, name, &how, err);
}

/* ---- files ---- */

/* The whole file, malloc()ed; -EFBIG beyond CONF_FILE_MAX. */
static int read_all(int fd, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, room = 0;
	ssize_t n = 1;
	char *more;

	while (n > 0) {
		if (size == room) {
			room = room ? room * 2 : 16384;
			more = room > CONF_FILE_MAX ? NULL : realloc(text, room);
			if (!more)
				return room > CONF_FILE_MAX ? -EFBIG : -ENOMEM;
			text = more;
		}
		n = read(fd, text + size, room - size);
		if (n < 0)
			return -errno;
		size += (size_t)n;
	}
	*ret = TAKE_PTR(text);
	*ret_size = size;
	return 0;
}

static int load_file(const char *path, const struct conf_reader *how, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t size = 0;
	int r;

	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %m", path);
	r = read_all(fd, &text, &size);
	if (r < 0)
		return err_set(err, r, "cannot read %s: %s", path, strerror(-r));
	return conf_read_text(text, size, path, how, err);
}

static int is_conf(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && !strcmp(d->d_name + n - 5, ".conf");
}

/* Bytes, not the locale, decide the order: the same files mean the same everywhere. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int conf_read(const char *path, const struct conf_reader *how, struct err *err)
{
	_cleanup_free_ char *dir = NULL;
	struct dirent **list = NULL;
	int n, r = load_file(path, how, err);

	if (r < 0)
		return r;
	if (asprintf(&dir, "%s.d", path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	n = scandir(dir, &list, is_conf, by_name);
	if (n < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "cannot list %s: %m", dir);
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *file = NULL;

		if (r == 0 && asprintf(&file, "%s/%s", dir, list[i]->d_name) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
		if (r == 0)
			r = load_file(file, how, err);
		free(list[i]);
	}
	free(list);
	return r;
}

int conf_load(const char *path, const struct conf_key *keys,
	      const struct conf_section *sections, void *target, struct err *err)
{
	const struct conf_reader how = { .keys = keys, .sections = sections, .target = target };

	return conf_read(path, &how, err);
}

void conf_done(const struct conf_key *keys, const char *section, void *object)
{
	char **text;

	for (const struct conf_key *k = keys; k->key; k++) {
		if (k->type != CONF_TEXT || (section && strcmp(k->section, section)))
			continue;
		text = (char **)((char *)object + k->offset);
		free(*text);
		*text = NULL;
	}
}
