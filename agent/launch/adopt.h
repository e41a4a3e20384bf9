/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adopt.h - the protocol of pam_reeve and the agent, by which a session of a user on a node (ssh) runs
 * in a job of that user and is held to its limits, or does not begin.
 *
 * A datagram each way over RUN/adopt.sock, which root alone can reach. The agent adopts the process
 * that sent the request, by the credentials that the kernel attaches. Both sides run on one host, so
 * numbers are in host order; texts end with NUL.
 *
 *	pam_reeve	agent
 *	CHECK ->	does a job of `uid` run here?
 *		  <-	reply
 *	ENTER ->	moves the asking process to the cgroup of the job
 *		  <-	reply: what the process has to set for itself (filter, limits, variables)
 */
#pragma once
#include <stdint.h>

#define ADOPT_VERSION 2
#define ADOPT_PATH_MAX 512
#define ADOPT_TEXT_MAX 256
#define ADOPT_SOCKET "adopt.sock"

enum adopt_want {
	ADOPT_CHECK = 1,
	ADOPT_ENTER = 2,
};

struct adopt_request {
	uint32_t version, want, uid, unused;
};

struct adopt_reply {
	uint32_t version;
	uint32_t is_refused; /* `text` says why */
	int64_t job;
	int32_t attempt;
	uint32_t deny;	    /* enum plan_deny: the calls that a filter must refuse */
	uint64_t rlimit_as; /* 0: none */
	char views
		[ADOPT_PATH_MAX]; /* socket (common/views/views.h); "": the job has no view of its own */
	char jobfs[ADOPT_PATH_MAX]; /* "": none */
	char text[ADOPT_TEXT_MAX];
};
