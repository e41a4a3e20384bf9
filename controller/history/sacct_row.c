/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct_row.c - what the fields of a row of sacct are: local times, TRES, memory, states; see
 * sacct.h for the rules. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "common/time_units.h"
#include "controller/history/sacct.h"

#define MEM_UNSET_MIN 2147483648LL /* MiB; from here on Slurm means "no limit requested" */

static bool read_digits(struct history_text t, size_t at, size_t n, int64_t *ret)
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

/* A time of a row: a moment, or what the clocks of the site's zone showed. */
struct moment {
	int64_t s;
	bool is_local;
};

/* "+0100", "-05:00", "Z": seconds to take away. */
static int read_offset(struct history_text t, int64_t *ret)
{
	int64_t hours, minutes;
	size_t colon = t.size == 6;

	if (history_is(t, "Z")) {
		*ret = 0;
		return 0;
	}
	if ((t.size != 5 && t.size != 6) || (*t.at != '+' && *t.at != '-') ||
	    (colon && t.at[3] != ':') || !read_digits(t, 1, 2, &hours) ||
	    !read_digits(t, 3 + colon, 2, &minutes) || hours > 26 || minutes > 59)
		return -EINVAL;
	*ret = (hours * 60 + minutes) * (*t.at == '-' ? -60 : 60);
	return 0;
}

/* Seconds since the epoch. */
static int read_epoch(struct history_text t, struct moment *ret)
{
	*ret = (struct moment){ 0 };
	return t.size < 6 || t.size > 11 || !read_digits(t, 0, t.size, &ret->s) ? -EINVAL : 0;
}

/* "2016-12-22T07:15:12", with an offset or without. */
static int read_time(struct history_text t, struct moment *ret)
{
	static const size_t at[] = { 0, 5, 8, 11, 14, 17 };
	int64_t v[6], offset;

	if (t.size < 19)
		return read_epoch(t, ret);
	if (t.at[4] != '-' || t.at[7] != '-' || (t.at[10] != 'T' && t.at[10] != ' ') ||
	    t.at[13] != ':' || t.at[16] != ':')
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		if (!read_digits(t, at[i], i ? 2 : 4, &v[i]))
			return -EINVAL;
	if (!is_day(v[0], v[1], v[2]) || v[3] > 23 || v[4] > 59 || v[5] > 60)
		return -EINVAL;
	ret->s = days_of(v[0], v[1], v[2]) * DAY_S + v[3] * HOUR_S + v[4] * 60 + v[5];
	ret->is_local = t.size == 19;
	if (ret->is_local)
		return 0;
	if (read_offset((struct history_text){ t.at + 19, t.size - 19 }, &offset) < 0)
		return -EINVAL;
	ret->s -= offset;
	return 0;
}

/* "12", and as sacct before 17.02 has counts: "1K", "1.50K". -EINVAL. */
static int read_count(struct history_text t, int64_t *ret)
{
	int64_t n;

	if (!t.size || (t.at[t.size - 1] != 'K' && t.at[t.size - 1] != 'M'))
		return history_parse_int(t.at ? t.at : "", t.size, ret);
	if (history_parse_thousandths(t.at, t.size - 1, &n) < 0)
		return -EINVAL;
	*ret = (int64_t)((__int128)n * (t.at[t.size - 1] == 'K' ? 1 << 10 : 1 << 20) / 1000);
	return 0;
}

/* "31000M", "62.50G", "8000": bytes; without a letter it is MiB. -1 when not readable. */
static int64_t read_memory(struct history_text t)
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
static bool next_tres(struct history_text *rest, struct history_text *ret_key,
		      struct history_text *ret_value)
{
	const char *end, *sign;

	if (!rest->size)
		return false;
	end = memchr(rest->at, ',', rest->size);
	*ret_key =
		(struct history_text){ rest->at, end ? (size_t)(end - rest->at) : rest->size };
	*rest = end ? (struct history_text){ end + 1, rest->size - ret_key->size - 1 }
		    : (struct history_text){ rest->at, 0 };
	sign = memchr(ret_key->at, '=', ret_key->size);
	*ret_value =
		(struct history_text){ sign ? sign + 1 : "",
				       sign ? ret_key->size - (size_t)(sign - ret_key->at) - 1
					    : 0 };
	ret_key->size = sign ? (size_t)(sign - ret_key->at) : ret_key->size;
	return true;
}

/* The value of `key`. */
static bool find_tres(struct history_text t, const char *key, struct history_text *ret)
{
	struct history_text name, value;

	while (next_tres(&t, &name, &value))
		if (history_is(name, key)) {
			*ret = value;
			return true;
		}
	return false;
}

/* The model of a TRES "gres/gpu:a100" or "gres/gpu:a100_1g.5gb", in small letters; a MIG slice
 * listed alone, "1g.5gb", keeps its name, and a map can name its model. */
