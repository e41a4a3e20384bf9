/* SPDX-License-Identifier: GPL-2.0-or-later */
/* smartcols.c - tables for people; see lazy.h. */
#include <libsmartcols/libsmartcols.h>
#include "cli/lazy/lazy.h"

static struct lazy library = { .file = "libsmartcols.so.1", .package = "libsmartcols1" };

/* clang-format off */
LAZY(int, scols_cell_set_color, (struct libscols_cell *a, const char *b), (a, b))
LAZY(void, scols_init_debug, (int a), (a))
LAZY(struct libscols_cell *, scols_line_get_cell, (struct libscols_line *a, size_t b), (a, b))
LAZY(int, scols_line_refer_data, (struct libscols_line *a, size_t b, char *c), (a, b, c))
LAZY(struct libscols_table *, scols_new_table, (void), ())
LAZY(int, scols_print_table, (struct libscols_table *a), (a))
LAZY(int, scols_table_enable_colors, (struct libscols_table *a, int b), (a, b))
LAZY(int, scols_table_enable_noheadings, (struct libscols_table *a, int b), (a, b))
LAZY(struct libscols_column *, scols_table_new_column, (struct libscols_table *a, const char *b, double c, int d), (a, b, c, d))
LAZY(struct libscols_line *, scols_table_new_line, (struct libscols_table *a, struct libscols_line *b), (a, b))
LAZY(int, scols_table_set_stream, (struct libscols_table *a, FILE *b), (a, b))
LAZY(void, scols_unref_table, (struct libscols_table *a), (a))
