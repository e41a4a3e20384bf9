/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window_file.c - reads the monthly allowances of `reeve window` from CSV. */
#include <errno.h>
#include "cli/offline/window_file.h"
#include "common/csv/csv.h"
#include "common/err.h"

enum { MONTH, ALLOWANCE, USED, _COLUMNS };

static const char *const names[] = {
	[MONTH] = "month",
	[ALLOWANCE] = "allowance",
	[USED] = "used",
	[_COLUMNS] = NULL,
};

void window_file_done(struct window_file *f)
{
	free(f->months);
	*f = (struct window_file){ 0 };
}

static int read_row(struct csv *csv, const char *const *row, const int *at,
		    struct window_month *ret, struct err *err)
{
	struct err why = { "" };
	const char *column = names[MONTH];
	int r = window_month_parse(row[at[MONTH]], &ret->month, &why);

	if (r == 0) {
		column = names[ALLOWANCE];
		r = window_amount_parse(row[at[ALLOWANCE]], &ret->allowance, &why);
	}
	if (r == 0) {
		column = names[USED];
		r = window_amount_parse(row[at[USED]], &ret->used, &why);
	}
	return r < 0 ? csv_error(csv, err, "%s: %s", column, why.text) : 0;
}

/* The months of a period follow each other without a gap, which window_compute() relies on. */
static int check_order(struct csv *csv, const struct window_file *f, int month, struct err *err)
{
	char text[WINDOW_MONTH_TEXT_MAX], last[WINDOW_MONTH_TEXT_MAX];
	int expected = f->n ? f->months[f->n - 1].month + 1 : month;

	if (month == expected)
		return 0;
	window_month_format(month, text);
	window_month_format(expected - 1, last);
	for (size_t i = 0; i < f->n; i++)
		if (f->months[i].month == month)
			return csv_error(csv, err, "month %s is there twice", text);
	if (month < expected)
		return csv_error(csv, err, "month %s is out of order: it follows %s", text,
				 last);
	return csv_error(csv, err, "month %s is missing: %s follows %s",
			 window_month_format(expected, (char[WINDOW_MONTH_TEXT_MAX]){ 0 }),
			 text, last);
}

static int append_month(struct window_file *f, const struct window_month *m)
{
	struct window_month *more;

	if ((f->n & (f->n - 1)) == 0) { /* n is a power of two: the room is used up */
		more = realloc(f->months, (f->n ? f->n * 2 : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		f->months = more;
	}
	f->months[f->n++] = *m;
	return 0;
}

static int read_rows(struct csv *csv, struct window_file *f, struct err *err)
{
	const char *const *row;
	struct window_month m;
	int at[_COLUMNS];
	int r = csv_header(csv, names, at, err);

	while (r >= 0) {
		r = csv_next(csv, &row, err);
		if (r <= 0)
			break;
		r = read_row(csv, row, at, &m, err);
		if (r == 0)
			r = check_order(csv, f, m.month, err);
		if (r == 0 && append_month(f, &m) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	if (r == 0 && !f->n)
		r = csv_error(csv, err,
			      "no month below the header; add a line 2024-02,1000,500");
	return r;
}

int window_file_read(const char *path, struct window_file *ret, struct err *err)
{
	_cleanup_(csv_closep) struct csv *csv = NULL;
	_cleanup_(window_file_done) struct window_file f = { 0 };
	int r = csv_open(path, &csv, err);

	if (r == 0)
		r = read_rows(csv, &f, err);
	if (r < 0)
		return r;
	*ret = f;
	f = (struct window_file){ 0 };
	return 0;
}
