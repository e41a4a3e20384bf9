/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history.c - checks a job read from another system's accounting, and reads its numbers and
 * names; see history.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "common/cleanup.h"
#include "controller/history/history.h"

static const char *const why_names[] = {
	[HISTORY_OK] = "ok",
	[HISTORY_MISSING_FIELDS] = "missing-fields",
	[HISTORY_EXTRA_FIELDS] = "extra-fields",
	[HISTORY_GARBAGE] = "garbage",
	[HISTORY_NO_EPOCH] = "no-unix-start-time",
	[HISTORY_NOT_STARTED] = "not-started",
	[HISTORY_NOT_ENDED] = "not-ended",
	[HISTORY_NO_RUN_TIME] = "no-run-time",
	[HISTORY_NO_CORES] = "no-cores",
	[HISTORY_ENDS_TOO_SOON] = "ends-before-start",
	[HISTORY_NO_NAME] = "no-name",
	[HISTORY_TOO_LONG_SUSPENDED] = "suspended-too-long",
	[HISTORY_OUT_OF_RANGE] = "out-of-range",
	[HISTORY_NO_PRICE] = "no-price",
	[HISTORY_PART] = "partial-execution",
};
_Static_assert(ARRAY_LEN(why_names) == _HISTORY_WHY_MAX, "a name a reason");

const char *history_why_name(enum history_why w)
{
	return w < _HISTORY_WHY_MAX ? why_names[w] : "unknown";
}

static bool is_within(int64_t v, int64_t low, int64_t high)
{
	return v >= low && v <= high;
}

void history_note(struct history_job *j, enum history_note n)
{
	j->notes |= 1U << n;
}

static void keep_fault(struct history_job *j, const char *field, struct history_text text)
{
	if (j->fault)
		return;
	j->fault = field;
	j->fault_text = text;
}

int history_fault(struct history_job *j, const char *field, struct history_text text)
{
	j->fault = NULL; /* this one is the reason */
	keep_fault(j, field, text);
	return HISTORY_GARBAGE;
}

void history_forget(struct history_job *j, const char *field, struct history_text text)
{
	keep_fault(j, field, text);
	history_note(j, HISTORY_NOTE_UNREADABLE);
}

void history_add_amount(struct history_amounts *list, struct history_text name, int64_t n)
{
	struct history_amount *to = list->of;
	char copy[REQUEST_NAME_MAX];

	if (n <= 0 || !history_copy_name(name.at, name.size, copy) || !*copy)
		return;
	while (to < list->of + list->n && strcmp(to->name, copy) != 0)
		to++;
	if (to == list->of + HISTORY_AMOUNTS_MAX)
		return;
	if (to == list->of + list->n) {
		list->n++;
		strcpy(to->name, copy);
	}
	if (__builtin_add_overflow(to->n, n, &to->n) || to->n > HISTORY_AMOUNT_MAX)
		to->n = HISTORY_AMOUNT_MAX;
}

/* What decides no charge: not recorded where it cannot be so. */
static void mend_figures(struct history_job *j)
{
	static const struct history_text none = { "", 0 };
	const struct {
		const char *name;
		int64_t *v, most;
	} of[] = { { "requested walltime", &j->walltime_s, HISTORY_AMOUNT_MAX - 1 },
		   { "peak of memory", &j->mem_peak_bytes, HISTORY_AMOUNT_MAX - 1 },
		   { "cpu time", &j->cpu_ms, HISTORY_AMOUNT_MAX / 1000000 } };

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		if (is_within(*of[i].v, -1, of[i].most))
			continue;
		*of[i].v = -1;
		history_forget(j, of[i].name, none);
	}
	if (j->submit_s > j->start_s) {
		j->submit_s = j->start_s;
		history_note(j, HISTORY_NOTE_SUBMIT);
	}
	if (j->mem_peak_bytes == 0) {
		j->mem_peak_bytes = -1;
		j->cpu_ms = j->cpu_ms == 0 ? -1 : j->cpu_ms;
	}
	j->mem_bytes = j->mem_bytes == 0 ? -1 : j->mem_bytes;
	j->walltime_s = j->walltime_s == 0 ? -1 : j->walltime_s;
}

