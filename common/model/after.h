/* SPDX-License-Identifier: GPL-2.0-or-later */
/* after - dependencies of a job on the ends of other jobs, as typed.
 *
 * Pure. PBS: "afterok:1:2[7],afterany:3"; Reeve: the same kinds by options of their own, with
 * jobs by commas. An array means all of its tasks.
 */
#pragma once
#include <stddef.h>
#include "common/model/array.h"

enum after_kind {
	AFTER_OK,  /* it ended by itself with status 0; any other end ends the waiting job */
	AFTER_ANY, /* it ended, however */
	_AFTER_KIND_MAX,
};
const char *after_kind_name(enum after_kind k); /* "afterok", "afterany" */
int after_kind_parse(const char *name, enum after_kind *ret);

#define AFTER_MAX 256 /* of one job */

struct after {
	enum after_kind kind;
	struct job_id id;
};
struct after_list {
	struct after *at; /* malloc()ed; each pair of kind and job once */
	size_t n;
};
void after_list_done(struct after_list *l);
int after_list_add(struct after_list *l, struct after a, struct err *err);

/* Adds the jobs that `text` names to *l. -EINVAL: an unknown kind (the message lists the known ones), no
 * job, not a job number, more than AFTER_MAX; -ENOMEM. After an error *l may hold a part of them. */
int after_parse(const char *text, struct after_list *l, struct err *err);
/* "1,2[7]" of one kind. */
int after_parse_jobs(const char *text, enum after_kind kind, struct after_list *l,
		     struct err *err);
