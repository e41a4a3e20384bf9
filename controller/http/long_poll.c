/* long_poll.c - see http/long_poll.h. */
#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "controller/http/long_poll.h"

struct entry {
	struct entry *next;
	struct poll_waiter w;
};

struct poll {
	struct entry *entries;
	int64_t n;
	sd_event_source *timer;
};

/* The timer stands at the earliest deadline, or is off. */
static void arm(struct poll *p)
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

typedef bool (*match_fn)(const struct poll_waiter *w, const void *arg);

static void wake_matching(struct poll *p, match_fn match, const void *arg, enum poll_why why)
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
	arm(p);
}

static bool has_expired(const struct poll_waiter *w, const void *arg)
{
	return w->deadline_ns <= *(const int64_t *)arg;
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	uint64_t now_us = us;
	int64_t now_ns;

	sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &now_us);
	now_ns = (int64_t)now_us * 1000;
	wake_matching(ctx, has_expired, &now_ns, POLL_EXPIRED);
	return 0;
}

int poll_open(struct sd_event *event, struct poll **ret, struct err *err)
{
	_cleanup_free_ struct poll *p = calloc(1, sizeof(*p));
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

static bool is_any(const struct poll_waiter *w, const void *arg)
{
	(void)w;
	(void)arg;
	return true;
}

struct poll *poll_close(struct poll *p)
{
	if (!p)
		return NULL;
	wake_matching(p, is_any, NULL, POLL_CLOSED);
	sd_event_source_disable_unref(p->timer);
	free(p);
	return NULL;
}

int poll_add(struct poll *p, const struct poll_waiter *w, struct err *err)
{
	struct entry *e = malloc(sizeof(*e));

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	*e = (struct entry){ p->entries, *w };
	p->entries = e;
	p->n++;
	arm(p);
	return 0;
}

struct key {
	enum poll_kind kind;
	const char *key;
};

static bool has_key(const struct poll_waiter *w, const void *arg)
{
	const struct key *k = arg;

	return w->kind == k->kind && !strcmp(w->key, k->key);
}

void poll_wake(struct poll *p, enum poll_kind kind, const char *key)
{
	struct key k = { kind, key };

	wake_matching(p, has_key, &k, POLL_WOKEN);
}

static bool has_key_or_below(const struct poll_waiter *w, const void *arg)
{
	const struct key *k = arg;
	size_t n = strlen(k->key);

	return w->kind == k->kind && !strncmp(w->key, k->key, n) &&
	       (w->key[n] == '\0' || w->key[n] == '.');
}

void poll_wake_all(struct poll *p, enum poll_kind kind, const char *key)
{
	struct key k = { kind, key };

	wake_matching(p, has_key_or_below, &k, POLL_WOKEN);
}

void poll_replace(struct poll *p, enum poll_kind kind, const char *key)
{
	struct key k = { kind, key };

	wake_matching(p, has_key, &k, POLL_REPLACED);
}

int64_t poll_count(const struct poll *p)
{
	return p->n;
}