enum history_why history_judge(struct history_job *j)
{
	mend_figures(j);
	if (j->end_s < j->start_s)
		return HISTORY_ENDS_TOO_SOON;
	if (j->end_s == j->start_s)
		return HISTORY_NO_RUN_TIME;
	if (j->ncpus <= 0)
		return HISTORY_NO_CORES;
	if (j->suspended_s < 0 || j->suspended_s > j->end_s - j->start_s)
		return HISTORY_TOO_LONG_SUSPENDED;
	if (j->suspended_s == j->end_s - j->start_s)
		return HISTORY_NO_RUN_TIME;
	if (!is_within(j->number, 0, HISTORY_NUMBER_MAX) ||
	    !is_within(j->submit_s, 0, HISTORY_TIME_MAX) ||
	    !is_within(j->end_s, 0, HISTORY_TIME_MAX) ||
	    j->end_s - j->start_s > HISTORY_RUN_MAX || j->ncpus > HISTORY_CORES_MAX ||
	    !is_within(j->ngpus, 0, HISTORY_CORES_MAX) ||
	    !is_within(j->nodes, 0, HISTORY_CORES_MAX) ||
	    !is_within(j->mem_bytes, -1, HISTORY_AMOUNT_MAX - 1))
		return HISTORY_OUT_OF_RANGE;
	return HISTORY_OK;
}

/* Saturates instead of failing: a line with an absurd number is counted by its reason. */
int history_parse_int(const char *text, size_t size, int64_t *ret)
{
	bool minus = size && *text == '-';
	size_t i = minus || (size && *text == '+');
	int64_t n = 0;

	if (i == size || text[i] < '0' || text[i] > '9')
		return -EINVAL;
	for (; i < size && text[i] >= '0' && text[i] <= '9'; i++) {
		n = n > HISTORY_AMOUNT_MAX / 10 ? HISTORY_AMOUNT_MAX : n * 10 + (text[i] - '0');
		if (n > HISTORY_AMOUNT_MAX)
			n = HISTORY_AMOUNT_MAX;
	}
	if (i < size && text[i] == '.' && i + 1 < size)
		for (i++; i < size && text[i] >= '0' && text[i] <= '9';)
			i++;
	if (i != size)
		return -EINVAL;
	*ret = minus ? -n : n;
	return 0;
}

int history_parse_thousandths(const char *text, size_t size, int64_t *ret)
{
	const char *point = memchr(text, '.', size);
	int64_t whole, part = 0, scale = 100;
	int r = history_parse_int(text, size, &whole);

	if (r < 0)
		return r;
	for (const char *p = point ? point + 1 : text + size; p < text + size && scale;
	     p++, scale /= 10)
		part += (*p - '0') * scale;
	if (__builtin_mul_overflow(whole, (int64_t)1000, ret) || *ret > HISTORY_AMOUNT_MAX ||
	    *ret < -HISTORY_AMOUNT_MAX) {
		*ret = whole < 0 ? -HISTORY_AMOUNT_MAX : HISTORY_AMOUNT_MAX;
		return 0;
	}
	*ret += size && *text == '-' ? -part : part;
	return 0;
}

void history_init(struct history_job *j)
{
	*j = (struct history_job){
		.walltime_s = -1, .mem_bytes = -1, .mem_peak_bytes = -1, .cpu_ms = -1
	};
}

bool history_copy_name(const char *text, size_t size, char ret[static REQUEST_NAME_MAX])
{
	ret[0] = '\0';
	while (size && text[size - 1] == ' ')
		size--;
	while (size && *text == ' ')
		text++, size--;
	if (size >= REQUEST_NAME_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	if (size)
		memcpy(ret, text, size);
	ret[size] = '\0';
	return true;
}

bool history_is_name(const char *name)
{
	return !strchr(name, ' ');
}

bool history_is(struct history_text t, const char *word)
{
	return t.at && t.size == strlen(word) && memcmp(t.at, word, t.size) == 0;
}

static char small_letter(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool history_is_like(struct history_text t, const char *word)
{
	if (!t.at || t.size != strlen(word))
		return false;
	for (size_t i = 0; i < t.size; i++)
		if (small_letter(t.at[i]) != small_letter(word[i]))
			return false;
	return true;
}

int history_add_gpus(struct history_job *j, const char *model, int64_t n)
{
	if (n < 0)
		return -EINVAL;
	return n == 0 ? 0 : gpus_add(&j->gpus, model, n);
}
