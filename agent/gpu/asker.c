/* SPDX-License-Identifier: GPL-2.0-or-later */
/* asker.c - calls a driver that may hang, in a thread, with a deadline; see asker.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include "agent/gpu/asker.h"
#include "common/clock.h"
#include "common/err.h"

struct asker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t turn; /* of either side */
	asker_fn fn;	     /* the call that runs or is to run; NULL: none */
	void *ctx;
	int64_t since_ns;
	bool is_over;
};

static void *run_thread(void *arg)
{
	struct asker *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->is_over) {
		if (!a->fn) {
			pthread_cond_wait(&a->turn, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		a->fn(a->ctx);
		pthread_mutex_lock(&a->lock);
		a->fn = NULL;
		pthread_cond_broadcast(&a->turn);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* The lock is held. True: the call has returned. */
static bool wait_answer(struct asker *a, int64_t wait_ns)
{
	int64_t until = clock_ns(CLOCK_MONOTONIC) + wait_ns;
	struct timespec t = { until / S_NS, until % S_NS };

	while (a->fn && pthread_cond_timedwait(&a->turn, &a->lock, &t) != ETIMEDOUT)
		;
	return !a->fn;
}

/* With every signal blocked: the agent's main thread handles them. */
static int start_thread(struct asker *a)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	r = -pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r < 0)
		return r;
	r = -pthread_create(&a->thread, NULL, run_thread, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int asker_open(struct asker **ret, struct err *err)
{
	struct asker *a = calloc(1, sizeof(*a));
	pthread_condattr_t attr;
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->turn, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&a->lock, NULL);
	r = start_thread(a);
	if (r < 0) {
		free(a);
		return err_set(err, r, "start a thread: %s", strerror(-r));
	}
	*ret = a;
	return 0;
}

int asker_close(struct asker *a, int64_t wait_ns)
{
	bool is_done;

	if (!a)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->is_over = true;
	pthread_cond_broadcast(&a->turn);
	is_done = wait_answer(a, wait_ns);
	pthread_mutex_unlock(&a->lock);
	if (!is_done) {
		pthread_detach(a->thread);
		return -EBUSY;
	}
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->turn);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return 0;
}

int asker_ask(struct asker *a, asker_fn fn, void *ctx, int64_t wait_ns)
{
	int r = -EBUSY;

	pthread_mutex_lock(&a->lock);
	if (!a->fn) {
		a->fn = fn;
		a->ctx = ctx;
		a->since_ns = clock_ns(CLOCK_REALTIME);
		pthread_cond_broadcast(&a->turn);
		r = wait_answer(a, wait_ns) ? 0 : -ETIMEDOUT;
	}
	pthread_mutex_unlock(&a->lock);
	return r;
}

bool asker_is_busy(struct asker *a)
{
	return asker_since_ns(a) != 0;
}

int64_t asker_since_ns(struct asker *a)
{
	int64_t since_ns;

	pthread_mutex_lock(&a->lock);
	since_ns = a->fn ? a->since_ns : 0;
	pthread_mutex_unlock(&a->lock);
	return since_ns;
}
