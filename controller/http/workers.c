/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workers.c - a queue of tasks, threads that take them, and an eventfd for those that are done. See workers.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/stops/stops.h"
#include "controller/http/workers.h"

#define THREADS_MAX 16
#define STACK_BYTES (512 << 10)

struct task_queue {
	struct worker_task *first, *last;
};

struct workers {
	int fd; /* readable: some are done */
	struct sd_event_source *source;
	pthread_t threads[THREADS_MAX];
	int n_threads;
	bool is_drained; /* of the loop alone */
	/* the lock's */
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct task_queue waiting, done;
	bool is_ending;
};

static void push_task(struct task_queue *q, struct worker_task *t)
{
	t->next = NULL;
	if (q->last)
		q->last->next = t;
	else
		q->first = t;
	q->last = t;
}

static struct worker_task *take_task(struct task_queue *q)
{
	struct worker_task *t = q->first;

	if (!t)
		return NULL;
	q->first = t->next;
	if (!q->first)
		q->last = NULL;
	return t;
}

/* ---- in a thread ---- */

/* NULL: the thread is to end. */
static struct worker_task *wait_task(struct workers *w)
{
	struct worker_task *t;

	pthread_mutex_lock(&w->lock);
	while (!w->waiting.first && !w->is_ending)
		pthread_cond_wait(&w->more, &w->lock);
	t = w->is_ending ? NULL : take_task(&w->waiting);
	pthread_mutex_unlock(&w->lock);
	return t;
}

static void return_task(struct workers *w, struct worker_task *t)
{
	const uint64_t one = 1;
	bool is_first;

	pthread_mutex_lock(&w->lock);
	is_first = !w->done.first;
	push_task(&w->done, t);
	pthread_mutex_unlock(&w->lock);
	/* Cannot fail: the counter is reset by each read. */
	if (is_first && write(w->fd, &one, sizeof(one)) < 0)
		return;
}

static void *run_thread(void *ctx)
{
	struct workers *w = ctx;
	struct worker_task *t;

	while ((t = wait_task(w))) {
		t->work(t);
		return_task(w, t);
	}
	return NULL;
}

/* ---- in the loop ---- */

static void finish_tasks(struct workers *w)
{
	struct task_queue done;
	struct worker_task *t;

	pthread_mutex_lock(&w->lock);
	done = w->done;
	w->done = (struct task_queue){ 0 };
	pthread_mutex_unlock(&w->lock);
	while ((t = take_task(&done)))
		t->done(t, true);
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	STOPS_IN("workers");
	uint64_t n;

	(void)source;
	(void)events;
	if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return -errno;
	finish_tasks(ctx);
	return 0;
}

/* All signals are the loop's. */
static int start_threads(struct workers *w, int n)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int e = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (e == 0 && w->n_threads < n && w->n_threads < THREADS_MAX) {
		e = pthread_create(&w->threads[w->n_threads], &attr, run_thread, w);
		w->n_threads += e == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -e;
}

DEFINE_CLEANUP(struct workers *, workers_close)

int workers_open(struct sd_event *event, int n_threads, struct workers **ret, struct err *err)
{
	_cleanup_(workers_closep) struct workers *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = w->fd < 0 ? -errno : sd_event_add_io(event, &w->source, w->fd, EPOLLIN, on_done, w);
	if (r >= 0)
		r = start_threads(w, n_threads);
	if (r < 0)
		return err_set(err, r, "threads: %s", strerror(-r));
	*ret = TAKE_PTR(w);
	return 0;
}

void workers_add(struct workers *w, struct worker_task *t)
{
	if (w->is_drained) {
		t->work(t);
		t->done(t, true);
		return;
	}
	pthread_mutex_lock(&w->lock);
	push_task(&w->waiting, t);
	pthread_mutex_unlock(&w->lock);
	pthread_cond_signal(&w->more);
}

void workers_drain(struct workers *w)
{
	struct task_queue left;
	struct worker_task *t;

	if (w->is_drained)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	left = w->waiting;
	w->waiting = (struct task_queue){ 0 };
	pthread_mutex_unlock(&w->lock);
	pthread_cond_broadcast(&w->more);
	for (int i = 0; i < w->n_threads; i++)
		pthread_join(w->threads[i], NULL);
	w->is_drained = true;
	finish_tasks(w);
	while ((t = take_task(&left)))
		t->done(t, false);
}

struct workers *workers_close(struct workers *w)
{
	if (!w)
		return NULL;
	workers_drain(w);
	sd_event_source_disable_unref(w->source);
	if (w->fd >= 0)
		close(w->fd);
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}
