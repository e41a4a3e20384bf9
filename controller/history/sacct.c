/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct.c - reads a line of `sacct --parsable2`: fields, local times, TRES, memory; see sacct.h
 * for the rules. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "common/time_units.h"
#include "controller/history/sacct.h"

enum field {
	JOB,
	JOB_RAW,
	CLUSTER,
	PARTITION,
	QOS,
	ACCOUNT,
	GROUP,
	GID,
	USER,
	UID,
	SUBMIT,
	ELIGIBLE,
	START,
	END,
	ELAPSED,
	EXIT_CODE,
	STATE,
	NODES,
	CPUS,
	CPUS_ASKED,
	MEM_ASKED,
	TRES_ASKED,
	TRES,
	TIME_LIMIT,
	NODE_LIST,
	NAME,
	_FIELD_MAX,
};

#define MEM_UNSET_MIN 2147483648LL /* MiB; from here on Slurm means "no limit requested" */

struct text {
	const char *at;
	size_t size;
};

static int split_fields(const char *line, size_t size, struct text t[static _FIELD_MAX])
{
	const char *end = line + size, *bar;
	int n;

	for (n = 0; n < _FIELD_MAX - 1; n++) {
		bar = memchr(line, '|', (size_t)(end - line));
		if (!bar)
			return HISTORY_MISSING_FIELDS;
		t[n] = (struct text){ line, (size_t)(bar - line) };
		line = bar + 1;
	}
	t[n] = (struct text){ line, (size_t)(end - line) };
	return HISTORY_OK;
}

static bool is_word(struct text t, const char *word)
{
	return t.size == strlen(word) && memcmp(t.at, word, t.size) == 0;
}

static bool read_digits(struct text t, size_t at, size_t n, int64_t *ret)
{
	int64_t v = 0;

	if (at + n > t.size)
		return false;
	for (size_t i = at; i < at + n; i++) {
		if (t.at[i] < '0' || t.at[i] > '9')
			return false;
		v = v * 10 + (t.at[i] - '0');
	}
	*ret = v;
	return true;
}

/* Days since the epoch of a day of the Gregorian calendar: whole years of 365 days and their
 * leap days, counted from March so that the leap day comes last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month > 2 ? year : year - 1, m = (month + 9) % 12;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 - 719468;
}

static bool is_day(int64_t year, int64_t month, int64_t day)
{
	return year >= 1970 && month >= 1 && month <= 12 && day >= 1 &&
	       day <= (month == 12 ? 31
				   : days_of(year, month + 1, 1) - days_of(year, month, 1));
}

/* "2016-12-22T07:15:12". */
static int read_time(struct text t, int64_t *ret)
{
	int64_t v[6];
	static const size_t at[] = { 0, 5, 8, 11, 14, 17 };

	if (t.size != 19 || t.at[4] != '-' || t.at[7] != '-' || t.at[10] != 'T' ||
	    t.at[13] != ':' || t.at[16] != ':')
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		if (!read_digits(t, at[i], i ? 2 : 4, &v[i]))
			return -EINVAL;
	if (!is_day(v[0], v[1], v[2]) || v[3] > 23 || v[4] > 59 || v[5] > 60)
		return -EINVAL;
	*ret = days_of(v[0], v[1], v[2]) * DAY_S + v[3] * HOUR_S + v[4] * 60 + v[5];
	return 0;
}

/* "31000M", "62.50G", "8000": bytes; without a letter it is MiB. -1 when not readable. */
static int64_t read_memory(struct text t)
{
	static const char letters[] = "KMGTP";
	int64_t whole = 0, part = 0, scale = 1, unit = 1LL << 20, bytes;
	size_t i = 0;

	for (; i < t.size && t.at[i] >= '0' && t.at[i] <= '9' && whole < (1LL << 40); i++)
		whole = whole * 10 + (t.at[i] - '0');
	if (i == 0)
		return -1;
	if (i < t.size && t.at[i] == '.')
		for (i++; i < t.size && t.at[i] >= '0' && t.at[i] <= '9'; i++) {
			part = scale < 1000000 ? part * 10 + (t.at[i] - '0') : part;
			scale = scale < 1000000 ? scale * 10 : scale;
		}
	if (i < t.size) {
		const char *letter = memchr(letters, t.at[i], sizeof(letters) - 1);

		if (!letter || i + 1 != t.size)
			return -1;
		unit = 1LL << (10 * (letter - letters + 1));
	}
	if (__builtin_mul_overflow(whole, unit, &bytes) || bytes >= HISTORY_AMOUNT_MAX)
		return HISTORY_AMOUNT_MAX;
	return bytes + (int64_t)((__int128)part * unit / scale);
}