static bool read_model(struct history_text key, char ret[static REQUEST_NAME_MAX])
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

static bool has_head(struct history_text t, const char *head)
{
	size_t n = strlen(head);

	return t.size > n && !memcmp(t.at, head, n);
}

/* What a job holds beside cores, memory, nodes and GPUs: shards, licenses, burst buffers. Of the
 * gpumem and gpuutil of Slurm nothing is held: they are what was measured. A model counts with its
 * gres. */
static void note_left_out(struct history_text key, struct history_text value,
			  struct history_job *ret)
{
	bool is_held =
		has_head(key, "gres/") || has_head(key, "license/") || has_head(key, "bb/");
	int64_t n;

	if (!is_held || history_is(key, "gres/gpumem") || history_is(key, "gres/gpuutil") ||
	    has_head(key, "gres/gpu:") || memchr(key.at, ':', key.size))
		return;
	if (read_count(value, &n) == 0)
		history_add_amount(&ret->left_out, key, n);
}

/* GPUs by model, and those without a recorded model. Slurm prints both forms, or either. */
static int read_gpus(struct history_text t, struct history_job *ret)
{
	int64_t plain = 0, typed = 0, n;
	struct history_text key, value;
	char model[REQUEST_NAME_MAX];

	while (next_tres(&t, &key, &value)) {
		bool has_model = read_model(key, model);

		if (!has_model && !history_is(key, "gres/gpu")) {
			note_left_out(key, value, ret);
			continue;
		}
		if (read_count(value, &n) < 0 || n < 0 || n > HISTORY_CORES_MAX)
			return history_fault(ret, "AllocTRES", key);
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
static int64_t memory_asked(struct history_text t, int64_t nodes, int64_t cores)
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
static int64_t read_limit(struct history_text t)
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

/* The times of a row. */
struct times {
	struct moment submit, start, end;
};

static int64_t convert_time(const struct sacct *f, struct moment m, enum sacct_which w)
{
	return m.is_local && f->zone ? f->zone(f->ctx, m.s, w) : m.s;
}

/* Converts local times to moments. Of the readings of a time that occurred twice, the first
 * that agrees with elapsed. */
static void convert_times(const struct sacct *f, const struct times *t, int64_t elapsed_s,
			  struct history_job *j)
{
	int64_t start[2], end[2];

	j->submit_s = convert_time(f, t->submit, SACCT_EARLIER);
	for (enum sacct_which w = SACCT_EARLIER; w <= SACCT_LATER; w++) {
		start[w] = convert_time(f, t->start, w);
		end[w] = convert_time(f, t->end, w);
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

/* States in which a job has not ended: its End, where sacct prints one, is not its end. */
static bool is_unfinished(struct history_text state)
{
	static const char *const words[] = {
		"PENDING",     "RUNNING",      "SUSPENDED",	"COMPLETING", "CONFIGURING",
		"STOPPED",     "SIGNALING",    "STAGE_OUT",	"UPDATE_DB",  "POWER_UP_NODE",
		"REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD",
	};
	const char *blank = state.size ? memchr(state.at, ' ', state.size) : NULL;

	if (blank)
		state.size = (size_t)(blank - state.at);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (history_is_like(state, words[i]))
			return true;
	return false;
}

static bool is_unknown(struct history_text t)
{
	return history_is(t, "Unknown") || history_is(t, "None");
}

/* -1: neither column is there, or what it says is no time. */
static int64_t read_elapsed(const struct history_text t[static _SACCT_FIELD_MAX],
			    struct history_job *ret)
{
	struct history_text raw = t[SACCT_ELAPSED_RAW], text = t[SACCT_ELAPSED];
	int64_t s = -1;

	if (raw.size && history_parse_int(raw.at, raw.size, &s) == 0 && s >= 0)
		return s;
	s = read_limit(text);
	if (s < 0 && text.size)
		history_forget(ret, "Elapsed", text);
	return s;
}

static int read_times(const struct sacct *f,
		      const struct history_text t[static _SACCT_FIELD_MAX],
		      struct history_job *ret)
{
	struct times times;
	int64_t elapsed;

	if (is_unknown(t[SACCT_START]))
		return HISTORY_NOT_STARTED;
	if (is_unfinished(t[SACCT_STATE]) || history_is(t[SACCT_END], "Unknown"))
		return HISTORY_NOT_ENDED;
	if (read_time(t[SACCT_START], &times.start) < 0)
		return history_fault(ret, "Start", t[SACCT_START]);
	if (read_time(t[SACCT_END], &times.end) < 0)
		return history_fault(ret, "End", t[SACCT_END]);
	if (!t[SACCT_SUBMIT].at) {
		times.submit = times.start;
	} else if (read_time(t[SACCT_SUBMIT], &times.submit) < 0) {
		times.submit = times.start;
		history_forget(ret, "Submit", t[SACCT_SUBMIT]);
	}
	elapsed = read_elapsed(t, ret);
	convert_times(f, &times, elapsed, ret);
	/* Slurm's elapsed leaves out the time in which the job was suspended. */
	if (elapsed >= 0 && elapsed < ret->end_s - ret->start_s)
		ret->suspended_s = ret->end_s - ret->start_s - elapsed;
	return HISTORY_OK;
}

/* The count of a column, else that of AllocTRES. -EINVAL: neither is one. */
static int read_allocated(const struct history_text t[static _SACCT_FIELD_MAX],
			  enum sacct_field column, const char *tres, int64_t *ret)
{
	struct history_text value;

	if (read_count(t[column], ret) == 0 && *ret > 0)
		return 0;
	if (find_tres(t[SACCT_TRES], tres, &value) && read_count(value, ret) == 0)
		return 0;
	return read_count(t[column], ret);
}

static void read_memory_asked(const struct history_text t[static _SACCT_FIELD_MAX],
			      struct history_job *ret)
{
	struct history_text value;

	ret->mem_bytes = find_tres(t[SACCT_TRES], "mem", &value)
				 ? read_memory(value)
				 : memory_asked(t[SACCT_MEM_ASKED], ret->nodes, ret->ncpus);
}

static int read_amounts(const struct history_text t[static _SACCT_FIELD_MAX],
			struct history_job *ret)
{
	int64_t minutes;
	int why;

	if (read_allocated(t, SACCT_CPUS, "cpu", &ret->ncpus) < 0)
		return history_fault(ret, "NCPUS", t[SACCT_CPUS]);
	if (read_allocated(t, SACCT_NODES, "node", &ret->nodes) < 0 || ret->nodes < 0) {
		ret->nodes = 0;
		if (t[SACCT_NODES].at)
			history_forget(ret, "NNodes", t[SACCT_NODES]);
	}
	why = read_gpus(t[SACCT_TRES], ret);
	if (why != HISTORY_OK)
		return why;
	read_memory_asked(t, ret);
	ret->walltime_s = read_limit(t[SACCT_LIMIT]);
	if (ret->walltime_s < 0 && t[SACCT_LIMIT_RAW].size &&
	    history_parse_int(t[SACCT_LIMIT_RAW].at, t[SACCT_LIMIT_RAW].size, &minutes) == 0 &&
	    minutes > 0 && minutes <= HISTORY_AMOUNT_MAX / 60)
		ret->walltime_s = minutes * 60;
	return HISTORY_OK;
}

static bool read_name(struct history_text t, char ret[static REQUEST_NAME_MAX])
{
	return history_copy_name(t.at ? t.at : "", t.size, ret);
}

static bool read_names(const struct history_text t[static _SACCT_FIELD_MAX],
		       struct history_job *ret)
{
	if (!read_name(t[SACCT_CLUSTER], ret->cluster) ||
	    !read_name(t[SACCT_ACCOUNT], ret->account) || !read_name(t[SACCT_USER], ret->user))
		return false;
	for (char *p = ret->account; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	if (!read_name(t[SACCT_PARTITION], ret->queue))
		history_forget(ret, "Partition", t[SACCT_PARTITION]);
	if (!read_name(t[SACCT_QOS], ret->qos))
		history_forget(ret, "QOS", t[SACCT_QOS]);
	return true;
}

/* "12"; of JobID alone not "12_3", whose number it does not have. */
static int read_number(const struct history_text t[static _SACCT_FIELD_MAX],
		       struct history_job *ret)
{
	struct history_text id = t[SACCT_JOB_RAW].at ? t[SACCT_JOB_RAW] : t[SACCT_JOB];

	return history_parse_int(id.at ? id.at : "", id.size, &ret->number) < 0
		       ? history_fault(ret, "JobIDRaw", id)
		       : HISTORY_OK;
}

int sacct_row_parse(const struct sacct *f, const struct history_text t[static _SACCT_FIELD_MAX],
		    struct history_job *ret)
{
	struct history_text id = t[SACCT_JOB_RAW].at ? t[SACCT_JOB_RAW] : t[SACCT_JOB];
	int why;

	history_init(ret);
	if (id.size && memchr(id.at, '.', id.size))
		return SACCT_NO_JOB;
	why = read_number(t, ret);
	if (why == HISTORY_OK && !read_names(t, ret))
		why = HISTORY_NO_NAME;
	if (why == HISTORY_OK)
		why = read_times(f, t, ret);
	if (why == HISTORY_OK)
		why = read_amounts(t, ret);
	return why == HISTORY_OK ? (int)history_judge(ret) : why;
}
