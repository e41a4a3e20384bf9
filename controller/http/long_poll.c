/* SPDX-License-Identifier: GPL-2.0-or-later */
/* long_poll.c - waiters in a hash table by key, and in a heap by deadline; see long_poll.h. One timer serves all of them. With ten
 * thousand nodes that wait, a report wakes ten jobs: a list would be walked ten times.
 */
#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/hash.h"
#include "common/stops/stops.h"
#include "controller/http/long_poll.h"

#define BUCKETS_LEAST 64 /* a power of two */

struct entry {
	struct entry *next; /* in its bucket */
	uint64_t hash;
	size_t at; /* in the heap */
	struct long_poll_waiter w;
};

struct long_poll {
	struct entry **buckets,
		**heap; /* each has room for `room`; heap[0] has the first deadline */
	size_t room, n;
	sd_event_source *timer;
	int64_t armed_ns; /* INT64_MAX: the timer is off */
};

/* ---- the heap ---- */

static void put_at(struct long_poll *p, size_t at, struct entry *e)
{
	p->heap[at] = e;
	e->at = at;
}

static void move_up(struct long_poll *p, struct entry *e)
{
	size_t at = e->at;

	for (; at > 0 && p->heap[(at - 1) / 2]->w.deadline_ns > e->w.deadline_ns;
	     at = (at - 1) / 2)
		put_at(p, at, p->heap[(at - 1) / 2]);
	put_at(p, at, e);
}

static void move_down(struct long_poll *p, struct entry *e)
{
	size_t at = e->at, child;

	while ((child = 2 * at + 1) < p->n) {
		if (child + 1 < p->n &&
		    p->heap[child + 1]->w.deadline_ns < p->heap[child]->w.deadline_ns)
			child++;
		if (p->heap[child]->w.deadline_ns >= e->w.deadline_ns)
			break;
		put_at(p, at, p->heap[child]);
		at = child;
	}
	put_at(p, at, e);
}

static void leave_heap(struct long_poll *p, const struct entry *e)
{
	struct entry *last = p->heap[--p->n];

	if (last == e)
		return;
	put_at(p, e->at, last);
	move_up(p, last);
	move_down(p, last);
}

/* ---- the table ---- */

/* Of the key up to its first dot, so that "12" and "12.1" are in one bucket. */
static uint64_t hash_key(enum long_poll_kind kind, const char *key)
{
	uint64_t h = hash_number(HASH_BEGIN, (uint64_t)kind);

	return hash_fold(hash_bytes(h, key, strcspn(key, ".")));
}

static struct entry **bucket_of(const struct long_poll *p, uint64_t hash)
{
	return &p->buckets[hash & (p->room - 1)];
}

static void enter_bucket(struct long_poll *p, struct entry *e)
{
	struct entry **bucket = bucket_of(p, e->hash);

	e->next = *bucket;
	*bucket = e;
}

static void leave_bucket(struct long_poll *p, const struct entry *e)
{
	struct entry **at = bucket_of(p, e->hash);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
}

static int make_room(struct long_poll *p)
{
	size_t larger = p->room ? 2 * p->room : BUCKETS_LEAST;
	_cleanup_free_ struct entry **buckets = NULL;
	struct entry **heap;

	if (p->n < p->room)
		return 0;
	buckets = calloc(larger, sizeof(*buckets));
	heap = reallocarray(p->heap, larger, sizeof(*heap));
	if (heap)
		p->heap = heap;
	if (!buckets || !heap)
		return -ENOMEM;
	free(p->buckets);
	p->buckets = TAKE_PTR(buckets);
	p->room = larger;
	for (size_t i = 0; i < p->n; i++)
		enter_bucket(p, p->heap[i]);
	return 0;
}

static void remove_entry(struct long_poll *p, struct entry *e)
{
	leave_bucket(p, e);
	leave_heap(p, e);
	free(e);
}

/* ---- waking ---- */

