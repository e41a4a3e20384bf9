/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view - what `reeve top` shows of a cluster, a node or a job, made from documents of the API: amounts as bars, lines
 * of text, and a list. Pure: how it is laid out on a screen says layout.h.
 */
#pragma once
#include <jansson.h>
#include "cli/top/draw/columns.h"
#include "cli/top/views/rates.h"
#include "common/model/request.h"

struct err;

enum top_subject { TOP_CLUSTER, TOP_NODE, TOP_JOB };

/* The lists of the cluster. */
enum top_tab { TOP_RUNNING, TOP_QUEUED, TOP_NODES, TOP_ACCOUNTS, TOP_USERS, _TOP_TAB_MAX };
extern const char *const top_tab_names[]; /* "running" */

/* What is to be shown; "": every user, every account. */
struct top_ask {
	enum top_subject subject;
	enum top_tab tab;
	char node[REQUEST_NAME_MAX];
	char job[REQUEST_NAME_MAX + 16]; /* "12", "12[7]", "CLUSTER:12" */
	char user[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX];
};

/* The documents that the subject needs (fetch.h); NULL: not fetched. */
enum top_doc { TOP_DOC_NODES, TOP_DOC_JOBS, TOP_DOC_JOB, TOP_DOC_STEPS, _TOP_DOC_MAX };
struct top_docs {
	json_t *of[_TOP_DOC_MAX];
	int64_t at_ns; /* when they came */
	int64_t limit; /* of the list of jobs */
	struct top_rates rates;
};
void top_docs_done(struct top_docs *d);

/* How much of what there is, or of what was requested. */
struct top_meter {
	const char *name;
	enum table_cell_kind kind; /* CELL_FIGURE: hundredths */
	int64_t used, peak, of;	   /* below 0: not measured, not stated */
	int64_t like;		   /* bytes are shown in its units; 0: in the units of `of` */
	char note[64];		   /* behind the amounts; "": none */
};

#define TOP_METERS_MAX 24
#define TOP_FACTS_MAX 48
struct top_view {
	char title[192];
	struct top_meter meters[TOP_METERS_MAX];
	int n_meters;
	struct {
		char *text;
		enum top_tone tone;
	} facts[TOP_FACTS_MAX];
	int n_facts;
	struct table *list; /* NULL: none */
	const char *list_name;
	const struct top_column *columns;
	struct top_sort usual; /* how the list is sorted unless something else is chosen */
	const char *empty;     /* why the list has no rows */
	char rest[128];	       /* what the list leaves out; "": nothing */
	bool out_of_memory;
};
void top_view_done(struct top_view *v);

void top_view_fact(struct top_view *v, enum top_tone tone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The meter added, to set its note; a meter beyond TOP_METERS_MAX takes the place of the last. */
struct top_meter *top_view_meter(struct top_view *v, const char *name,
				 enum table_cell_kind kind);
