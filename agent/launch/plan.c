/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.c - decode the plan in the launcher; agent/job/handshake/plan.c encodes it; see plan.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/launch/plan.h"
#include "common/err.h"

struct fill {
	struct plan *plan;
	size_t n_args, n_env;
};

static int is_text(const char *value, size_t size)
{
	return size > 0 && memchr(value, '\0', size) == value + size - 1;
}

static const char **text_slot(struct plan *p, uint32_t field)
{
	switch (field) {
	case PLAN_WORKDIR:
		return &p->workdir;
	case PLAN_SCRIPT:
		return &p->script;
	case PLAN_OUT:
		return &p->out;
	case PLAN_ERR:
		return &p->err;
	default:
		return NULL;
	}
}

static int take_word(struct fill *f, uint32_t field, const char *value)
{
	if (f->n_args + f->n_env >= PLAN_WORDS_MAX)
		return -EBADMSG;
	if (field == PLAN_ARG) {
		f->plan->argv[f->n_args++] = (char *)value;
		return 0;
	}
	if (!strchr(value, '='))
		return -EBADMSG;
	f->plan->env[f->n_env++] = (char *)value;
	return 0;
}

static int take_number(struct plan *p, uint32_t field, const char *value, size_t size)
{
	if (field == PLAN_STREAM && size == 0)
		p->stream = true;
	else if (field == PLAN_HOLD && size == 0)
		p->hold = true;
	else if (field == PLAN_RLIMIT_AS && size == sizeof(p->rlimit_as))
		memcpy(&p->rlimit_as, value, size);
	else if (field == PLAN_SECCOMP && size == sizeof(p->deny))
		memcpy(&p->deny, value, size);
	else
		return -EBADMSG;
	return 0;
}

static int take_field(struct fill *f, struct plan_head head, const char *value)
{
	const char **slot = text_slot(f->plan, head.type);

	if (!slot && head.type != PLAN_ARG && head.type != PLAN_ENV)
		return take_number(f->plan, head.type, value, head.size);
	if (!is_text(value, head.size))
		return -EBADMSG;
	if (!slot)
		return take_word(f, head.type, value);
	if (*slot || value[0] != '/')
		return -EBADMSG;
	*slot = value;
	return 0;
}

static int take_fields(struct fill *f, const char *payload, size_t size, struct err *err)
{
	struct plan_head head;
	size_t at = 0;

	while (at < size) {
		if (size - at < sizeof(head))
			return err_set(err, -EBADMSG, "the plan is cut at byte %zu", at);
		memcpy(&head, payload + at, sizeof(head));
		at += sizeof(head);
		if (head.size > size - at)
			return err_set(err, -EBADMSG, "field %u of the plan is cut", head.type);
		if (take_field(f, head, payload + at) < 0)
			return err_set(err, -EBADMSG, "field %u of the plan is malformed",
				       head.type);
		at += head.size;
	}
	return 0;
}

static int check_whole(const struct plan *p, struct err *err)
{
	if (p->hold && (p->argv[0] || p->script))
		return err_set(err, -EBADMSG, "the plan both runs a command and holds");
	if (p->hold || (p->workdir && p->argv[0] && (p->out || p->stream)))
		return 0;
	return err_set(err, -EBADMSG, "the plan lacks a command, directory or output");
}

int plan_decode(const char *payload, size_t size, struct plan *ret, struct err *err)
{
	struct plan p = { 0 };
	struct fill fill = { .plan = &p };
	int r;

	if (size > PLAN_SIZE_MAX)
		return err_set(err, -EBADMSG, "the plan is larger than %d bytes",
			       PLAN_SIZE_MAX);
	p.argv = calloc(PLAN_WORDS_MAX + 1, sizeof(char *));
	p.env = calloc(PLAN_WORDS_MAX + 1, sizeof(char *));
	if (!p.argv || !p.env)
		r = err_set(err, -ENOMEM, "out of memory");
	else
		r = take_fields(&fill, payload, size, err);
	if (!r)
		r = check_whole(&p, err);
	if (r < 0) {
		plan_done(&p);
		return r;
	}
	*ret = p;
	return 0;
}

void plan_done(struct plan *p)
{
	free(p->argv);
	free(p->env);
	memset(p, 0, sizeof(*p));
}
