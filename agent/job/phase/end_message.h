/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end_message.h - the end message: one line at the end of the job's error file that says why the job ended. */
#pragma once
#include "agent/job/job.h"

/* A program (agent/launch/append.h) appends it with the user's rights, and only to the same file that the launcher opened (device and
 * inode). It has a time limit: the file may be on a dead network file system, and the user may stop what runs as that user. */
void end_message_write(struct node *n, struct job *j, const char *text);
