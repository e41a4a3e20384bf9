/* desk - where jobs are handed in: in turns by user, many in one transaction.
 *
 * A submission is not looked at when it comes, but put in its user's line. The desk then takes
 * one of each line in turn, until it has a batch or its time is over, and writes the batch to
 * the ledger together: a disk that takes 5 ms for each commit then takes them once for all who
 * came meanwhile. Whoever hands in thousands waits behind themselves; another user's one job is
 * in the next batch. Each is answered when it is on disk.
 */
#pragma once
#include "controller/api/call.h"

struct desk *desk_close(struct desk *d); /* unanswered ones are dropped by the server */
