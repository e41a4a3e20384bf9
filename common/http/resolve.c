/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resolve.c - see resolve.h. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/http/resolve.h"

#define STACK_BYTES (512 << 10) /* name services are plugins of the site */

/* What the thread and the loop share; the last of the two frees it. */
struct question {
	atomic_int n_owners;
	char *host, *port;
	int ready_fd;		 /* eventfd: there is an answer */
	atomic_bool is_answered; /* orders the two below: C says nothing of an eventfd */
	int e;
	struct addrinfo *found;
};

struct resolve {
	struct question *question;
	sd_event_source *source;
	resolve_done_fn done;
	void *ctx;
};

static void question_unref(struct question *q)
{
	if (!q || atomic_fetch_sub(&q->n_owners, 1) > 1)
		return;
	if (q->found)
		freeaddrinfo(q->found);
	if (q->ready_fd >= 0)
		close(q->ready_fd);
	free(q->host);
	free(q->port);
	free(q);
}

/* What getaddrinfo() says, without asking a name service where flags has AI_NUMERICHOST. */
static void find_addresses(struct question *q, int flags)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = flags | AI_NUMERICSERV };

	q->e = getaddrinfo(q->host, q->port, &hints, &q->found);
}

static int tell_answer(struct question *q)
{
	atomic_store(&q->is_answered, true);
	return eventfd_write(q->ready_fd, 1) < 0 ? -errno : 0;
}

static void *answer_question(void *arg)
{
	struct question *q = arg;

	find_addresses(q, AI_ADDRCONFIG);
	tell_answer(q);
	question_unref(q);
	return NULL;
}

static int start_thread(struct question *q)
{
	pthread_attr_t attr;
	pthread_t thread;
	int e;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	atomic_fetch_add(&q->n_owners, 1);
	e = pthread_create(&thread, &attr, answer_question, q);
	pthread_attr_destroy(&attr);
	if (e)
		atomic_fetch_sub(&q->n_owners, 1);
	return -e;
}

/* Numbers are answered at once. */
static int ask_question(struct question *q)
{
	find_addresses(q, AI_NUMERICHOST);
	if (q->e == EAI_NONAME)
		return start_thread(q);
	return tell_answer(q);
}

static struct question *question_new(const char *host, const char *port)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	atomic_init(&q->n_owners, 1);
	q->host = strdup(host);
	q->port = strdup(port);
	q->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->host && q->port && q->ready_fd >= 0)
		return q;
	question_unref(q);
	return NULL;
}

static int on_ready(sd_event_source *s, int fd, uint32_t revents, void *ctx)
{
	struct resolve *r = ctx;
	struct addrinfo *found;
	resolve_done_fn done = r->done;
	void *of_done = r->ctx;
	int e;

	(void)s, (void)fd, (void)revents;
	if (!atomic_load(&r->question->is_answered))
		return 0;
	found = TAKE_PTR(r->question->found);
	e = r->question->e;
	resolve_free(r);
	done(of_done, e, found);
	return 0;
}

struct resolve *resolve_free(struct resolve *r)
{
	if (!r)
		return NULL;
	sd_event_source_disable_unref(r->source);
	question_unref(r->question);
	free(r);
	return NULL;
}
DEFINE_CLEANUP(struct resolve *, resolve_free)

int resolve_start(struct sd_event *event, struct resolve_host host, struct resolve **ret,
		  struct err *err)
{
	_cleanup_(resolve_freep) struct resolve *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->done = host.done;
	r->ctx = host.ctx;
	r->question = question_new(host.host, host.port);
	if (!r->question)
		return err_set(err, -ENOMEM, "no memory, or no descriptor, to resolve %s",
			       host.host);
	e = sd_event_add_io(event, &r->source, r->question->ready_fd, EPOLLIN, on_ready, r);
	if (e >= 0)
		e = ask_question(r->question);
	if (e < 0)
		return err_set(err, e, "resolve %s: %s", host.host, strerror(-e));
	*ret = TAKE_PTR(r);
	return 0;
}
