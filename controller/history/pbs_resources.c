/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs_resources.c - reads sizes, times, chunk lists and host lists of a PBS record; see
 * pbs_resources.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "controller/history/pbs_resources.h"

#define WORD_BYTES 8
#define HOST_SLOTS 16384 /* of the hash table of hosts */
#define HOSTS_MAX (HOST_SLOTS * 3 / 4)
#define TIME_FIELDS_MAX 4 /* days, hours, minutes, seconds */

/* The part before the first `by`, which is dropped; all of it where there is none. */
static struct history_text cut_head(struct history_text *rest, char by)
{
	const char *found = memchr(rest->at, by, rest->size);
	struct history_text head = { rest->at,
				     found ? (size_t)(found - rest->at) : rest->size };

	*rest = found ? (struct history_text){ found + 1, rest->size - head.size - 1 }
		      : (struct history_text){ rest->at + rest->size, 0 };
	return head;
}

/* sum + times x each, saturated at HISTORY_AMOUNT_MAX. */
static int64_t add_product(int64_t sum, int64_t times, int64_t each)
{
	int64_t all;

	if (__builtin_mul_overflow(times, each, &all) ||
	    __builtin_add_overflow(sum, all, &sum) || sum > HISTORY_AMOUNT_MAX)
		return HISTORY_AMOUNT_MAX;
	return sum;
}

/* Digits alone. */
static int parse_count(struct history_text t, int64_t *ret)
{
	for (size_t i = 0; i < t.size; i++)
		if (t.at[i] < '0' || t.at[i] > '9')
			return -EINVAL;
	return history_parse_int(t.at, t.size, ret);
}

