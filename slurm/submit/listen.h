/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listen - the local socket at which job_submit.lua asks: one question a connection, one connection at a time.
 *
 * slurmctld asks one at a time too (its Lua state has one lock). The socket is of mode 0600; besides, a peer that is neither root
 * nor the user of this process gets no answer.
 */
#pragma once
#include "slurm/submit/question.h"

/* Makes the socket, in place of one that a former process left. Returns its descriptor. */
int listen_open(const char *path, struct err *err);
/* Waits for the next question. 0 and *ret_fd, to be answered and closed; text is of QUESTION_MAX bytes. -EAGAIN: there was none,
 * or none that is answered; the message says why, where it is worth a line in the log. */
int listen_accept(int fd, char *text, int *ret_fd, struct err *err);
/* Sends the answer, which the peer may not wait for any more, and closes. */
void listen_answer(int fd, const char *text);
