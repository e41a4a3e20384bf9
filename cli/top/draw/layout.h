/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout - a view as lines of a screen: no line is wider than the screen, no screen has more lines than there are. Pure.
 */
#pragma once
#include "cli/top/ui.h"

struct top_screen {
	struct top_line *lines;
	int n;
	int page; /* rows of the list that it shows */
	bool out_of_memory;
};
void top_screen_done(struct top_screen *s);

/* How the exchange with the controller stands. */
struct top_status {
	int64_t now_ns, at_ns; /* of the clock; when the data came */
	bool is_waiting;       /* a request is under way that shall show something else */
	int64_t lost_ns;       /* since when there is no answer; 0: there is */
	const char *error;     /* why not */
	int64_t slowed_s;      /* > 0: refreshed less often, because answers take long */
};

/* width, height 0: as much as it needs, and neither keys nor a selected row: for pipes. Sets ui->offset so that the
 * selected row is on the screen. */
struct top_size {
	int width, height;
};
void top_layout(const struct top_view *v, struct top_ui *ui, const struct top_status *st,
		struct top_size size, struct top_screen *ret);
