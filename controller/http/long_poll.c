/* SPDX-License-Identifier: GPL-2.0-or-later */
/* long_poll.c - the list of waiters, woken by key or at their deadlines; see long_poll.h. One
 * timer serves all of them. */
#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "controller/http/long_poll.h"

struct entry {
	struct entry *next;
	struct long_poll_waiter w;
};

struct long_poll {
	struct entry *entries;
	int64_t n;
	sd_event_source *timer;
};

/* The timer stands at the earliest deadline, or is off. */
static void arm_timer(struct long_poll *p)
{
	int64_t first_ns = INT64_MAX;

	for (const struct entry *e = p->entries; e; e = e->next)
		if (e->w.deadline_ns < first_ns)
			first_ns = e->w.deadline_ns;
	if (first_ns == INT64_MAX) {
		sd_event_source_set_enabled(p->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(p->timer, (uint64_t)(first_ns / 1000 + 1));
	sd_event_source_set_enabled(p->timer, SD_EVENT_ONESHOT);
}

typedef bool (*match_fn)(const struct long_poll_waiter *w, const void *arg);

/* Calls wake() of each match, and removes those that are done. wake() must not add a waiter:
 * the list is being walked. */
static void wake_matching(struct long_poll *p, match_fn match, const void *arg,
			  enum long_poll_why why)
{
	struct entry **at = &p->entries;

	while (*at) {
		struct entry *e = *at;

		if (!match(&e->w, arg) || !e->w.wake(e->w.ctx, why)) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		free(e);
		p->n--;
	}
	arm_timer(p);
}

static bool has_expired(const struct long_poll_waiter *w, const void *arg)
{
	return w->deadline_ns <= *(const int64_t *)arg;
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	uint64_t now_us = us;
	int64_t now_ns;

	sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &now_us);
	now_ns = (int64_t)now_us * 1000;
	wake_matching(ctx, has_expired, &now_ns, LONG_POLL_EXPIRED);
	return 0;
}

int long_poll_open(struct sd_event *event, struct long_poll **ret, struct err *err)
{
	_cleanup_free_ struct long_poll *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	r = sd_event_add_time(event, &p->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, p);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	sd_event_source_set_enabled(p->timer, SD_EVENT_OFF);
	*ret = TAKE_PTR(p);
	return 0;
}

static bool is_any(const struct long_poll_waiter *w, const void *arg)
{
	(void)w;
	(void)arg;
	return true;
}

struct long_poll *long_poll_close(struct long_poll *p)
{
	if (!p)
		return NULL;
	wake_matching(p, is_any, NULL, LONG_POLL_CLOSED);
	sd_event_source_disable_unref(p->timer);
	free(p);
	return NULL;
}

int long_poll_add(struct long_poll *p, const struct long_poll_waiter *w, struct err *err)
{
	struct entry *e = malloc(sizeof(*e));

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	*e = (struct entry){ p->entries, *w };
	p->entries = e;
	p->n++;
	arm_timer(p);
	return 0;
}

struct key {
	enum long_poll_kind kind;
	const char *key;
};

static bool has_key(const struct long_poll_waiter *w, const void *arg)
{
	const struct key *k = arg;

	return w->kind == k->kind && !strcmp(w->key, k->key);
}

void long_poll_wake(struct long_poll *p, enum long_poll_kind kind, const char *key)
{
	struct key k = { kind, key };

	wake_matching(p, has_key, &k, LONG_POLL_WOKEN);
}

static bool has_key_or_below(const struct long_poll_waiter *w, const void *arg)
{
	const struct key *k = arg;
	size_t n = strlen(k->key);

	return w->kind == k->kind && !strncmp(w->key, k->key, n) &&
	       (w->key[n] == '\0' || w->key[n] == '.');
}

void long_poll_wake_all(struct long_poll *p, enum long_poll_kind kind, const char *key)
{
	struct key k = { kind, key };

	wake_matching(p, has_key_or_below, &k, LONG_POLL_WOKEN);
}

void long_poll_replace(struct long_poll *p, enum long_poll_kind kind, const char *key)
{
	struct key k = { kind, key };

	wake_matching(p, has_key, &k, LONG_POLL_REPLACED);
}

int64_t long_poll_count(const struct long_poll *p)
{
	return p->n;
}