/* The items of "billing=12,cpu=12,gres/gpu:a100=2", one after the other; false: no more. */
static bool next_tres(struct text *rest, struct text *ret_key, struct text *ret_value)
{
	const char *end, *sign;

	if (!rest->size)
		return false;
	end = memchr(rest->at, ',', rest->size);
	*ret_key = (struct text){ rest->at, end ? (size_t)(end - rest->at) : rest->size };
	*rest = end ? (struct text){ end + 1, rest->size - ret_key->size - 1 }
		    : (struct text){ rest->at, 0 };
	sign = memchr(ret_key->at, '=', ret_key->size);
	*ret_value =
		(struct text){ sign ? sign + 1 : "",
			       sign ? ret_key->size - (size_t)(sign - ret_key->at) - 1 : 0 };
	ret_key->size = sign ? (size_t)(sign - ret_key->at) : ret_key->size;
	return true;
}

/* The value of `key`. */
static bool find_tres(struct text t, const char *key, struct text *ret)
{
	struct text name, value;

	while (next_tres(&t, &name, &value))
		if (is_word(name, key)) {
			*ret = value;
			return true;
		}
	return false;
}

/* The model of a TRES "gres/gpu:a100" or "gres/gpu:a100_1g.5gb", in small letters; a MIG slice
 * listed alone, "1g.5gb", keeps its name, and a map can name its model. */
