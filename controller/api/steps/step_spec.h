/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_spec - decodes strictly the command of a step that a user starts in a job. Pure but for
 * memory. */
#pragma once
#include <jansson.h>
#include "common/model/request.h"
#include "controller/ledger/steps/steps.h"

struct err;

#define STEP_SPEC_MAX REQUEST_ENV_MAX /* bytes of argv and env together, with NULs */
#define STEP_WORKDIR_MAX 4096

/* Encodes argv, env (absent: the job's), workdir (absent: `workdir`), and what an interactive step has (console, on_hangup,
 * rows, cols, main) of a POST as the text
 * that is stored and sent to the node. *ret is malloc()ed. -EINVAL names the key. */
int step_spec_read(const json_t *body, const char *workdir, char **ret, struct err *err);

struct step_nodes {
	const char *names[STORE_STEPS_OPEN_MAX]; /* borrowed from the document */
	size_t n;
};
/* Reads `nodes`: 1 to STORE_STEPS_OPEN_MAX names, each once, one for each step. -EINVAL. */
int step_spec_nodes(const json_t *body, struct step_nodes *ret, struct err *err);
