/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fdinfo.c - parses /proc/PID/fdinfo of DRM clients; see fdinfo.h. Every value is checked:
 * drivers differ in what they write. */
#include <errno.h>
#include <string.h>
#include "agent/gpu/drm/fdinfo.h"
#include "common/cleanup.h"

enum memory_kind { MEM_TOTAL, MEM_MEMORY, MEM_RESIDENT, _MEM_MAX };

struct parse {
	struct fdinfo f;
	bool has[_MEM_MAX];
	uint64_t mem[_MEM_MAX];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* "123", "123 KiB": the number times its unit. */
static int parse_uint(const char *s, size_t n, const char *unit, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return -EINVAL;
	if (!i)
		return -EINVAL;
	*ret = v;
	while (i < n && is_blank(s[i]))
		i++;
	s += i;
	n -= i;
	if (!n)
		return !strcmp(unit, "ns") ? -EINVAL : 0;
	if (!strcmp(unit, "ns"))
		return n == 2 && !memcmp(s, "ns", 2) ? 0 : -EINVAL;
	if (!strcmp(unit, "bytes") && n == 3 && !memcmp(s + 1, "iB", 2) &&
	    (*s == 'K' || *s == 'M'))
		return __builtin_mul_overflow(v, *s == 'K' ? 1024u : 1024u * 1024, ret)
			       ? -EINVAL
			       : 0;
	return -EINVAL;
}

static int copy_value(char *to, size_t size, const char *s, size_t n)
{
	if (!n || n >= size || memchr(s, '\0', n))
		return -EINVAL;
	memcpy(to, s, n);
	to[n] = '\0';
	return 0;
}

static struct fdinfo_engine *engine_of(struct fdinfo *f, const char *name, size_t n)
{
	for (int i = 0; i < f->n_engines; i++)
		if (strlen(f->engines[i].name) == n && !memcmp(f->engines[i].name, name, n))
			return &f->engines[i];
	if (f->n_engines == FDINFO_ENGINES_MAX ||
	    copy_value(f->engines[f->n_engines].name, FDINFO_NAME_MAX, name, n) < 0)
		return NULL;
	return &f->engines[f->n_engines++];
}

/* A figure of an engine, once. */
static int set_once(bool *has, uint64_t *to, uint64_t v)
{
	if (*has)
		return -EINVAL;
	*has = true;
	*to = v;
	return 0;
}

static int set_engine(struct parse *p, int which, const char *name, size_t n, uint64_t v)
{
	struct fdinfo_engine *e = engine_of(&p->f, name, n);

	if (!e)
		return -EINVAL;
	return which == 0   ? set_once(&e->has_ns, &e->ns, v)
	       : which == 1 ? set_once(&e->has_cycles, &e->cycles, v)
			    : set_once(&e->has_total, &e->total_cycles, v);
}

/* Memory of the card: "vram", "vram0", "local0"; not "gtt", "system", "stolen-local0". */
static int add_memory(struct parse *p, enum memory_kind kind, const char *name, size_t n,
		      uint64_t v)
{
	if (!(n >= 4 && !memcmp(name, "vram", 4)) && !(n >= 5 && !memcmp(name, "local", 5)))
		return 0;
	p->has[kind] = true;
	return __builtin_add_overflow(p->mem[kind], v, &p->mem[kind]) ? -EINVAL : 0;
}

struct text {
	const char *s;
	size_t n;
};

static bool skip_prefix(struct text *t, const char *prefix)
{
	size_t n = strlen(prefix);

	if (t->n < n || memcmp(t->s, prefix, n) != 0)
		return false;
	t->s += n;
	t->n -= n;
	return true;
}

static bool is_key(const struct text *t, const char *s)
{
	return t->n == strlen(s) && !memcmp(t->s, s, t->n);
}

/* key without "drm-" */
static int parse_key(struct parse *p, struct text key, const char *v, size_t n)
{
	static const struct {
		const char *prefix, *unit;
		int engine, memory;
	} keys[] = {
		{ "engine-capacity-", "", 3, -1 },
		{ "engine-", "ns", 0, -1 },
		{ "total-cycles-", "", 2, -1 },
		{ "cycles-", "", 1, -1 },
		{ "memory-", "bytes", -1, MEM_MEMORY },
		{ "resident-", "bytes", -1, MEM_RESIDENT },
		{ "total-", "bytes", -1, MEM_TOTAL },
	};
	uint64_t number;

	if (is_key(&key, "driver"))
		return p->f.driver[0] ? -EINVAL
				      : copy_value(p->f.driver, sizeof(p->f.driver), v, n);
	if (is_key(&key, "pdev"))
		return p->f.pdev[0] ? -EINVAL : copy_value(p->f.pdev, sizeof(p->f.pdev), v, n);
	if (is_key(&key, "client-id"))
		return parse_uint(v, n, "", &number) < 0
			       ? -EINVAL
			       : set_once(&p->f.has_client, &p->f.client, number);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!skip_prefix(&key, keys[i].prefix))
			continue;
		if (!key.n || parse_uint(v, n, keys[i].unit, &number) < 0)
			return -EINVAL;
		if (keys[i].engine == 3)
			return number ? 0 : -EINVAL;
		return keys[i].engine >= 0 ? set_engine(p, keys[i].engine, key.s, key.n, number)
					   : add_memory(p, (enum memory_kind)keys[i].memory,
							key.s, key.n, number);
	}
	return 0;
}

static int parse_line(struct parse *p, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	struct text key = { line, colon ? (size_t)(colon - line) : 0 };
	const char *v = colon ? colon + 1 : NULL;
	const char *end = line + n;

	if (!colon || !skip_prefix(&key, "drm-"))
		return 0;
	while (v < end && is_blank(*v))
		v++;
	while (end > v && is_blank(end[-1]))
		end--;
	return parse_key(p, key, v, (size_t)(end - v));
}

int fdinfo_parse(const char *text, size_t size, struct fdinfo *ret)
{
	struct parse p = { 0 };
	const char *end = text + size;
	int r;

	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((nl ? nl : end) - text);

		r = parse_line(&p, text, n);
		if (r < 0)
			return r;
		text += n + 1;
		if (!nl)
			break;
	}
	if (!p.f.driver[0])
		return -ENOENT;
	for (int kind = 0; kind < _MEM_MAX; kind++)
		if (p.has[kind]) {
			p.f.has_mem = true;
			p.f.mem_bytes = p.mem[kind];
		}
	*ret = p.f;
	return 0;
}