static bool read_model(struct text key, char ret[static REQUEST_NAME_MAX])
{
	static const char head[] = "gres/gpu:";
	size_t n = sizeof(head) - 1;

	if (key.size <= n || memcmp(key.at, head, n) != 0 ||
	    !history_copy_name(key.at + n, key.size - n, ret))
		return false;
	for (char *p = ret; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return true;
}

/* GPUs by model, and those without a recorded model. Slurm prints both forms, or either. */
static int read_gpus(struct text t, struct history_job *ret)
{
	int64_t plain = 0, typed = 0, n;
	struct text key, value;
	char model[REQUEST_NAME_MAX];

	while (next_tres(&t, &key, &value)) {
		bool has_model = read_model(key, model);

		if (!has_model && !is_word(key, "gres/gpu"))
			continue;
		if (history_parse_int(value.at, value.size, &n) < 0 || n < 0 ||
		    n > HISTORY_CORES_MAX)
			return HISTORY_GARBAGE;
		if (!has_model)
			plain = n;
		else if (history_add_gpus(ret, model, n) < 0)
			return HISTORY_OUT_OF_RANGE;
		else
			typed += n;
	}
	if (plain > typed && history_add_gpus(ret, "", plain - typed) < 0)
		return HISTORY_OUT_OF_RANGE;
	ret->ngpus = plain > typed ? plain : typed;
	return HISTORY_OK;
}

/* reqmem "8000Mn" of a node, "4Gc" of a core. -1 when not recorded or without a limit. */
static int64_t memory_asked(struct text t, int64_t nodes, int64_t cores)
{
	int64_t each, all, times = 1;

	if (!t.size)
		return -1;
	if (t.at[t.size - 1] == 'n' || t.at[t.size - 1] == 'c') {
		times = t.at[t.size - 1] == 'n' ? nodes : cores;
		t.size--;
	}
	each = read_memory(t);
	if (each < 0 || each / (1LL << 20) >= MEM_UNSET_MIN)
		return -1;
	return __builtin_mul_overflow(each, times, &all) ? HISTORY_AMOUNT_MAX : all;
}

/* "1-06:00:00", "30:00"; -1 for UNLIMITED and Partition_Limit. */
static int64_t read_limit(struct text t)
{
	int64_t days = 0, total = 0, part = 0;
	size_t digits = 0, colons = 0;

	for (size_t i = 0; i < t.size; i++) {
		char c = t.at[i];

		if (c >= '0' && c <= '9' && ++digits < 10) {
			part = part * 10 + (c - '0');
		} else if (c == '-' && !total && !days && digits) {
			days = part;
			part = 0, digits = 0;
		} else if (c == ':' && digits && ++colons < 3) {
			total = (total + part) * 60;
			part = 0, digits = 0;
		} else {
			return -1;
		}
	}
	return digits ? days * DAY_S + total + part : -1;
}

/* Converts local times to moments. Of the readings of a time that occurred twice, the first
 * that agrees with elapsed. */
static void convert_times(const struct sacct *f, int64_t elapsed_s, struct history_job *j)
{
	int64_t start[2], end[2];

	if (!f->zone)
		return;
	j->submit_s = f->zone(f->ctx, j->submit_s, SACCT_EARLIER);
	for (enum sacct_which w = SACCT_EARLIER; w <= SACCT_LATER; w++) {
		start[w] = f->zone(f->ctx, j->start_s, w);
		end[w] = f->zone(f->ctx, j->end_s, w);
	}
	j->start_s = start[SACCT_EARLIER];
	j->end_s = end[SACCT_EARLIER];
	for (int i = 0; i < 4; i++) {
		if (start[i / 2] < j->submit_s || end[i % 2] - start[i / 2] != elapsed_s)
			continue;
		j->start_s = start[i / 2];
		j->end_s = end[i % 2];
		return;
	}
}

static int read_times(const struct sacct *f, const struct text t[static _FIELD_MAX],
		      struct history_job *ret)
{
	int64_t elapsed;

	if (is_word(t[START], "Unknown") || is_word(t[START], "None"))
		return HISTORY_NOT_STARTED;
	if (is_word(t[END], "Unknown"))
		return HISTORY_NOT_ENDED;
	if (read_time(t[SUBMIT], &ret->submit_s) < 0 ||
	    read_time(t[START], &ret->start_s) < 0 || read_time(t[END], &ret->end_s) < 0)
		return HISTORY_GARBAGE;
	elapsed = read_limit(t[ELAPSED]);
	convert_times(f, elapsed, ret);
	/* Slurm's elapsed leaves out the time in which the job was suspended. */
	if (elapsed >= 0 && elapsed < ret->end_s - ret->start_s)
		ret->suspended_s = ret->end_s - ret->start_s - elapsed;
	return HISTORY_OK;
}

static int read_amounts(const struct text t[static _FIELD_MAX], struct history_job *ret)
{
	struct text value;
	int why;

	if (history_parse_int(t[CPUS].at, t[CPUS].size, &ret->ncpus) < 0 ||
	    history_parse_int(t[NODES].at, t[NODES].size, &ret->nodes) < 0)
		return HISTORY_GARBAGE;
	why = read_gpus(t[TRES], ret);
	if (why != HISTORY_OK)
		return why;
	ret->mem_bytes = find_tres(t[TRES], "mem", &value)
				 ? read_memory(value)
				 : memory_asked(t[MEM_ASKED], ret->nodes, ret->ncpus);
	ret->walltime_s = read_limit(t[TIME_LIMIT]);
	return HISTORY_OK;
}

static bool read_name(struct text t, char ret[static REQUEST_NAME_MAX])
{
	return history_copy_name(t.at, t.size, ret);
}

static bool read_names(const struct text t[static _FIELD_MAX], struct history_job *ret)
{
	return read_name(t[CLUSTER], ret->cluster) && read_name(t[ACCOUNT], ret->account) &&
	       read_name(t[USER], ret->user) && read_name(t[PARTITION], ret->queue) &&
	       read_name(t[QOS], ret->qos);
}

static bool is_step(struct text id)
{
	return memchr(id.at, '.', id.size);
}

int sacct_parse_line(const struct sacct *f, const char *line, size_t size,
		     struct history_job *ret)
{
	struct text t[_FIELD_MAX];
	int why;

	if (size && line[size - 1] == '\r')
		size--;
	if (!size)
		return SACCT_NO_JOB;
	why = split_fields(line, size, t);
	if (why != HISTORY_OK)
		return why;
	if (is_word(t[JOB], "JobID") || is_step(t[JOB_RAW]))
		return SACCT_NO_JOB;
	history_init(ret);
	if (history_parse_int(t[JOB_RAW].at, t[JOB_RAW].size, &ret->number) < 0)
		return HISTORY_GARBAGE;
	if (!read_names(t, ret))
		return HISTORY_NO_NAME;
	why = read_times(f, t, ret);
	if (why == HISTORY_OK)
		why = read_amounts(t, ret);
	return why == HISTORY_OK ? (int)history_judge(ret) : why;
}
