/* sentence.h - the sentence about a job's end, at the end of the job's own error file. */
#pragma once
#include "agent/job/job.h"

/* Appended with the user's rights by a child process (the file may be on a slow or dead
 * network file system), and only to the very file that the launcher opened. */
void end_message_write(struct node *n, struct job *j, const char *text);
