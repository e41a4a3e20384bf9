/* SPDX-License-Identifier: GPL-2.0-or-later */
/* once.c - prints a view once; see once.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "cli/output/table_data.h"
#include "cli/top/draw/layout.h"
#include "cli/top/once.h"
#include "common/err.h"
#include "common/wire/doc.h"

/* ---- the document ---- */

static void set_amount(struct doc *d, const char *key, const struct top_meter *m, int64_t n)
{
	if (n < 0)
		return;
	if (m->kind == CELL_FIGURE)
		doc_real(d, key, (double)n / 100);
	else
		doc_int(d, key, n);
}

static json_t *encode_meter(const struct top_meter *m)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "name", m->name);
	set_amount(&d, "used", m, m->used);
	set_amount(&d, "peak", m, m->peak);
	set_amount(&d, "of", m, m->of);
	doc_text(&d, "unit",
		 m->kind == CELL_BYTES	   ? "bytes"
		 : m->kind == CELL_SECONDS ? "seconds"
					   : "count");
	doc_text_if(&d, "note", m->note);
	return doc_take(&d);
}

static json_t *encode_row(const struct table *t, size_t row)
{
	_cleanup_doc_ struct doc d = doc_object();

	for (int i = 0; i < t->n_columns; i++) {
		const struct table_cell *cell = table_cell(t, row, i);

		if (!cell->have)
			continue;
		if (!cell->text)
			doc_int(&d, t->columns[i].name, cell->n);
		else if (t->columns[i].kind == CELL_FIGURE && i > 0)
			doc_real(&d, t->columns[i].name, strtod(cell->text, NULL));
		else
			doc_text(&d, t->columns[i].name, cell->text);
	}
	return doc_take(&d);
}

json_t *top_once_document(const struct top_view *v, const struct top_docs *docs,
			  enum top_subject subject)
{
	static const char *const subjects[] = {
		[TOP_CLUSTER] = "cluster",
		[TOP_NODE] = "node",
		[TOP_JOB] = "job",
	};
	_cleanup_doc_ struct doc d = doc_message(), meters = doc_array(), lines = doc_array(),
				 rows = doc_array();

	for (int i = 0; i < v->n_meters; i++)
		doc_add(&meters, encode_meter(&v->meters[i]));
	for (int i = 0; i < v->n_facts; i++)
		doc_add(&lines, wire_string(v->facts[i].text));
	for (size_t i = 0; v->list && i < table_size(v->list); i++)
		doc_add(&rows, encode_row(v->list, i));
	doc_text(&d, "view", subjects[subject]);
	doc_text(&d, "title", v->title);
	doc_int(&d, "fetched_ns", docs->at_ns);
	doc_set(&d, "meters", doc_take(&meters));
	doc_set(&d, "lines", doc_take(&lines));
	doc_text(&d, "list", v->list_name);
	doc_text_if(&d, "rest", v->rest);
	doc_set(&d, "rows", doc_take(&rows));
	return doc_take(&d);
}

/* ---- text ---- */

static void print_line(const struct top_line *line, bool has_color, FILE *to)
{
	static const char *const colors[_TOP_TONE_MAX] = {
		[TOP_GOOD] = "\033[32m", [TOP_WARN] = "\033[33m", [TOP_BAD] = "\033[31m",
		[TOP_DIM] = "\033[90m",	 [TOP_BOLD] = "\033[1m",  [TOP_HEAD] = "\033[1m",
	};
	const char *at = line->text;

	for (size_t i = 0; i < line->n_runs; i++) {
		const char *color = has_color ? colors[line->runs[i].tone] : NULL;

		fprintf(to, "%s%.*s%s", color ? color : "", (int)line->runs[i].size, at,
			color ? "\033[0m" : "");
		at += line->runs[i].size;
	}
	fputc('\n', to);
}

/* Blanks at the end of a line are of use on a screen only. */
static void trim_line(struct top_line *line)
{
	while (line->size && line->text[line->size - 1] == ' ' && line->n_runs) {
		line->size--;
		line->width--;
		if (--line->runs[line->n_runs - 1].size == 0)
			line->n_runs--;
	}
}

/* That of the terminal; of a pipe what COLUMNS says, else no limit. */
static int find_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w = { .ws_row = 0 };
	int n;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col)
		return w.ws_col;
	n = columns ? atoi(columns) : 0;
	return n > 0 ? n : 0;
}

static int print_text(const struct top_view *v, struct top_ui *ui, const struct top_docs *docs,
		      const struct table_format *f, struct err *err)
{
	const struct top_status status = { .now_ns = docs->at_ns, .at_ns = docs->at_ns };
	struct top_screen screen;
	int r = 0;

	top_layout(v, ui, &status, (struct top_size){ find_width(), 0 }, &screen);
	if (screen.out_of_memory)
		r = err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < screen.n && r == 0; i++) {
		trim_line(&screen.lines[i]);
		print_line(&screen.lines[i], f->color, f->to);
	}
	if (r == 0 && *v->rest)
		fprintf(f->to, "(%s)\n", v->rest);
	top_screen_done(&screen);
	return r;
}

int top_once_print(const struct top_view *v, struct top_ui *ui, const struct top_docs *docs,
		   const struct table_format *f, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;

	if (f->output == TABLE_TABLE && !f->columns)
		return print_text(v, ui, docs, f, err);
	if (f->output != TABLE_JSON || (f->columns && v->list))
		return table_print(v->list, f, err);
	doc = top_once_document(v, docs, ui->ask.subject);
	if (!doc)
		return err_set(err, -ENOMEM, "out of memory");
	if (json_dumpf(doc, f->to,
		       JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10)) < 0)
		return err_set(err, -EIO, "cannot write the output");
	fputc('\n', f->to);
	return 0;
}
