/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swf.c - reads lines and headers of a file in the Standard Workload Format; see swf.h. Written
 * for speed: archives have millions of lines. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "controller/history/swf.h"

#define KIB 1024

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool swf_parse_header(const char *line, size_t size, const char *key, int64_t *ret)
{
	size_t i = 0, n = strlen(key);

	while (i < size && (line[i] == ';' || is_blank(line[i])))
		i++;
	if (size - i <= n || memcmp(line + i, key, n) != 0 || line[i + n] != ':')
		return false;
	i += n + 1;
	while (i < size && is_blank(line[i]))
		i++;
	while (size > i && is_blank(line[size - 1]))
		size--;
	return history_parse_int(line + i, size - i, ret) == 0;
}

/* Reads a field that is only a sign and at most 18 digits, as nearly all are. False: another
 * form. */
static bool read_plain(const char **at, const char *end, int64_t *ret)
{
	const char *p = *at, *from;
	bool minus = *p == '-';
	int64_t v = 0;

	p += minus;
	for (from = p; p < end && p - from < 18 && *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (*p - '0');
	if (p == from || (p < end && !is_blank(*p)))
		return false;
	*ret = minus ? -v : v;
	*at = p;
	return true;
}

int swf_parse_fields(const char *line, size_t size, int64_t ret[static _SWF_FIELD_MAX])
{
	const char *p = line, *end = line + size;
	int n = 0;

	for (;; n++) {
		const char *from;

		while (p < end && is_blank(*p))
			p++;
		if (p == end)
			break;
		if (n == _SWF_FIELD_MAX)
			return HISTORY_EXTRA_FIELDS;
		if (read_plain(&p, end, &ret[n]))
			continue;
		for (from = p; p < end && !is_blank(*p);)
			p++;
		if (history_parse_int(from, (size_t)(p - from), &ret[n]) < 0)
			return HISTORY_GARBAGE;
	}
	if (n == 0)
		return SWF_NO_JOB;
	return n == _SWF_FIELD_MAX ? HISTORY_OK : HISTORY_MISSING_FIELDS;
}

/* The amount of all processors from that of one; -1 when not recorded. */
static int64_t all_processors(int64_t each, int64_t unit, int64_t cores)
{
	int64_t all;

	if (each < 0 || cores <= 0)
		return -1;
	if (__builtin_mul_overflow(each, unit, &all) ||
	    __builtin_mul_overflow(all, cores, &all))
		return HISTORY_AMOUNT_MAX;
	return all;
}

/* "u7"; "" for a number below 0 (not recorded). By hand instead of snprintf(): called for four
 * fields of every line of an archive. */
static void name_number(char letter, int64_t id, char ret[static REQUEST_NAME_MAX])
{
	char digits[24];
	int n = 0, at = 0;

	ret[0] = '\0';
	if (id < 0)
		return;
	do
		digits[n++] = (char)('0' + id % 10);
	while (id /= 10);
	ret[at++] = letter;
	while (n > 0)
		ret[at++] = digits[--n];
	ret[at] = '\0';
}

/* The field of a line that swf_parse_fields() has read, to the millisecond: it is an average
 * over the processors, with decimals in many logs. */
static void read_cpu_time(const char *line, size_t size, int64_t *ret_ms)
{
	const char *p = line, *end = line + size, *from = line;

	for (int n = 0; n <= SWF_CPU_TIME; n++) {
		while (p < end && is_blank(*p))
			p++;
		for (from = p; p < end && !is_blank(*p);)
			p++;
	}
	history_parse_thousandths(from, (size_t)(p - from), ret_ms);
}

/* ---- parts of jobs ---- */

static bool is_part(int64_t status)
{
	return status >= 2 && status <= 4;
}

static int grow_wholes(struct swf_wholes *w, size_t word)
{
	size_t n = w->n ? w->n : 1024;
	uint64_t *bits;

	while (n <= word)
		n *= 2;
	bits = realloc(w->bits, n * sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	memset(bits + w->n, 0, (n - w->n) * sizeof(*bits));
	*w = (struct swf_wholes){ bits, n };
	return 0;
}

int swf_note_whole(struct swf_wholes *w, const int64_t v[static _SWF_FIELD_MAX])
{
	int64_t number = v[SWF_NUMBER];
	size_t word = (size_t)number / 64;
	uint64_t bit = 1ULL << (number % 64 & 63);

	if (number < 0 || number >= SWF_WHOLES_MAX)
		return 0;
	if (is_part(v[SWF_STATUS]))
		return word < w->n && (w->bits[word] & bit);
	if (word >= w->n && grow_wholes(w, word) < 0)
		return -ENOMEM;
	w->bits[word] |= bit;
	return 0;
}

void swf_done(struct swf *f)
{
	free(f->wholes.bits);
	*f = (struct swf)SWF_INIT;
}

/* ---- a line ---- */

static void read_times(const struct swf *f, const int64_t v[static _SWF_FIELD_MAX],
		       struct history_job *ret)
{
	ret->submit_s = f->epoch_s + v[SWF_SUBMIT];
	ret->start_s = ret->submit_s + (v[SWF_WAIT] == -1 ? 0 : v[SWF_WAIT]);
	ret->end_s = ret->start_s + v[SWF_RUN];
	ret->walltime_s = v[SWF_TIME_ASKED] < 0 ? -1 : v[SWF_TIME_ASKED];
}

int swf_parse_line(struct swf *f, const char *line, size_t size, struct history_job *ret)
{
	int64_t v[_SWF_FIELD_MAX], cores, cpu_ms = -1;
	int why, part;

	history_init(ret);
	if (size && *line == ';') {
		if (swf_parse_header(line, size, "UnixStartTime", &v[0]) && v[0] >= 0)
			f->epoch_s = v[0];
		return SWF_NO_JOB;
	}
	why = swf_parse_fields(line, size, v);
	if (why != HISTORY_OK)
		return why;
	if (v[SWF_CPU_TIME] >= 0)
		read_cpu_time(line, size, &cpu_ms);
	part = swf_note_whole(&f->wholes, v);
	if (part != 0)
		return part < 0 ? part : HISTORY_PART;
	if (f->epoch_s < 0)
		return HISTORY_NO_EPOCH;
	if (v[SWF_RUN] <= 0)
		return HISTORY_NO_RUN_TIME;
	cores = v[SWF_CORES];
	ret->number = v[SWF_NUMBER];
	read_times(f, v, ret);
	ret->ncpus = cores;
	ret->mem_bytes = all_processors(v[SWF_MEM_ASKED], KIB,
					v[SWF_CORES_ASKED] > 0 ? v[SWF_CORES_ASKED] : cores);
	ret->mem_peak_bytes = all_processors(v[SWF_MEM_USED], KIB, cores);
	ret->cpu_ms = all_processors(cpu_ms, 1, cores);
	name_number('u', v[SWF_UID], ret->user);
	name_number('g', v[SWF_GID], ret->account);
	name_number('q', v[SWF_QUEUE], ret->queue);
	if (!*ret->queue)
		name_number('p', v[SWF_PARTITION], ret->queue);
	return (int)history_judge(ret);
}
