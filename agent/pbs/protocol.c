/* SPDX-License-Identifier: GPL-2.0-or-later */
/* protocol.c - read the hook's questions and write the answers; see protocol.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/pbs/jobs.h"
#include "agent/pbs/protocol.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"

/* What is kept of an exchange while its answer waits. */
struct state {
	struct pbs_question q;
	struct pbs_answer a;
};
_Static_assert(sizeof(struct state) <= FOREIGN_MESSAGE_MAX, "it takes the question's place");

static void write_answer(struct foreign_exchange *x, const struct pbs_answer *a)
{
	_cleanup_doc_ struct doc d = doc_object();
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_free_ char *text = NULL;

	wire_encode_fields(pbs_answer_fields, a, &d);
	doc = doc_take(&d);
	text = doc ? wire_format(doc) : NULL;
	x->n_answer = text ? strlen(text) : 0; /* an empty answer: the hook takes it for none */
	if (x->n_answer > sizeof(x->answer))
		x->n_answer = 0;
	memcpy(x->answer, text ? text : "", x->n_answer);
}

static int act_on_question(struct node *n, struct state *s, int32_t peer)
{
	switch (s->q.ask) {
	case PBS_LAUNCH:
		return pbs_jobs_launch(n, &s->q, peer, &s->a);
	case PBS_ATTACH:
		return pbs_jobs_attach(n, &s->q, &s->a);
	case PBS_END:
		return pbs_jobs_end(n, &s->q, &s->a);
	case PBS_SUSPEND:
	case PBS_RESUME:
		pbs_jobs_suspend(n, &s->q, s->q.ask == PBS_SUSPEND);
		return 0;
	default:
		pbs_jobs_alive(n, s->q.jobs);
		return 0;
	}
}

static int answer_question(struct node *n, struct foreign_exchange *x)
{
	_cleanup_free_ struct state *s = calloc(1, sizeof(*s));
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };
	int r;

	if (!s)
		return -ENOMEM;
	doc = wire_load_bytes(x->question, x->n_question, JSON_REJECT_DUPLICATES, NULL);
	r = json_is_object(doc) ? wire_decode_fields(pbs_question_fields, doc, &s->q, &err)
				: err_set(&err, -EINVAL, "it is no JSON object");
	if (r < 0) {
		log_line(LOG_ERR, "pbs: a question that cannot be read: %s", err.text);
		return -EBADMSG;
	}
	s->a.version = PBS_HANDSHAKE_VERSION;
	s->a.verdict = PBS_GO;
	if (s->q.version != PBS_HANDSHAKE_VERSION) {
		log_line(
			LOG_ERR,
			"pbs: the hook reeve.py is of another version than reeve-agent: import the hook of this version (docs/pbs.md)");
		s->a.verdict = PBS_REFUSED;
		strcpy(s->a.text, "the hook of PBS and reeve-agent are of different versions");
	} else {
		r = act_on_question(n, s, x->peer);
	}
	if (r > 0)
		memcpy(x->question, s, sizeof(*s));
	else
		write_answer(x, &s->a);
	return r;
}

/* pbs_mom stands while its hook waits: a disk that takes longer is removed after the answer. */
#define END_ANSWER_NS (5 * S_NS)

static int look_end(struct node *n, const struct state *s, const struct foreign_exchange *x)
{
	return node_now_ns() - x->asked_ns < END_ANSWER_NS && pbs_jobs_look_end(n, &s->q);
}

static int look_again(struct node *n, struct foreign_exchange *x)
{
	struct state *s = (void *)x->question;
	int r = s->q.ask == PBS_END ? look_end(n, s, x)
				    : pbs_jobs_look_launch(n, &s->q, x->asked_ns, &s->a);

	if (r == 0)
		write_answer(x, &s->a);
	return r;
}

const struct foreign_protocol pbs_protocol = { "pbs",	   "pbs.sock",	  answer_question,
					       look_again, pbs_jobs_tick, NULL };
