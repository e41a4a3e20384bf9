/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.c - the page that h shows: at most 23 lines of at most 80 columns. */
#include <stddef.h>
#include "cli/top/draw/help.h"

const char *const top_help_lines[] = {
	"reeve top: the cluster, its nodes and jobs, live",
	"",
	"  Up Down j k          move in the list       PgUp PgDn Home End  by pages",
	"  Enter, Right         open the row: job, node, account or user",
	"  n                    open the node of the selected job",
	"  Esc, Left            back; clears a filter first",
	"  1 ... 5, Tab         running, queued, nodes, accounts, users",
	"  s >, S <             sort by the next, the previous column     r  reverse",
	"  /                    show only rows with this text (Esc clears it)",
	"  u, a                 jobs of one user, of one account",
	"  Space, d             refresh now; seconds between refreshes",
	"  h F1, q              this page, leave",
	"",
	"  ||||::::....  45%    | used now, : its peak, . the rest of what was requested",
	"  CPU                  CPU time of cores x running time",
	"  NOW, IDLE            cores busy since the last report; cores idle on average",
	"  MEM VMEM JOBFS       now, of the request; a job that exceeds it is killed",
	"  TIME                 running time of the walltime",
	"  GPU                  busy time of its GPUs x running time",
	"  -                    not measured, or not requested",
	"  +                    the text was cut; ^ v after a title: sorted by it",
	NULL,
};
