/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.h - the socket at which a batch system that starts this node's jobs asks: slurmd's plugin (agent/slurm), PBS's hook (agent/pbs). One
 * question and one answer on a connection, root alone. */
#pragma once
#include "agent/node.h"

#define FOREIGN_MESSAGE_MAX 8192

/* One question with its answer. */
struct foreign_exchange {
	int32_t peer;	  /* process that asks, as the kernel has it */
	int64_t asked_ns; /* CLOCK_BOOTTIME */
	size_t n_question, n_answer;
	_Alignas(8) char question[FOREIGN_MESSAGE_MAX];
	_Alignas(8) char answer[FOREIGN_MESSAGE_MAX];
};

struct foreign_protocol {
	const char *name;   /* of the batch system, for the log */
	const char *socket; /* in RunDirectory */
	/* Acts on x->question and fills x->answer. 1: the answer is to wait; < 0: the question is none, and gets no answer. */
	int (*ask)(struct node *n, struct foreign_exchange *x);
	/* Each 50 ms after that. 1: the answer is still to wait. */
	int (*look)(struct node *n, struct foreign_exchange *x);
	/* Each second: SampleInterval may be minutes, and suspended time is free. */
	void (*tick)(struct node *n);
	/* Before the first question, when the jobs of an agent before this one are in the table; NULL: nothing is to do then. */
	void (*open)(struct node *n);
};

struct foreign_server;

int foreign_server_open(struct node *n, const struct foreign_protocol *p,
			struct foreign_server **ret, struct err *err);
struct foreign_server *foreign_server_close(struct foreign_server *s);
