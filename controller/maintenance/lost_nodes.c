/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lost_nodes.c - finds out for how long silence counts, marks lost nodes, and ends their jobs;
 * see lost_nodes.h. */
#include "common/err.h"
#include "controller/api/call.h"
#include "controller/api/jobs/parts.h"
#include "controller/http/server.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/maintenance/lost_nodes.h"

void lost_nodes_init(struct lost_nodes *l, int64_t now_ns)
{
	*l = (struct lost_nodes){ .listening_ns = now_ns, .checked_ns = now_ns };
}

/* A refused connection may have been a node's: its silence counts from then on only. */
static void note_refusals(struct lost_nodes *l, struct api *a, int64_t now_ns)
{
	int64_t silence_s = a->c.config->node_lost_s;
	struct server_counts n = { 0 };

	if (a->server)
		server_get_counts(a->server, &n);
	if (n.shed_nodes != l->shed) {
		log_limited(&l->log, LOG_WARNING,
			    "no node is taken for lost until %lld s after the last: %lld "
			    "connections that may be nodes' were refused (%s)",
			    (long long)silence_s, (long long)(n.shed_nodes - l->shed),
			    n.shed_from);
		l->listening_ns = now_ns;
		a->is_node_loss_paused = true;
	}
	l->shed = n.shed_nodes;
	if (!a->is_node_loss_paused || now_ns - l->listening_ns < silence_s * S_NS)
		return;
	a->is_node_loss_paused = false;
	log_line(LOG_NOTICE,
		 "no connection was refused for %lld s: silent nodes are lost again",
		 (long long)silence_s);
}

/* For how long a node's silence counts. A check that is late, or before the last one, means
 * that the machine slept, the controller was stopped or the clock was set: the time starts
 * again. */
static int64_t find_listened_ns(struct lost_nodes *l, struct api *a, int64_t now_ns)
{
	int64_t gap_ns = now_ns - l->checked_ns;

	l->checked_ns = now_ns;
	if (gap_ns < 0 || gap_ns > LOST_NODES_CHECK_NS + a->c.config->node_lost_s * S_NS / 2)
		l->listening_ns = now_ns;
	note_refusals(l, a, now_ns);
	return now_ns - l->listening_ns;
}

static int end_jobs(struct api *a, int64_t now_ns, struct err *err)
{
	struct store_lost_result lost;
	int r;

	lost.n_lost = 0;
	r = store_end_lost_jobs(a->c.store, now_ns, &lost, err);
	for (int64_t i = 0; i < lost.n_lost && r >= 0; i++)
		r = parts_wake(a, lost.jobs[i], err);
	if (r < 0 || !lost.n_lost)
		return r;
	log_line(LOG_WARNING, "%lld job%s ended with lost nodes, %lld of them queued again",
		 (long long)lost.n_lost, lost.n_lost == 1 ? "" : "s",
		 (long long)lost.n_requeued);
	api_request_cycle(a);
	return 0;
}

int lost_nodes_check(struct lost_nodes *l, struct api *a, int64_t now_ns, struct err *err)
{
	int64_t silence_ns = a->c.config->node_lost_s * S_NS;
	int n;

	if (find_listened_ns(l, a, now_ns) < silence_ns)
		return 0;
	n = store_mark_lost_nodes(a->c.store, now_ns - silence_ns, now_ns, err);
	if (n < 0)
		return n;
	if (n > 0)
		log_line(LOG_WARNING, "%d node%s not heard of for %lld s: lost", n,
			 n == 1 ? "" : "s", (long long)a->c.config->node_lost_s);
	return end_jobs(a, now_ns, err);
}
