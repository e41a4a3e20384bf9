/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs.c - reads a line of a PBS accounting log: its values, its job id, its times and
 * resources; see pbs.h for the rules. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "common/cleanup.h"
#include "controller/history/pbs.h"
#include "controller/history/pbs_resources.h"

enum key {
	KEY_USER,
	KEY_GROUP,
	KEY_ACCOUNT,
	KEY_PROJECT,
	KEY_QUEUE,
	KEY_CTIME,
	KEY_QTIME,
	KEY_ETIME,
	KEY_START,
	KEY_END,
	KEY_EXEC_HOST,
	KEY_EXEC_VNODE,
	KEY_SLOTS,
	KEY_NCPUS,
	KEY_NGPUS,
	KEY_MEM,
	KEY_WALLTIME,
	KEY_SELECT,
	KEY_NODES,
	KEY_QOS,
	KEY_GPU_MODEL,
	KEY_GPU_TYPE,
	KEY_ACCEL_TYPE,
	KEY_USED_CPUT,
	KEY_USED_MEM,
	KEY_USED_WALLTIME,
	KEY_JOBNAME,
	KEY_PROCS,
	KEY_SIZE,
	KEY_MPPWIDTH,
	KEY_MPPDEPTH,
	KEY_MPPNPPN,
	_KEY_MAX,
};
static const char *const keys[] = {
	[KEY_USER] = "user",
	[KEY_GROUP] = "group",
	[KEY_ACCOUNT] = "account",
	[KEY_PROJECT] = "project",
	[KEY_QUEUE] = "queue",
	[KEY_CTIME] = "ctime",
	[KEY_QTIME] = "qtime",
	[KEY_ETIME] = "etime",
	[KEY_START] = "start",
	[KEY_END] = "end",
	[KEY_EXEC_HOST] = "exec_host",
	[KEY_EXEC_VNODE] = "exec_vnode",
	[KEY_SLOTS] = "total_execution_slots",
	[KEY_NCPUS] = "Resource_List.ncpus",
	[KEY_NGPUS] = "Resource_List.ngpus",
	[KEY_MEM] = "Resource_List.mem",
	[KEY_WALLTIME] = "Resource_List.walltime",
	[KEY_SELECT] = "Resource_List.select",
	[KEY_NODES] = "Resource_List.nodes",
	[KEY_QOS] = "Resource_List.qos",
	[KEY_GPU_MODEL] = "Resource_List.gpu_model",
	[KEY_GPU_TYPE] = "Resource_List.gpu_type",
	[KEY_ACCEL_TYPE] = "Resource_List.accel_type",
	[KEY_USED_CPUT] = "resources_used.cput",
	[KEY_USED_MEM] = "resources_used.mem",
	[KEY_USED_WALLTIME] = "resources_used.walltime",
	[KEY_JOBNAME] = "jobname",
	[KEY_PROCS] = "Resource_List.procs",
	[KEY_SIZE] = "Resource_List.size",
	[KEY_MPPWIDTH] = "Resource_List.mppwidth",
	[KEY_MPPDEPTH] = "Resource_List.mppdepth",
	[KEY_MPPNPPN] = "Resource_List.mppnppn",
};
_Static_assert(ARRAY_LEN(keys) == _KEY_MAX, "a name a key");

#define NO_PROJECT "_pbs_project_default" /* the project of a job without one, in PBS */

struct record {
	char type;
	struct history_text id;
	struct history_text of[_KEY_MAX];
	struct history_amounts left_out;
};

/* ---- the line ---- */

/* "04/18/2008 03:35:28", with parts of a second in some logs. */
static bool is_time(struct history_text t)
{
	static const char form[] = "00/00/0000 00:00:00";

	if (t.size < sizeof(form) - 1 || (t.size > sizeof(form) - 1 && t.at[19] != '.'))
		return false;
	for (size_t i = 0; i < t.size; i++) {
		char want = i < sizeof(form) - 1 ? form[i] : i == 19 ? '.' : '0';

		if (want == '0' ? t.at[i] < '0' || t.at[i] > '9' : t.at[i] != want)
			return false;
	}
	return true;
}

