/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held_job.h - a job that is held for one interactive command (`reeve run --pty`, `reeve alloc`): its own program only waits, the
 * command is a step in it with a console, and the job ends with that step, as the step did.
 */
#pragma once
#include "cli/client/session/session.h"
#include "cli/client/session/signals.h"
#include "common/model/request.h"

struct held_job {
	struct cli *cli;
	struct session session; /* is_main is set; the rest is the caller's */
	struct request request; /* request_init()ed by the caller, filled by held_job_read() */
	char **argv;		/* the command, of the request */
	int64_t job;
	char node[REQUEST_NAME_MAX];
	struct http *control;	/* a connection for cancel alone */
	struct signals signals; /* quit: stop waiting, or leave the session */
	bool wants_cancel, is_cancelling,
		is_cancelled; /* cancelled: the controller has answered */
	bool is_away;	      /* the controller is unreachable, and the user was warned */
	char shown[512];      /* the last line about why the job waits */
};

/* Reads options and command; the words of the call are a command also without "--". */
int held_job_read(struct held_job *h, const struct verb_call *call, struct err *err);
/* Submits the job and waits until it runs. 0: it runs; 1: it does not, the reason was printed and cli->exit_code is set; < 0. */
int held_job_start(struct held_job *h, struct err *err);
/* Runs the command in it at this terminal, to the end of both. Sets cli->exit_code. */
int held_job_run(struct held_job *h, struct err *err);
void held_job_done(struct held_job *h);
