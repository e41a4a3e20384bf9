/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - adds lines and meters to a view, and frees it; see view.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "cli/top/views/view.h"

const char *const top_tab_names[] = {
	[TOP_RUNNING] = "running",   [TOP_QUEUED] = "queued", [TOP_NODES] = "nodes",
	[TOP_ACCOUNTS] = "accounts", [TOP_USERS] = "users",   [_TOP_TAB_MAX] = NULL,
};

void top_docs_done(struct top_docs *d)
{
	for (int i = 0; i < _TOP_DOC_MAX; i++) {
		json_decref(d->of[i]);
		d->of[i] = NULL;
	}
	top_rates_done(&d->rates);
}

void top_view_done(struct top_view *v)
{
	for (int i = 0; i < v->n_facts; i++)
		free(v->facts[i].text);
	v->n_facts = 0;
	v->list = table_free(v->list);
}

void top_view_fact(struct top_view *v, enum top_tone tone, const char *format, ...)
{
	char *text = NULL;
	va_list ap;

	if (v->n_facts == TOP_FACTS_MAX)
		return;
	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0) {
		v->out_of_memory = true;
		text = NULL;
	}
	va_end(ap);
	if (!text)
		return;
	v->facts[v->n_facts].text = text;
	v->facts[v->n_facts++].tone = tone;
}

struct top_meter *top_view_meter(struct top_view *v, const char *name,
				 enum table_cell_kind kind)
{
	struct top_meter *m =
		&v->meters[v->n_meters < TOP_METERS_MAX ? v->n_meters++ : TOP_METERS_MAX - 1];

	*m = (struct top_meter){ .name = name, .kind = kind, .used = -1, .peak = -1, .of = -1 };
	return m;
}