static bool cut_field(const char **at, const char *end, struct history_text *ret)
{
	const char *sign = memchr(*at, ';', (size_t)(end - *at));

	if (!sign)
		return false;
	*ret = (struct history_text){ *at, (size_t)(sign - *at) };
	*at = sign + 1;
	return true;
}

static bool is_key_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

/* Does " word=" begin at this blank, or only blanks follow? */
static bool ends_value(const char *at, const char *end)
{
	const char *from;

	while (at < end && *at == ' ')
		at++;
	for (from = at; at < end && is_key_letter(*at);)
		at++;
	return at == end ? from == end : at > from && *at == '=';
}

/* The end of a value in quotes, which PBS does not escape: the first quote before " word=".
 * NULL: there is none. */
static const char *find_quote(const char *at, const char *end, char quote)
{
	for (at = memchr(at, quote, (size_t)(end - at)); at;
	     at = memchr(at + 1, quote, (size_t)(end - at - 1)))
		if (at + 1 == end || (at[1] == ' ' && ends_value(at + 1, end)))
			return at;
	return NULL;
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* PBS writes these without quotes, whatever is in them: a quote belongs to the text. */
static bool is_never_quoted(enum key k)
{
	return k == KEY_USER || k == KEY_GROUP || k == KEY_JOBNAME || k == KEY_QUEUE;
}

/* A value ends before the next " word="; *at goes behind it. */
static struct history_text cut_value(const char **at, const char *end, enum key k)
{
	const char *from = *at, *p = from,
		   *close = from < end && is_quote(*from) && !is_never_quoted(k)
				    ? find_quote(from + 1, end, *from)
				    : NULL;

	if (close) {
		*at = close + 1;
		return (struct history_text){ from + 1, (size_t)(close - from) - 1 };
	}
	while (p < end && !(*p == ' ' && ends_value(p, end)))
		p++;
	*at = p;
	if (p - from >= 2 && is_quote(*from) && p[-1] == *from)
		return (struct history_text){ from + 1, (size_t)(p - from) - 2 };
	return (struct history_text){ from, (size_t)(p - from) };
}

/* _KEY_MAX: none of the table. */
static enum key find_key(struct history_text name)
{
	enum key k = 0;

	while (k < _KEY_MAX && !history_is(name, keys[k]))
		k++;
	return k;
}

static void note_other(struct record *r, struct history_text key, struct history_text value)
{
	static const char head[] = "Resource_List.";
	const size_t n = sizeof(head) - 1;

	if (key.size > n && !memcmp(key.at, head, n))
		pbs_add_left_out(&r->left_out,
				 (struct history_text){ key.at + n, key.size - n }, value, 1);
}

/* "key=value key=value ..." *ret_twice: a key that has two values, of which either may be right.
 * -EINVAL: another form. */
static int read_values(const char *at, const char *end, struct record *r,
		       const char **ret_twice)
{
	*ret_twice = NULL;
	while (at < end) {
		struct history_text value, key = { at, 0 };
		enum key k;

		if (*at == ' ') {
			at++;
			continue;
		}
		while (at < end && is_key_letter(*at))
			at++;
		key.size = (size_t)(at - key.at);
		if (at == end || *at != '=' || !key.size)
			return -EINVAL;
		at++;
		k = find_key(key);
		value = cut_value(&at, end, k);
		if (k == _KEY_MAX)
			note_other(r, key, value);
		else if (!r->of[k].at)
			r->of[k] = value;
		else if (r->of[k].size != value.size ||
			 memcmp(r->of[k].at, value.at, value.size) != 0)
			*ret_twice = k == KEY_JOBNAME ? *ret_twice : keys[k];
	}
	return 0;
}

static int read_head(const char **at, const char *end, struct record *ret)
{
	struct history_text when, type;

	if (!cut_field(at, end, &when) || !cut_field(at, end, &type) ||
	    !cut_field(at, end, &ret->id))
		return HISTORY_MISSING_FIELDS;
	if (!is_time(when) || type.size != 1)
		return HISTORY_GARBAGE;
	ret->type = *type.at;
	/* The id of a reservation begins with R. */
	return ret->id.size && *ret->id.at == 'R' ? PBS_NO_JOB : HISTORY_OK;
}

static int read_body(const char *at, const char *end, struct record *r, struct history_job *j)
{
	const char *twice;

	if (read_values(at, end, r, &twice) < 0)
		return history_fault(j, "record",
				     (struct history_text){ at, (size_t)(end - at) });
	return twice ? history_fault(j, twice, (struct history_text){ "twice", 5 })
		     : HISTORY_OK;
}

/* ---- names, times, amounts ---- */

static bool read_name(struct history_text t, char ret[static REQUEST_NAME_MAX])
{
	return history_copy_name(t.at ? t.at : "", t.size, ret);
}

static bool read_names(const struct record *r, struct history_job *ret)
{
	static const enum key accounts[] = { KEY_PROJECT, KEY_ACCOUNT, KEY_GROUP };
	struct history_text account = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(accounts) && !account.size; i++)
		if (!history_is(r->of[accounts[i]], NO_PROJECT))
			account = r->of[accounts[i]];
	return read_name(account, ret->account) && read_name(r->of[KEY_USER], ret->user) &&
	       read_name(r->of[KEY_QUEUE], ret->queue) && read_name(r->of[KEY_QOS], ret->qos);
}

