/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ui - what the user has chosen on the screen, and what each key changes of it. Pure: a key in, the next state and what
 * is to be done out.
 */
#pragma once
#include "cli/top/views/view.h"

/* Bytes are keys of their own (UTF-8 comes byte by byte); these are the others. */
enum top_key {
	TOP_KEY_UP = 0x100,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
	TOP_KEY_TAB,
	TOP_KEY_BACK_TAB,
	TOP_KEY_HELP,
	TOP_KEY_QUIT,
	TOP_KEY_REDRAW,
};

enum top_prompt { TOP_NO_PROMPT, TOP_ASK_FILTER, TOP_ASK_USER, TOP_ASK_ACCOUNT, TOP_ASK_DELAY };

#define TOP_DELAY_MIN_S 1
#define TOP_DELAY_MAX_S 3600
#define TOP_DELAY_S 5
#define TOP_TYPED_MAX 64
#define TOP_BACK_MAX 8

struct top_ui {
	struct top_ask ask;
	struct top_ask back[TOP_BACK_MAX]; /* where Escape leads, the last first */
	int n_back;
	char filter[TOP_TYPED_MAX];
	struct top_sort sorts[_TOP_TAB_MAX + 2]; /* of each list; column NULL: as usual */
	int64_t delay_s;
	enum top_prompt prompt;
	char typed[TOP_TYPED_MAX];
	bool has_help;
	char selected[REQUEST_NAME_MAX +
		      16];	 /* the first column of the selected row; "": none yet */
	size_t cursor, offset;	 /* the selected row, the first row on the screen */
	struct top_widths shown; /* of the list as it was drawn last */
	char message[160];	 /* about the last key; "": none */
};

enum top_act {
	TOP_ACT_SHOW,  /* draw again what there is */
	TOP_ACT_FETCH, /* request the documents now */
	TOP_ACT_OPEN,  /* the same, and what is shown now is of something else */
	TOP_ACT_QUIT,
};

void top_ui_init(struct top_ui *ui, const struct top_ask *ask, int64_t delay_s);
/* What the list is sorted by. */
struct top_sort top_ui_sort(const struct top_ui *ui, const struct top_view *v);
/* Sorts by this column; the direction is that of its values: text ascending, amounts descending. */
void top_ui_sort_by(struct top_ui *ui, const struct top_view *v, const char *column);
void top_ui_reverse(struct top_ui *ui, const struct top_view *v);
/* Filters and sorts a view that was just made, and finds the selected row in it again. -ENOMEM. */
int top_ui_arrange(struct top_ui *ui, struct top_view *v);
/* `v` is what the screen shows, `page` how many of its rows. */
enum top_act top_ui_press(struct top_ui *ui, const struct top_view *v, int page, int key);
