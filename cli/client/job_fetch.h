/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_fetch - requests one job, named as the user typed it. */
#pragma once
#include "cli/cli.h"
#include "cli/views/job_view.h"

struct job_fetch_query {
	const char *typed; /* "12", "12[7]", "east:4711" */
	const char
		*what; /* appended to the path: "" is the job itself, "/why" its explanation */
};
/* "CLUSTER:ID": the cluster and Slurm's id. 0: it is not of that form. -EINVAL. */
int job_fetch_split(const char *typed, char ret_cluster[static REQUEST_NAME_MAX],
		    int64_t *ret_id, struct err *err);
/* A job number, an array task, or "CLUSTER:ID" of a job of Slurm, whose number the controller looks up. -EINVAL. */
int job_fetch_id(struct cli *c, const char *typed, struct job_id *ret, struct err *err);
/* A document that is not the job itself, such as "/series". */
int job_fetch_document(struct cli *c, struct job_fetch_query asked, json_t **ret_answer,
		       struct err *err);
/* *ret points into *ret_answer, which the caller frees. */
int job_fetch(struct cli *c, struct job_fetch_query asked, json_t **ret_answer,
	      struct job_view *ret, struct err *err);