/* A value that is not recorded, or not readable, leaves *ret unchanged. -EINVAL: not readable. */
static int read_int(struct history_text t, int64_t *ret)
{
	return t.at ? history_parse_int(t.at, t.size, ret) : 0;
}

static void read_submit(const struct record *r, struct history_job *ret)
{
	static const enum key submitted[] = { KEY_ETIME, KEY_QTIME,
					      KEY_CTIME }; /* the last counts */

	ret->submit_s = ret->start_s;
	for (size_t i = 0; i < ARRAY_LEN(submitted); i++)
		if (read_int(r->of[submitted[i]], &ret->submit_s) < 0)
			history_forget(ret, keys[submitted[i]], r->of[submitted[i]]);
}

static int read_times(const struct record *r, struct history_job *ret, int64_t *ret_used_s)
{
	int64_t used_ms;

	*ret_used_s = -1;
	if (!r->of[KEY_START].at || !r->of[KEY_END].at)
		return HISTORY_MISSING_FIELDS;
	if (read_int(r->of[KEY_START], &ret->start_s) < 0)
		return history_fault(ret, "start", r->of[KEY_START]);
	if (read_int(r->of[KEY_END], &ret->end_s) < 0)
		return history_fault(ret, "end", r->of[KEY_END]);
	if (ret->start_s <= 0)
		return HISTORY_NOT_STARTED;
	read_submit(r, ret);
	if (!r->of[KEY_USED_WALLTIME].at)
		return HISTORY_OK;
	if (pbs_parse_time(r->of[KEY_USED_WALLTIME], &used_ms) < 0)
		return history_fault(ret, keys[KEY_USED_WALLTIME], r->of[KEY_USED_WALLTIME]);
	*ret_used_s = used_ms / 1000;
	if (ret->end_s > ret->start_s && *ret_used_s < ret->end_s - ret->start_s)
		ret->suspended_s = ret->end_s - ret->start_s - *ret_used_s;
	return HISTORY_OK;
}

/* Requested and allocated chunks. */
struct amounts {
	struct pbs_chunks vnodes, select, nodes;
};

/* Chunks that were requested count only where the allocation is not recorded. */
static int read_asked(const struct record *r, struct history_job *ret, struct amounts *a)
{
	static const enum key asked[] = { KEY_SELECT, KEY_NODES };
	bool is_needed = a->vnodes.ncpus <= 0;

	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct history_text t = r->of[asked[i]];
		bool has_models = asked[i] == KEY_SELECT && !a->vnodes.typed;
		struct pbs_chunks *to = i ? &a->nodes : &a->select;
		struct gpus before = ret->gpus;
		/* Models of the request count where the allocation records none. */
		int e = pbs_parse_chunks(t, 1, has_models ? ret : NULL, to);

		if (e == -ENOSPC)
			return HISTORY_OUT_OF_RANGE;
		if (e < 0 && is_needed)
			return history_fault(ret, keys[asked[i]], t);
		if (e == 0)
			continue;
		*to = (struct pbs_chunks){ .mem_bytes = -1 };
		ret->gpus = before;
		history_forget(ret, keys[asked[i]], t);
	}
	return HISTORY_OK;
}