static char small_letter(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int pbs_parse_size(struct history_text t, int64_t *ret)
{
	static const char letters[] = "kmgtp";
	int64_t n, part = 0, scale = 100, unit = 1;
	const char *letter, *point;
	size_t digits = 0;

	while (digits < t.size &&
	       ((t.at[digits] >= '0' && t.at[digits] <= '9') || t.at[digits] == '.'))
		digits++;
	if (history_parse_int(t.at, digits, &n) < 0)
		return -EINVAL;
	point = memchr(t.at, '.', digits);
	for (const char *p = point ? point + 1 : t.at + digits; p < t.at + digits;
	     p++, scale /= 10)
		part += (*p - '0') * scale;
	t.at += digits, t.size -= digits;
	letter = t.size ? memchr(letters, small_letter(*t.at), sizeof(letters) - 1) : NULL;
	if (letter) {
		unit = 1LL << (10 * (letter - letters + 1));
		t.at++, t.size--;
	}
	if (t.size && small_letter(*t.at) == 'w')
		unit *= WORD_BYTES;
	if (t.size > 1 || (t.size && !memchr("bBwW", *t.at, 4)))
		return -EINVAL;
	*ret = add_product((int64_t)((__int128)part * unit / 1000), n, unit);
	return 0;
}

int pbs_parse_time(struct history_text t, int64_t *ret_ms)
{
	/* What a field is of the one after it, by how many follow. */
	static const int64_t times[TIME_FIELDS_MAX] = { 0, 60, 24, 0 };
	int64_t minutes = 0, last_ms, n;
	int fields = 1;

	for (size_t i = 0; i < t.size; i++)
		fields += t.at[i] == ':';
	if (!t.size || fields > TIME_FIELDS_MAX || *t.at == '-' || *t.at == '+')
		return -EINVAL;
	for (int left = fields - 1; left > 0; left--) {
		if (parse_count(cut_head(&t, ':'), &n) < 0)
			return -EINVAL;
		minutes = add_product(n, times[left], minutes);
	}
	if (!t.size || *t.at == '-' || *t.at == '+' ||
	    history_parse_thousandths(t.at, t.size, &last_ms) < 0)
		return -EINVAL;
	*ret_ms = add_product(last_ms, 60 * 1000, minutes);
	return 0;
}

/* ---- chunks ---- */

struct pbs_chunk {
	int64_t times, ncpus, ngpus, mem_bytes; /* mem_bytes: -1: not recorded */
	char model[REQUEST_NAME_MAX];
	struct history_amounts *left_out;
};

void pbs_add_left_out(struct history_amounts *to, struct history_text name,
		      struct history_text value, int64_t times)
{
	/* Bounds and places of a job, and what pbs.c reads by itself. */
	static const char *const others[] = {
		"nodect",	 "neednodes",	 "place",	 "cput",  "pcput",
		"vmem",		 "pmem",	 "pvmem",	 "file",  "nice",
		"mpiprocs",	 "ompthreads",	 "walltime",	 "ncpus", "ngpus",
		"mem",		 "select",	 "nodes",	 "procs", "mppwidth",
		"mppdepth",	 "mppnppn",	 "size",	 "host",  "vnode",
		"soft_walltime", "min_walltime", "max_walltime",
	};
	int64_t n;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (history_is(name, others[i]))
			return;
	if (parse_count(value, &n) == 0)
		history_add_amount(to, name, add_product(0, n, times));
}

int pbs_copy_model(struct history_text t, char ret[static REQUEST_NAME_MAX])
{
	if (!t.size || memchr(t.at, ',', t.size) || memchr(t.at, '=', t.size) ||
	    !history_copy_name(t.at, t.size, ret) || !history_is_name(ret))
		return -EINVAL;
	for (char *p = ret; *p; p++)
		*p = small_letter(*p);
	return 0;
}

static int parse_item(struct history_text item, struct pbs_chunk *c)
{
	struct history_text key = cut_head(&item, '=');

	if (history_is(key, "ncpus") || history_is(key, "ppn"))
		return parse_count(item, &c->ncpus);
	if (history_is(key, "ngpus") || history_is(key, "gpus"))
		return parse_count(item, &c->ngpus);
	if (history_is(key, "mem"))
		return pbs_parse_size(item, &c->mem_bytes);
	if (history_is(key, "gpu_model") || history_is(key, "gpu_type") ||
	    history_is(key, "accel_type"))
		return pbs_copy_model(item, c->model);
	pbs_add_left_out(c->left_out, key, item, c->times);
	return 0;
}

/* "2:ncpus=16:mem=64gb", "n1:ncpus=4", "ncpus=4". */
static int parse_chunk(struct history_text t, struct pbs_chunk *c)
{
	struct history_text all = t, first = cut_head(&t, ':');

	if (!first.size)
		return -EINVAL;
	if (memchr(first.at, '=', first.size))
		t = all;
	else if (parse_count(first, &c->times) < 0)
		c->times = 1; /* the name of a node */
	while (t.size) {
		struct history_text item = cut_head(&t, ':');

		if (item.size && parse_item(item, c) < 0)
			return -EINVAL;
	}
	return 0;
}

static int add_chunk(const struct pbs_chunk *c, struct history_job *gpus_of,
		     struct pbs_chunks *ret)
{
	int64_t gpus = add_product(0, c->times, c->ngpus);

	ret->ncpus = add_product(ret->ncpus, c->times, c->ncpus);
	ret->ngpus = add_product(ret->ngpus, 1, gpus);
	if (c->mem_bytes >= 0)
		ret->mem_bytes = add_product(ret->mem_bytes < 0 ? 0 : ret->mem_bytes, c->times,
					     c->mem_bytes);
	if (!*c->model || !gpus)
		return 0;
	ret->typed = add_product(ret->typed, 1, gpus);
	/* Beyond it the sum is refused; the models must not overflow before. */
	return !gpus_of || ret->typed > HISTORY_CORES_MAX
		       ? 0
		       : history_add_gpus(gpus_of, c->model, gpus);
}

int pbs_parse_chunks(struct history_text t, int64_t default_ncpus, struct history_job *gpus_of,
		     struct pbs_chunks *ret)
{
	struct pbs_chunks sum = { .mem_bytes = -1 };

	while (t.size) {
		struct pbs_chunk c = { .times = 1,
				       .ncpus = default_ncpus,
				       .mem_bytes = -1,
				       .left_out = &sum.left_out };
		struct history_text one = cut_head(&t, '+');
		int r;

		/* One chunk on several vnodes is "(v1:ncpus=2+v2:ncpus=2)". */
		if (one.size && *one.at == '(')
			one.at++, one.size--;
		if (one.size && one.at[one.size - 1] == ')')
			one.size--;
		r = parse_chunk(one, &c);
		if (r >= 0)
			r = add_chunk(&c, gpus_of, &sum);
		if (r < 0)
			return r;
	}
	*ret = sum;
	return 0;
}

/* ---- hosts ---- */

struct hosts {
	struct history_text all;
	int64_t n;
	uint32_t at[HOST_SLOTS]; /* 1 + where in all.at a host begins; 0: free */
};

static size_t host_size(const struct hosts *h, size_t from)
{
	const char *end = memchr(h->all.at + from, '/', h->all.size - from);

	return end ? (size_t)(end - h->all.at) - from : h->all.size - from;
}

static int note_host(struct hosts *h, struct history_text host)
{
	uint32_t hash = 2166136261U, slot;

	for (size_t i = 0; i < host.size; i++)
		hash = (hash ^ (unsigned char)host.at[i]) * 16777619U;
	for (slot = hash % HOST_SLOTS; h->at[slot]; slot = (slot + 1) % HOST_SLOTS) {
		size_t from = h->at[slot] - 1;

		if (host_size(h, from) == host.size &&
		    memcmp(h->all.at + from, host.at, host.size) == 0)
			return 0;
	}
	if (h->n == HOSTS_MAX)
		return -ERANGE;
	h->at[slot] = (uint32_t)(host.at - h->all.at) + 1;
	h->n++;
	return 0;
}

/* "0", "0*4", "0-3", "0-1,4": the slots of a host. */
static int parse_slots(struct history_text t, int64_t *ret)
{
	struct history_text list = cut_head(&t, '*');
	int64_t n = 0, low, high, times = 1;

	if (t.size && parse_count(t, &times) < 0)
		return -EINVAL;
	do {
		struct history_text range = cut_head(&list, ','), from = cut_head(&range, '-');

		if (parse_count(from, &low) < 0)
			return -EINVAL;
		high = low;
		if (range.size && parse_count(range, &high) < 0)
			return -EINVAL;
		if (high < low)
			return -EINVAL;
		n = add_product(n, 1, high - low + 1);
	} while (list.size);
	*ret = add_product(0, times, n);
	return 0;
}

static int count_hosts(struct history_text all, int64_t *ret)
{
	struct hosts h = { .all = all };

	while (all.size) {
		struct history_text one = cut_head(&all, '+');
		int r = note_host(&h, cut_head(&one, '/'));

		if (r < 0)
			return r;
	}
	*ret = h.n;
	return 0;
}

/* Most jobs have one host: the hash table of count_hosts() is for those that may have more. */
int pbs_parse_hosts(struct history_text t, int64_t *ret_slots, int64_t *ret_hosts)
{
	struct history_text all = t, before = { 0 };
	int64_t slots = 0, here, hosts = 0;
	int r = 0;

	if (t.size >= UINT32_MAX)
		return -ERANGE;
	while (t.size) {
		struct history_text one = cut_head(&t, '+'), host = cut_head(&one, '/');

		if (!host.size || parse_slots(one, &here) < 0)
			return -EINVAL;
		slots = add_product(slots, 1, here);
		hosts += before.size != host.size || memcmp(before.at, host.at, host.size) != 0;
		before = host;
	}
	if (hosts > 1)
		r = count_hosts(all, &hosts);
	if (r < 0)
		return r;
	*ret_slots = slots;
	*ret_hosts = hosts;
	return 0;
}
