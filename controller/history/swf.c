/* swf.c - see swf.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "controller/history/swf.h"

enum field {
	NUMBER,
	SUBMIT,
	WAIT,
	RUN,
	CORES,
	CPU_TIME,
	MEM_USED,
	CORES_ASKED,
	TIME_ASKED,
	MEM_ASKED,
	STATUS,
	UID,
	GID,
	EXECUTABLE,
	QUEUE,
	PARTITION,
	PRECEDING,
	THINK_TIME,
	_FIELD_MAX,
};

#define KIB 1024

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void read_header(struct swf *f, const char *line, size_t size)
{
	static const char key[] = "UnixStartTime:";
	size_t i = 0;
	int64_t at;

	while (i < size && (line[i] == ';' || is_blank(line[i])))
		i++;
	if (size - i < sizeof(key) - 1 || memcmp(line + i, key, sizeof(key) - 1) != 0)
		return;
	i += sizeof(key) - 1;
	while (i < size && is_blank(line[i]))
		i++;
	while (size > i && is_blank(line[size - 1]))
		size--;
	if (history_parse_int(line + i, size - i, &at) == 0 && at >= 0)
		f->epoch_s = at;
}

/* An enum history_why, or SWF_NO_JOB for a blank line. */
static int read_fields(const char *line, size_t size, int64_t v[static _FIELD_MAX])
{
	size_t i = 0;
	int n = 0;

	for (;;) {
		size_t from;

		while (i < size && is_blank(line[i]))
			i++;
		if (i == size)
			break;
		if (n == _FIELD_MAX)
			return HISTORY_EXTRA_FIELDS;
		for (from = i; i < size && !is_blank(line[i]);)
			i++;
		if (history_parse_int(line + from, i - from, &v[n++]) < 0)
			return HISTORY_GARBAGE;
	}
	if (n == 0)
		return SWF_NO_JOB;
	return n == _FIELD_MAX ? HISTORY_OK : HISTORY_MISSING_FIELDS;
}

/* What is told for one processor, for all of them; -1 when not told. */
static int64_t whole(int64_t each, int64_t unit, int64_t cores)
{
	int64_t all;

	if (each < 0 || cores <= 0)
		return -1;
	if (__builtin_mul_overflow(each, unit, &all) ||
	    __builtin_mul_overflow(all, cores, &all))
		return HISTORY_AMOUNT_MAX;
	return all;
}

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

int swf_parse_line(struct swf *f, const char *line, size_t size, struct history_job *ret)
{
	int64_t v[_FIELD_MAX], cores;
	int why;

	if (size && *line == ';') {
		read_header(f, line, size);
		return SWF_NO_JOB;
	}
	why = read_fields(line, size, v);
	if (why != HISTORY_OK)
		return why;
	if (f->epoch_s < 0)
		return HISTORY_NO_EPOCH;
	if (v[RUN] <= 0)
		return HISTORY_NO_RUN_TIME;
	cores = v[CORES];
	if (v[WAIT] < -1)
		return HISTORY_STARTS_TOO_SOON;
	if (v[WAIT] == -1)
		v[WAIT] = 0;
	ret->number = v[NUMBER];
	ret->submit_s = f->epoch_s + v[SUBMIT];
	ret->start_s = ret->submit_s + v[WAIT];
	ret->end_s = ret->start_s + v[RUN];
	ret->ncpus = cores;
	ret->ngpus = 0;
	ret->walltime_s = v[TIME_ASKED] < 0 ? -1 : v[TIME_ASKED];
	ret->mem_bytes = whole(v[MEM_ASKED], KIB, v[CORES_ASKED] > 0 ? v[CORES_ASKED] : cores);
	ret->mem_peak_bytes = whole(v[MEM_USED], KIB, cores);
	ret->cpu_ms = whole(v[CPU_TIME], 1000, cores);
	ret->cluster[0] = '\0';
	name_number('u', v[UID], ret->user);
	name_number('g', v[GID], ret->account);
	return (int)history_judge(ret);
}