static int read_chunks(const struct record *r, struct history_job *ret, struct amounts *a)
{
	int e = pbs_parse_chunks(r->of[KEY_EXEC_VNODE], 0, ret, &a->vnodes);

	if (e == -ENOSPC)
		return HISTORY_OUT_OF_RANGE;
	if (e < 0)
		return history_fault(ret, keys[KEY_EXEC_VNODE], r->of[KEY_EXEC_VNODE]);
	return read_asked(r, ret, a);
}

/* Amounts of the chunks that Resource_List does not sum up by itself. */
static void read_left_out(const struct record *r, const struct amounts *a,
			  struct history_job *ret)
{
	const struct history_amounts *from = &a->vnodes.left_out;

	if (!from->n)
		from = a->select.left_out.n ? &a->select.left_out : &a->nodes.left_out;
	ret->left_out = r->left_out;
	for (int i = 0; i < from->n; i++) {
		struct history_text name = { from->of[i].name, strlen(from->of[i].name) };
		int k = 0;

		while (k < r->left_out.n && strcmp(r->left_out.of[k].name, name.at) != 0)
			k++;
		if (k == r->left_out.n)
			history_add_amount(&ret->left_out, name, from->of[i].n);
	}
}

static int64_t first_above_0(const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] > 0)
			return v[i];
	return 0;
}

/* Of a Cray, whose chunks have one core of the login node. */
static void read_cray(const struct record *r, struct history_job *ret)
{
	int64_t width = 0, depth = 1, each = 0, size = 0, cores;

	if (read_int(r->of[KEY_MPPWIDTH], &width) < 0 ||
	    read_int(r->of[KEY_MPPDEPTH], &depth) < 0 ||
	    read_int(r->of[KEY_MPPNPPN], &each) < 0)
		return;
	if (read_int(r->of[KEY_SIZE], &size) < 0)
		size = 0;
	if (width <= 0 || __builtin_mul_overflow(width, depth > 1 ? depth : 1, &cores))
		cores = width > 0 ? HISTORY_AMOUNT_MAX : size;
	if (cores <= ret->ncpus)
		return;
	ret->ncpus = cores;
	if (each > 0 && width > 0)
		ret->nodes = (width - 1) / each + 1;
}

static int read_cores(const struct record *r, const struct amounts *a, struct history_job *ret)
{
	static const enum key counts[] = { KEY_SLOTS, KEY_NCPUS, KEY_PROCS };
	int64_t hosts = 0, slots = 0, count[ARRAY_LEN(counts)] = { 0 };

	/* Where it is not readable and nothing else has the cores, there are none. */
	if (pbs_parse_hosts(r->of[KEY_EXEC_HOST], &slots, &hosts) < 0)
		history_forget(ret, keys[KEY_EXEC_HOST], r->of[KEY_EXEC_HOST]);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (read_int(r->of[counts[i]], &count[i]) < 0)
			history_forget(ret, keys[counts[i]], r->of[counts[i]]);
	ret->ncpus =
		first_above_0((const int64_t[]){ a->vnodes.ncpus, slots, count[0], count[1],
						 a->select.ncpus, a->nodes.ncpus, count[2] },
			      7);
	ret->nodes = hosts;
	read_cray(r, ret);
	return HISTORY_OK;
}

static int read_gpus(const struct record *r, const struct amounts *a, struct history_job *ret)
{
	static const enum key models[] = { KEY_GPU_MODEL, KEY_GPU_TYPE, KEY_ACCEL_TYPE };
	int64_t asked = 0, typed = a->vnodes.typed ? a->vnodes.typed : a->select.typed;
	char model[REQUEST_NAME_MAX] = "";

	if (a->vnodes.ngpus <= 0 && read_int(r->of[KEY_NGPUS], &asked) < 0)
		return history_fault(ret, keys[KEY_NGPUS], r->of[KEY_NGPUS]);
	ret->ngpus = first_above_0(
		(const int64_t[]){ a->vnodes.ngpus, asked, a->select.ngpus, a->nodes.ngpus },
		4);
	if (ret->ngpus > HISTORY_CORES_MAX || typed > HISTORY_CORES_MAX)
		return HISTORY_OUT_OF_RANGE;
	for (size_t i = 0; i < ARRAY_LEN(models) && !*model && ret->ngpus > typed; i++)
		if (r->of[models[i]].size && pbs_copy_model(r->of[models[i]], model) < 0)
			return history_fault(ret, keys[models[i]], r->of[models[i]]);
	if (ret->ngpus > typed && history_add_gpus(ret, model, ret->ngpus - typed) < 0)
		return HISTORY_OUT_OF_RANGE;
	ret->ngpus = ret->ngpus > typed ? ret->ngpus : typed;
	return HISTORY_OK;
}