/* The timer stands at the earliest deadline, or is off. */
static void arm_timer(struct long_poll *p)
{
	int64_t first_ns = p->n ? p->heap[0]->w.deadline_ns : INT64_MAX;

	if (first_ns == p->armed_ns)
		return;
	p->armed_ns = first_ns;
	if (first_ns < INT64_MAX)
		sd_event_source_set_time(p->timer, (uint64_t)(first_ns / 1000 + 1));
	sd_event_source_set_enabled(p->timer,
				    first_ns < INT64_MAX ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

struct key {
	enum long_poll_kind kind;
	const char *key;
};

typedef bool (*match_fn)(const struct long_poll_waiter *w, const struct key *k);

static bool has_key(const struct long_poll_waiter *w, const struct key *k)
{
	return w->kind == k->kind && !strcmp(w->key, k->key);
}

static bool has_key_or_below(const struct long_poll_waiter *w, const struct key *k)
{
	size_t n = strlen(k->key);

	return w->kind == k->kind && !strncmp(w->key, k->key, n) &&
	       (w->key[n] == '\0' || w->key[n] == '.');
}

/* Calls wake() of each match, and removes those that are done. wake() must not add a waiter:
 * the bucket is being walked. */
static void wake_matching(struct long_poll *p, match_fn match, const struct key *k,
			  enum long_poll_why why)
{
	struct entry *e, *next;

	if (!p->n)
		return;
	for (e = *bucket_of(p, hash_key(k->kind, k->key)); e; e = next) {
		next = e->next;
		if (match(&e->w, k) && e->w.wake(e->w.ctx, why))
			remove_entry(p, e);
	}
	arm_timer(p);
}

/* Those whose deadline is not after `until_ns`, the earliest first. */
static void wake_until(struct long_poll *p, int64_t until_ns, enum long_poll_why why)
{
	while (p->n && p->heap[0]->w.deadline_ns <= until_ns) {
		struct entry *e = p->heap[0];

		e->w.wake(e->w.ctx, why);
		remove_entry(p, e);
	}
	arm_timer(p);
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("long-polls");
	struct long_poll *p = ctx;
	uint64_t now_us = us;

	sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &now_us);
	p->armed_ns = INT64_MAX; /* it has fired */
	wake_until(p, (int64_t)now_us * 1000, LONG_POLL_EXPIRED);
	return 0;
}

int long_poll_open(struct sd_event *event, struct long_poll **ret, struct err *err)
{
	_cleanup_free_ struct long_poll *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->armed_ns = INT64_MAX;
	r = sd_event_add_time(event, &p->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, p);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	sd_event_source_set_enabled(p->timer, SD_EVENT_OFF);
	*ret = TAKE_PTR(p);
	return 0;
}

struct long_poll *long_poll_close(struct long_poll *p)
{
	if (!p)
		return NULL;
	wake_until(p, INT64_MAX, LONG_POLL_CLOSED);
	sd_event_source_disable_unref(p->timer);
	free(p->buckets);
	free(p->heap);
	free(p);
	return NULL;
}

int long_poll_add(struct long_poll *p, const struct long_poll_waiter *w, struct err *err)
{
	struct entry *e = make_room(p) < 0 ? NULL : malloc(sizeof(*e));

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	*e = (struct entry){ .hash = hash_key(w->kind, w->key), .at = p->n, .w = *w };
	p->heap[p->n++] = e;
	move_up(p, e);
	enter_bucket(p, e);
	arm_timer(p);
	return 0;
}

void long_poll_wake(struct long_poll *p, enum long_poll_kind kind, const char *key)
{
	wake_matching(p, has_key, &(struct key){ kind, key }, LONG_POLL_WOKEN);
}

void long_poll_wake_all(struct long_poll *p, enum long_poll_kind kind, const char *key)
{
	wake_matching(p, has_key_or_below, &(struct key){ kind, key }, LONG_POLL_WOKEN);
}

void long_poll_replace(struct long_poll *p, enum long_poll_kind kind, const char *key)
{
	wake_matching(p, has_key, &(struct key){ kind, key }, LONG_POLL_REPLACED);
}

void long_poll_drop(struct long_poll *p, enum long_poll_kind kind, const char *key)
{
	wake_matching(p, has_key, &(struct key){ kind, key }, LONG_POLL_ABANDONED);
}

int64_t long_poll_count(const struct long_poll *p)
{
	return (int64_t)p->n;
}