static void read_used(const struct record *r, struct history_job *ret)
{
	struct history_text mem = r->of[KEY_USED_MEM], cput = r->of[KEY_USED_CPUT];
	int64_t ms;

	if (mem.at && pbs_parse_size(mem, &ret->mem_peak_bytes) < 0)
		history_forget(ret, keys[KEY_USED_MEM], mem);
	if (cput.at && pbs_parse_time(cput, &ret->cpu_ms) < 0)
		history_forget(ret, keys[KEY_USED_CPUT], cput);
	if (!r->of[KEY_WALLTIME].at)
		return;
	if (pbs_parse_time(r->of[KEY_WALLTIME], &ms) == 0)
		ret->walltime_s = ms / 1000;
	else
		history_forget(ret, keys[KEY_WALLTIME], r->of[KEY_WALLTIME]);
}

static int read_amounts(const struct record *r, struct history_job *ret)
{
	struct amounts a = { 0 };
	int why = read_chunks(r, ret, &a);

	if (why == HISTORY_OK)
		why = read_cores(r, &a, ret);
	if (why == HISTORY_OK)
		why = read_gpus(r, &a, ret);
	if (why != HISTORY_OK)
		return why;
	ret->mem_bytes = a.vnodes.mem_bytes >= 0 ? a.vnodes.mem_bytes : a.select.mem_bytes;
	if (r->of[KEY_MEM].at && pbs_parse_size(r->of[KEY_MEM], &ret->mem_bytes) < 0)
		return history_fault(ret, keys[KEY_MEM], r->of[KEY_MEM]);
	read_left_out(r, &a, ret);
	read_used(r, ret);
	return HISTORY_OK;
}

/* ---- a record ---- */

static size_t trim_line(const char *line, size_t size)
{
	while (size && (line[size - 1] == '\r' || line[size - 1] == ' '))
		size--;
	return size;
}

int pbs_parse_head(const char *line, size_t size, struct pbs_head *ret)
{
	struct record r = { 0 };
	const char *at = line;
	int why;

	*ret = (struct pbs_head){ .used_s = -1 };
	size = trim_line(line, size);
	why = size ? read_head(&at, line + size, &r) : PBS_NO_JOB;
	ret->type = r.type;
	ret->id = r.id;
	return why;
}

int pbs_parse_run(const char *line, size_t size, struct pbs_head *ret_head,
		  struct history_job *ret)
{
	struct record r = { 0 };
	const char *at = line, *end = line + trim_line(line, size);
	int why = pbs_parse_head(line, size, ret_head);

	history_init(ret);
	if (why != HISTORY_OK)
		return why;
	read_head(&at, end, &r);
	why = read_body(at, end, &r, ret);
	if (why == HISTORY_OK)
		why = pbs_parse_id(r.id, ret);
	if (why != HISTORY_OK)
		return why;
	if (!read_names(&r, ret))
		return HISTORY_NO_NAME;
	if (r.type == 'u') /* the end of a phase: pbs_phases.c knows when */
		r.of[KEY_END] = r.of[KEY_START];
	why = read_times(&r, ret, &ret_head->used_s);
	return why == HISTORY_OK ? read_amounts(&r, ret) : why;
}

int pbs_parse_line(const char *line, size_t size, struct history_job *ret)
{
	struct pbs_head head;
	int why = pbs_parse_head(line, size, &head);

	if (why == HISTORY_OK && head.type != 'E' && head.type != 'R')
		return PBS_NO_JOB;
	why = pbs_parse_run(line, size, &head, ret);
	return why == HISTORY_OK ? (int)history_judge(ret) : why;
}
